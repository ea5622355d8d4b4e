/* Metrics in data buffers, of all types. */
#include <math.h>

#include "buffers.h"

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

/* Without a value at the start a counter begins with its first value. Values of an earlier
 * transaction in the same slot do not matter. */
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

/* A greater divisor may make a value smaller by more than the counter's width. That is no
 * growth. */
static void counter_shrinks(void)
{
	static const int types[] = { ARM_CntrDivr32, 0 };
	int t = described("shrinks", types), h;
	arm_data1_t *b = values(0x80);

	b->metric[0].cntrdivr32.value = 4000000000u;
	b->metric[0].cntrdivr32.divisor = 1;
	h = start_with(t, b);
	b->metric[0].cntrdivr32.divisor = 1000000000;
	stop_with(h, b);
	CHECK(real(metric(t, 0).sum) == 0);
	CHECK_EQ(metric(t, 0).count, 2);
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

/* Two threads give values of one transaction, and none is lost. */
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
	counter_shrinks();
	gauges();
	ids_and_strings();
	in_threads();
	return done();
}
