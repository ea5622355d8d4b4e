/* Tests the thread's clock with a counter and a kernel's clock that are made up here. The library's source
 * is included, with both put in place of the real ones. */
#include <x86intrin.h>

#include "helpers.h"

static unsigned long long counter, kernel;

static int kernel_clock(int which, struct timespec *t)
{
	(void)which;
	t->tv_sec = (time_t)(kernel / 1000000000);
	t->tv_nsec = (long)(kernel % 1000000000);
	return 0;
}

#define __rdtsc() counter
#define clock_gettime kernel_clock
#include "../src/clock.c"

static struct process process;

static const uint64_t second = 1000000000;

/* Lets so many nanoseconds pass. The counter runs three times as fast. */
static void go(uint64_t ns)
{
	kernel += ns;
	counter += 3 * ns;
}

/* How far the thread's clock is off, in nanoseconds. */
static uint64_t off(struct block *b)
{
	uint64_t now = clock_now(b);

	return now > kernel ? now - kernel : kernel - now;
}

/* A thread that has not read the clock, some time after the process began. */
static struct block thread(uint64_t after)
{
	struct block b;

	memset(&b, 0, sizeof(b));
	b.mode = MODE_OWN;
	b.process = &process;
	b.clock.base_tsc = counter;
	b.clock.base_ns = kernel;
	go(after);
	return b;
}

/* Uses the clock for a while, and checks that it is right each time. */
static void right(struct block *b, uint64_t ns)
{
	uint64_t end = kernel + ns;

	for (; kernel < end; go(7777777))
		CHECK(off(b) < 1000);
}

static bool is_quick(struct block *b)
{
	uint64_t now;

	return clock_quick(b, &now);
}

static void in_order(void)
{
	struct block b = thread(second / 20);

	CHECK(off(&b) == 0 && !is_quick(&b)); /* too early to tell the rate */
	go(second / 5);
	CHECK(off(&b) == 0 && is_quick(&b));
	right(&b, 5 * second);
	go(3600 * second); /* idle */
	CHECK(!is_quick(&b) && off(&b) < 1000 && is_quick(&b));
	right(&b, 3 * second);
}

/* While the system sleeps, the counter goes on or begins anew, and the kernel's clock stands still. */
static void sleeps(void)
{
	struct block b = thread(second / 5);

	right(&b, 3 * second);
	counter += 3 * 30 * second;
	right(&b, 5 * second);
	CHECK(is_quick(&b));
	counter = 12345;
	right(&b, 5 * second);
	CHECK(is_quick(&b));
}

/* The same before a thread has read its clock at all. */
static void slept(void)
{
	struct block b = thread(60 * second);

	counter += 3 * 60 * second;
	right(&b, 5 * second);
	CHECK(is_quick(&b));
}

/* The kernel's clock is adjusted: the thread's follows. */
static void adjusted(void)
{
	struct block b = thread(second / 5);
	int i;

	right(&b, 3 * second);
	for (i = 0; i < 100; i++) {
		kernel += second + second / 2000;
		counter += 3 * second;
		clock_now(&b);
	}
	CHECK(off(&b) < second / 1000);
}

int main(void)
{
	process.tsc_sound = 1;
	counter = kernel = 1000 * second;
	in_order();
	sleeps();
	slept();
	adjusted();
	return 0;
}
