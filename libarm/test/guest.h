/* For tests of what the system refuses. */
#ifndef GUEST_H
#define GUEST_H

#include "seen.h"

static int tran, held[200000];

static inline void nothing_works(void)
{
	int i;

	CHECK(arm_init("guest", NULL, 0, NULL, 0) < 0);
	CHECK(arm_getid(1, "t", NULL, 0, NULL, 0) < 0);
	for (i = 0; i < 1000; i++)
		CHECK(begin(1) == -1 && finish(1) == -1 && arm_update(1, 0, NULL, 0) == -1);
	CHECK(arm_end(1, 0, NULL, 0) < 0);
}

static inline void all_works(void)
{
	CHECK(arm_init("guest", NULL, 0, NULL, 0) > 0);
	tran = register_one("guest", "t");
	CHECK_EQ(finish(begin(tran)), 0);
}

#endif
