/* Data buffers: every way in which one can be bad, or odd. */
#include "buffers.h"

static uint64_t bad(int tran)
{
	return seen(getpid(), tran).bad_data;
}

static uint64_t bad_of_process(void)
{
	struct segment s = open_proc(getpid());
	uint64_t n = proc_of(&s)->bad_data;

	close_segment(&s);
	return n;
}

/* The transaction is measured all the same, and each bad buffer is counted once. */
static void bad_values(void)
{
	static const int types[] = { ARM_Gauge32, ARM_CntrDivr32, 0 };
	int t = described("bad", types), n = 0, size;
	arm_data1_t *b = values(0);

#define BAD(data, len) \
	do { \
		CHECK_EQ(finish(arm_start(t, 0, (arm_data_t *)(data), len)), 0); \
		CHECK_EQ(bad(t), ++n); \
	} while (0)
	BAD(NULL, 88);
	BAD(b, 0);
	BAD(b, -1);
	for (size = 1; size < 8; size++)
		BAD(b, size);
	b->flags[1] = 0x80;
	for (size = 8; size < 16; size++)
		BAD(b, size);
	b->flags[1] = ARM_STRING_GIVEN;
	BAD(b, 87);
	for (size = 0; size < 4; size++) {
		b = values(0);
		b->flags[0] = (unsigned char)(1 << size);
		BAD(b, 256);
	}
	b = values(1);
	BAD(b, 256);
	b = values(0);
	b->flags[2] = 1;
	BAD(b, 256);
	b = values(0);
	b->flags[3] = 128;
	BAD(b, 256);
	b = values(0);
	for (size = 0; size < 3; size++) {
		static const int formats[] = { 0, 2, 101 };

		b->format = formats[size];
		BAD(b, 256);
	}
	b = values(0x20); /* a metric that arm_getid has not described */
	BAD(b, 256);
	b = values(0x40); /* divided by zero */
	BAD(b, 256);
	b = values(0); /* a parent's correlator beyond the end of the buffer, or too long for any */
	b->flags[0] = ARM_PARENT_GIVEN;
	BAD(b, 88);
	BAD(b, 89);
	b->correlator.length[1] = 100;
	BAD(b, 100);
	b->correlator.length[1] = 169;
	BAD(b, 256);
	b->correlator.length[0] = 255;
	BAD(b, 256);
	/* On update and stop the first byte of flags does not matter. */
	b = values(0);
	b->flags[0] = 255;
	{
		int h = begin(t);

		update_with(h, b);
		CHECK_EQ(bad(t), n);
		CHECK_EQ(arm_update(h, 0, (arm_data_t *)b, 3), 0);
		CHECK_EQ(bad(t), ++n);
		b->format = 1;
		b->flags[2] = 1;
		stop_with(h, b);
		CHECK_EQ(bad(t), ++n);
	}
	CHECK_EQ(seen(getpid(), t).count, n - 1);
}

/* Buffers that do not describe metrics. The transaction gets its number all the same. */
static void bad_descriptions(void)
{
	arm_data101_t b;
	uint64_t n = bad_of_process();
	struct segment s;
	int t, bare, first, i;

	memset(&b, 0, sizeof(b));
	b.format = ARM_FORMAT_META;
	put_desc(&b, 0, ARM_Counter32, "m");
#define DESCRIBE(len) (t = arm_getid(app, "bad descriptions", NULL, 0, (arm_data_t *)&b, len))
	for (i = 0; i < 56; i++, n++)
		CHECK(DESCRIBE(i) > 0 && bad_of_process() == n + 1);
	b.flags[0] = 1;
	CHECK(DESCRIBE(344) > 0 && bad_of_process() == ++n);
	b.flags[0] = 0;
	b.format = 1;
	CHECK(DESCRIBE(344) > 0 && bad_of_process() == ++n);
	b.format = ARM_FORMAT_META;
	for (i = -1; i < 12; i++) {
		b.metric[0].type = i;
		if (i > 0 && i < 10)
			continue;
		CHECK(DESCRIBE(344) > 0 && bad_of_process() == ++n);
	}
	b.metric[0].type = 1;
	put_desc(&b, ARM_METRICS, ARM_String8, "s");
	CHECK(DESCRIBE(344) > 0 && bad_of_process() == ++n);
	s = open_names();
	CHECK_EQ(tran_of(&s, t)->meta, RECORD_EMPTY);
	b.string1.type = ARM_String32;
	memset(b.metric[0].name, 'n', sizeof(b.metric[0].name));
	bare = t;
	CHECK(DESCRIBE(344) > 0 && t != bare && bad_of_process() == n);
	CHECK_EQ(tran_of(&s, t)->meta, RECORD_PUBLISHED);
	CHECK_EQ(tran_of(&s, t)->meta_flags, 0x82);
	CHECK_EQ(strlen(tran_of(&s, t)->descs[0].name), 43);
	first = t;
	b.metric[0].type = ARM_Gauge32; /* another description makes another transaction */
	CHECK(DESCRIBE(344) > 0 && t != first && t != bare);
	CHECK_EQ(tran_of(&s, t)->descs[0].type, ARM_Gauge32);
	CHECK_EQ(tran_of(&s, first)->descs[0].type, ARM_Counter32);
	b.metric[0].type = ARM_Counter32;
	CHECK_EQ(DESCRIBE(344), first);
	CHECK_EQ(arm_getid(app, "bad descriptions", "more", 0, NULL, 0), bare);
	close_segment(&s);
}

/* Buffers at any address, and no longer than needed. */
static void odd_places(void)
{
	static const int types[] = { ARM_Gauge64, 0 };
	int t = described("odd", types), i, h;
	char room[300];
	arm_data1_t *b = values(0x80);

	for (i = 0; i < 9; i++) {
		b->metric[0].gauge64 = i + 1;
		memcpy(room + i, b, 16);
		CHECK((h = arm_start(t, 0, room + i, 16)) > 0);
		CHECK_EQ(metric(t, 0).last, i + 1);
		CHECK_EQ(arm_stop(h, ARM_GOOD, 0, room + i, 16), 0);
	}
	CHECK_EQ(bad(t), 0);
}

int main(void)
{
	make_dir();
	app = arm_init("data", NULL, 0, NULL, 0);
	CHECK(app > 0);
	bad_values();
	bad_descriptions();
	odd_places();
	return done();
}
