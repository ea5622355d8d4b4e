/* The calls, with their notes. */
#ifndef WORK_H
#define WORK_H

#include <arm.h>

#include "kill.h"

/* Notes what the library did wrong, and goes on. */
#define RIGHT(v, cond) \
	do { \
		if (!(cond)) \
			(v)->bad = __LINE__; \
	} while (0)

void fill(arm_data1_t *d, int parent);
int start(struct victim *v, struct note *n, arm_data1_t *d);
void update(struct victim *v, struct note *n, int h, arm_data1_t *d);
void stop(struct victim *v, struct note *n, int h, int status, arm_data1_t *d);

#endif
