/* Data buffers: all types of metrics, and every way in which a buffer can be bad. */
#include <math.h>

#include "seen.h"

static int app;

static void put_desc(arm_data101_t *b, int i, int type, const char *name)
{
	arm_meta_t *m = i == ARM_METRICS ? &b->string1 : &b->metric[i];

	m->type = type;
	memcpy(m->name, name, strlen(name));
	b->flags[1] |= ARM_METRIC_GIVEN(i);
}

/* A transaction with metrics of these types; 0 ends them, and a string besides. */
static int described(const char *name, const int *types)
{
	arm_data101_t b;
	int i, tran;

	memset(&b, 0, sizeof(b));
	b.format = ARM_FORMAT_META;
	for (i = 0; i < ARM_METRICS && types[i]; i++)
		put_desc(&b, i, types[i], "a metric");
	put_desc(&b, ARM_METRICS, ARM_String32, "a string");
	tran = arm_getid(app, name, NULL, 0, (arm_data_t *)&b, sizeof(b));
	CHECK(tran > 0);
	return tran;
}

static arm_data1_t *values(unsigned char which)
{
	static arm_data1_t b;

	memset(&b, 0, sizeof(b));
	b.format = ARM_FORMAT_DATA;
	b.flags[1] = which;
	return &b;
}

static int start_with(int tran, arm_data1_t *b)
{
	return arm_start(tran, 0, (arm_data_t *)b, 88);
}

static void update_with(int handle, arm_data1_t *b)
{
	CHECK_EQ(arm_update(handle, 0, (arm_data_t *)b, 88), 0);
}

static void stop_with(int handle, arm_data1_t *b)
{
	CHECK_EQ(arm_stop(handle, ARM_GOOD, 0, (arm_data_t *)b, 88), 0);
}

static struct seg_metric metric(int tran, int i)
{
	struct segment s = open_proc(getpid());
	struct seg_metric *m = metrics_in(&s, tran), copy;

	CHECK(m);
	copy = m[i];
	close_segment(&s);
	return copy;
}

static double real(uint64_t word)
{
	double d;

	memcpy(&d, &word, sizeof(d));
	return d;
}

static void counters(void)
{
	static const int types[] = { ARM_Counter32, ARM_Counter64, ARM_CntrDivr32, 0 };
	int t = described("counters", types), h, i;
	arm_data1_t *b;
	static const unsigned int given[] = { 4294967290u, 4294967295u, 10, 20 }; /* 5, 11 and 10 more */

	b = values(0xe0);
	b->metric[0].counter32 = given[0];
	b->metric[1].counter64 = ~0ull - 1;
	b->metric[2].cntrdivr32.value = given[0];
	b->metric[2].cntrdivr32.divisor = 4;
	h = start_with(t, b);
	for (i = 1; i < 3; i++) {
		b->metric[0].counter32 = b->metric[2].cntrdivr32.value = given[i];
		b->metric[1].counter64 = (unsigned long long)i * 1000;
		update_with(h, b);
	}
	b->metric[0].counter32 = b->metric[2].cntrdivr32.value = given[3];
	b->metric[1].counter64 = 5000;
	stop_with(h, b);
	CHECK_EQ(metric(t, 0).type, ARM_Counter32);
	CHECK_EQ(metric(t, 0).count, 4);
	CHECK_EQ(metric(t, 0).sum, 26);
	CHECK_EQ(metric(t, 0).last, 20);
	CHECK_EQ(metric(t, 1).sum, 5002);
	CHECK_EQ(metric(t, 1).last, 5000);
	CHECK(fabs(real(metric(t, 2).sum) - 6.5) < 1e-3);
	CHECK(real(metric(t, 2).last) == 5);
}

/* Without a value at the start the first one says where a counter begins; and an earlier
 * transaction's in the same slot do not matter. */
static void counter_late(void)
{
	static const int types[] = { ARM_Counter32, 0 };
	int t = described("late", types), h = begin(t);
	arm_data1_t *b = values(0x80);

	b->metric[0].counter32 = 100;
	update_with(h, b);
	b->metric[0].counter32 = 130;
	stop_with(h, b);
	CHECK_EQ(metric(t, 0).sum, 30);
	h = begin(t);
	b->metric[0].counter32 = 500;
	stop_with(h, b);
	CHECK_EQ(metric(t, 0).sum, 30);
	CHECK_EQ(metric(t, 0).count, 3);
	b->metric[0].counter32 = 600;
	h = start_with(t, b);
	finish(h);
	CHECK_EQ(metric(t, 0).sum, 30);
}

static void gauges(void)
{
	static const int types[] = { ARM_Gauge32, ARM_Gauge64, ARM_GaugeDivr32, 0 };
	int t = described("gauges", types), h, i;
	static const int given[] = { -7, 12, -20, 3 };
	arm_data1_t *b = values(0xe0);

	for (i = 0, h = 0; i < 4; i++) {
		b->metric[0].gauge32 = given[i];
		b->metric[1].gauge64 = given[i] * 10000000000LL;
		b->metric[2].gaugedivr32.value = given[i];
		b->metric[2].gaugedivr32.divisor = 8;
		if (i == 0)
			h = start_with(t, b);
		else if (i < 3)
			update_with(h, b);
		else
			stop_with(h, b);
	}
	CHECK_EQ(metric(t, 0).count, 4);
	CHECK_EQ((int64_t)metric(t, 0).sum, -12);
	CHECK_EQ((int64_t)metric(t, 0).min, -20);
	CHECK_EQ(metric(t, 0).max, 12);
	CHECK_EQ(metric(t, 0).last, 3);
	CHECK_EQ((int64_t)metric(t, 1).min, -200000000000LL);
	CHECK_EQ((int64_t)metric(t, 1).sum, -120000000000LL);
	CHECK(real(metric(t, 2).sum) == -1.5 && real(metric(t, 2).min) == -2.5 &&
	      real(metric(t, 2).max) == 1.5 && real(metric(t, 2).last) == 0.375);
}

static void ids_and_strings(void)
{
	static const int types[] = { ARM_NumericID32, ARM_NumericID64, ARM_String8, 0 };
	int t = described("ids", types), h;
	arm_data1_t *b = values(0xe2);

	b->metric[0].numericid32 = 4000000000u;
	b->metric[1].numericid64 = 0xfedcba9876543210ull;
	memcpy(b->metric[2].string8, "no zero ", 8);
	memcpy(b->string1, "thirty-two bytes without a zero.", 32);
	h = start_with(t, b);
	CHECK_EQ(metric(t, 0).last, 4000000000u);
	CHECK(metric(t, 1).last == 0xfedcba9876543210ull);
	CHECK(memcmp(&(uint64_t){ metric(t, 2).last }, "no zero ", 8) == 0);
	CHECK(memcmp(metric(t, 6).text, "thirty-two bytes without a zero.", 32) == 0);
	CHECK(metric(t, 6).type == ARM_String32 && metric(t, 6).count == 1 && metric(t, 6).seq % 2 == 0);
	memcpy(b->string1, "later                           ", 32);
	b->flags[1] = ARM_STRING_GIVEN;
	stop_with(h, b);
	CHECK(memcmp(metric(t, 6).text, "later   ", 8) == 0);
	CHECK_EQ(metric(t, 0).count, 1);
}

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

/* Each is measured all the same, and counted once. */
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
	b = values(0x20); /* of which arm_getid has not said anything */
	BAD(b, 256);
	b = values(0x40); /* divided by zero */
	BAD(b, 256);
	b = values(0); /* a parent behind the end of the buffer, or longer than any */
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

/* What is no description of metrics; the transaction has its number all the same. */
static void bad_descriptions(void)
{
	arm_data101_t b;
	uint64_t n = bad_of_process();
	struct segment s;
	int t, i;

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
	CHECK(DESCRIBE(344) > 0 && bad_of_process() == n);
	CHECK_EQ(tran_of(&s, t)->meta, RECORD_PUBLISHED);
	CHECK_EQ(tran_of(&s, t)->meta_flags, 0x82);
	CHECK_EQ(strlen(tran_of(&s, t)->descs[0].name), 43);
	b.metric[0].type = ARM_Gauge32; /* the first description stays */
	CHECK(DESCRIBE(344) > 0);
	CHECK_EQ(tran_of(&s, t)->descs[0].type, ARM_Counter32);
	close_segment(&s);
}

/* At any address, and no longer than needed. */
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

/* Two threads' values of one transaction: nothing is lost. */
static int shared_tran;

static void *adds(void *unused)
{
	arm_data1_t b;
	int i, h;

	memset(&b, 0, sizeof(b));
	b.format = ARM_FORMAT_DATA;
	b.flags[1] = 0xc0;
	for (i = 0; i < 20000; i++) {
		b.metric[0].counter32 = (unsigned int)i;
		b.metric[1].gaugedivr32.value = 1;
		b.metric[1].gaugedivr32.divisor = 2;
		h = start_with(shared_tran, &b);
		b.metric[0].counter32 += 3;
		stop_with(h, &b);
	}
	return unused;
}

static void in_threads(void)
{
	static const int types[] = { ARM_Counter32, ARM_GaugeDivr32, 0 };
	struct segment s;
	pthread_t a[4];
	uint64_t sum = 0;
	double gauge = 0;
	uint32_t b;
	int i;

	shared_tran = described("threads", types);
	for (i = 0; i < 4; i++)
		CHECK(pthread_create(&a[i], NULL, adds, NULL) == 0);
	for (i = 0; i < 4; i++)
		pthread_join(a[i], NULL);
	s = open_proc(getpid());
	for (b = 0; b < proc_of(&s)->block_next; b++) {
		struct seg_cell *c = cell_in(&s, b, shared_tran);
		struct seg_metric *m = c && c->metrics_off ? (struct seg_metric *)(s.base + c->metrics_off) : NULL;

		sum += m ? m[0].sum : 0;
		gauge += m ? real(m[1].sum) : 0;
	}
	CHECK_EQ(sum, 4 * 20000 * 3);
	CHECK(gauge == 4 * 20000 * 2 * 0.5);
	close_segment(&s);
}

int main(void)
{
	make_dir();
	app = arm_init("data", NULL, 0, NULL, 0);
	CHECK(app > 0);
	counters();
	counter_late();
	gauges();
	ids_and_strings();
	bad_values();
	bad_descriptions();
	odd_places();
	in_threads();
	return done();
}
