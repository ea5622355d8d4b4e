/* The thread's clock against a counter and a kernel's clock that are made up here: the library's source is
 * taken in, with both put in place of the real ones. */
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

/* So many nanoseconds go by, of a counter that runs three times as fast. */
static void go(uint64_t ns)
{
	kernel += ns;
	counter += 3 * ns;
}

/* How far the thread's clock is off, in nanoseconds. */
static uint64_t off(struct local *l)
{
	uint64_t now = clock_now(l);

	return now > kernel ? now - kernel : kernel - now;
}

/* A thread that has not read the clock, some time after the process began. */
static struct local thread(uint64_t after)
{
	struct local l;

	memset(&l, 0, sizeof(l));
	l.mode = LOCAL_OWN;
	l.process = &process;
	l.clock.base_tsc = counter;
	l.clock.base_ns = kernel;
	go(after);
	return l;
}

/* Uses the clock for a while; it is to be right each time. */
static void right(struct local *l, uint64_t ns)
{
	uint64_t end = kernel + ns;

	for (; kernel < end; go(7777777))
		CHECK(off(l) < 1000);
}

static bool is_quick(struct local *l)
{
	uint64_t now;

	return clock_quick(l, &now);
}

static void in_order(void)
{
	struct local l = thread(second / 20);

	CHECK(off(&l) == 0 && !is_quick(&l)); /* too early to tell the rate */
	go(second / 5);
	CHECK(off(&l) == 0 && is_quick(&l));
	right(&l, 5 * second);
	go(3600 * second); /* idle */
	CHECK(!is_quick(&l) && off(&l) < 1000 && is_quick(&l));
	right(&l, 3 * second);
}

/* The counter goes on while the system sleeps, or begins anew; the kernel's clock stands. */
static void sleeps(void)
{
	struct local l = thread(second / 5);

	right(&l, 3 * second);
	counter += 3 * 30 * second;
	right(&l, 5 * second);
	CHECK(is_quick(&l));
	counter = 12345;
	right(&l, 5 * second);
	CHECK(is_quick(&l));
}

/* The same before a thread has read its clock at all. */
static void slept(void)
{
	struct local l = thread(60 * second);

	counter += 3 * 60 * second;
	right(&l, 5 * second);
	CHECK(is_quick(&l));
}

/* The kernel's clock is adjusted: the thread's follows. */
static void adjusted(void)
{
	struct local l = thread(second / 5);
	int i;

	right(&l, 3 * second);
	for (i = 0; i < 100; i++) {
		kernel += second + second / 2000;
		counter += 3 * second;
		clock_now(&l);
	}
	CHECK(off(&l) < second / 1000);
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
