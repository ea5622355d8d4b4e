/* What the programs here have in common. */
#ifndef BATCH_H
#define BATCH_H

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline void lower(double *to, double v)
{
	if (v < *to)
		*to = v;
}

#endif
