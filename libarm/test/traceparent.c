/* W3C trace context: the header as a correlator and back, and what children make of it. */
#include "seen.h"

static int tran;

static arm_data1_t *buffer(int flags)
{
	static arm_data1_t b;

	memset(&b, 0, sizeof(b));
	b.format = ARM_FORMAT_DATA;
	b.flags[0] = (unsigned char)flags;
	return &b;
}

static int start_with(arm_data1_t *b, int size)
{
	int h = arm_start(tran, 0, (arm_data_t *)b, size);

	CHECK(h > 0);
	return h;
}

static const char header[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

static void traceparents(void)
{
	static const char *const wrong[] = {
		"",
		"00",
		"00-",
		"0G-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.x",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 ",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
		" 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
		"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01",
	};
	arm_correlator_t c;
	char out[ARM_TRACEPARENT_SIZE], part[sizeof(header)];
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(arm_correlator_from_traceparent(wrong[i], &c) < 0);
	for (i = 0; i < sizeof(header) - 1; i++) {
		memcpy(part, header, i);
		part[i] = 0;
		CHECK(arm_correlator_from_traceparent(part, &c) < 0);
	}
	CHECK(arm_correlator_from_traceparent(NULL, &c) < 0 && arm_correlator_from_traceparent(header, NULL) < 0);
	CHECK_EQ(arm_correlator_from_traceparent(header, &c), 0);
	CHECK_EQ(ARM_CORRELATOR_LENGTH(&c), 47);
	CHECK_EQ(arm_correlator_to_traceparent(&c, out), 0);
	CHECK(strcmp(out, header) == 0);
	CHECK(arm_correlator_to_traceparent(NULL, out) < 0 && arm_correlator_to_traceparent(&c, NULL) < 0);
	for (i = 0; i < 47; i++) {
		c.length[1] = (unsigned char)i;
		CHECK(arm_correlator_to_traceparent(&c, out) < 0);
	}
	c.length[0] = 255;
	CHECK(arm_correlator_to_traceparent(&c, out) < 0);
}

/* Of later versions the part that is known is used (W3C Trace Context, "Versioning of
 * traceparent"). */
static void later_versions(void)
{
	static const char *const later[] = {
		"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"fe-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
	};
	arm_correlator_t c;
	char out[ARM_TRACEPARENT_SIZE];
	size_t i;

	for (i = 0; i < sizeof(later) / sizeof(*later); i++) {
		CHECK_EQ(arm_correlator_from_traceparent(later[i], &c), 0);
		CHECK_EQ(arm_correlator_to_traceparent(&c, out), 0);
		CHECK(strcmp(out, header) == 0);
	}
}

/* A child's correlator is in the same trace and has an identifier of its own. Its children count in
 * one pair, whatever the trace. */
static void contexts(void)
{
	arm_data1_t *b = buffer(ARM_PARENT_GIVEN | ARM_CORRELATOR_WANTED);
	char one[ARM_TRACEPARENT_SIZE], two[ARM_TRACEPARENT_SIZE];
	arm_correlator_t parent;

	CHECK_EQ(arm_correlator_from_traceparent(header, &parent), 0);
	b->correlator = parent;
	finish(start_with(b, 256));
	CHECK_EQ(arm_correlator_to_traceparent(&b->correlator, one), 0);
	b = buffer(ARM_PARENT_GIVEN | ARM_CORRELATOR_WANTED);
	b->correlator = parent;
	finish(start_with(b, 256));
	CHECK_EQ(arm_correlator_to_traceparent(&b->correlator, two), 0);
	CHECK(memcmp(one, header, 36) == 0 && memcmp(two, header, 36) == 0);
	CHECK(memcmp(one + 36, header + 36, 16) && memcmp(two + 36, header + 36, 16) && memcmp(one + 36, two + 36, 16));
	CHECK(strcmp(one + 52, "-01") == 0);
	b = buffer(ARM_CORRELATOR_WANTED);
	finish(start_with(b, 256));
	CHECK(arm_correlator_to_traceparent(&b->correlator, one) < 0); /* no trace context in it */
}

int main(void)
{
	make_dir();
	tran = register_one("contexts", "t");
	traceparents();
	later_versions();
	contexts();
	return done();
}
