/* Buffers of metrics, and what the library made of them, for test programs. */
#ifndef BUFFERS_H
#define BUFFERS_H

#include "seen.h"

static int app;

static inline void put_desc(arm_data101_t *b, int i, int type, const char *name)
{
	arm_meta_t *m = i == ARM_METRICS ? &b->string1 : &b->metric[i];

	m->type = type;
	memcpy(m->name, name, strlen(name));
	b->flags[1] |= ARM_METRIC_GIVEN(i);
}

/* A transaction with metrics of these types, which end with 0, and with a string. */
static inline int described(const char *name, const int *types)
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

static inline arm_data1_t *values(unsigned char which)
{
	static arm_data1_t b;

	memset(&b, 0, sizeof(b));
	b.format = ARM_FORMAT_DATA;
	b.flags[1] = which;
	return &b;
}

static inline int start_with(int tran, arm_data1_t *b)
{
	return arm_start(tran, 0, (arm_data_t *)b, 88);
}

static inline void update_with(int handle, arm_data1_t *b)
{
	CHECK_EQ(arm_update(handle, 0, (arm_data_t *)b, 88), 0);
}

static inline void stop_with(int handle, arm_data1_t *b)
{
	CHECK_EQ(arm_stop(handle, ARM_GOOD, 0, (arm_data_t *)b, 88), 0);
}

static inline struct seg_metric metric(int tran, int i)
{
	struct segment s = open_proc(getpid());
	struct seg_metric *m = metrics_in(&s, tran), copy;

	CHECK(m);
	copy = m[i];
	close_segment(&s);
	return copy;
}

static inline double real(uint64_t word)
{
	double d;

	memcpy(&d, &word, sizeof(d));
	return d;
}

#endif
