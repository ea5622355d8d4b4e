/*
 * Prints what a pair of clock_gettime takes and what a pair of arm_start and arm_stop does, in
 * nanoseconds, and how many such pairs one thread and two threads finish in a microsecond.
 * Each is the best of many short batches, in turns, so that a busy machine does not count.
 *
 * cc -O2 -pthread -o calls calls.c -larm
 */
#include "batch.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <arm.h>

enum { BATCHES = 400, BATCH = 1000, LONG_BATCHES = 150, LONG_BATCH = 10000, WARM_NS = 400000000 };

static arm_tran_id_t tran;
static int threads, arrived;
static int64_t began[2], ended[2];

static void pairs(int n)
{
	while (n--)
		if (arm_stop(arm_start(tran, 0, NULL, 0), ARM_GOOD, 0, NULL, 0))
			abort();
}

static void clocks(int n)
{
	struct timespec a, b;

	while (n--) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		clock_gettime(CLOCK_MONOTONIC, &b);
	}
}

/* The library needs some time until it trusts the processor's counter. */
static void warm(void)
{
	int64_t end = clock_ns() + WARM_NS;

	while (clock_ns() < end)
		pairs(BATCH);
}

static double each(void (*f)(int))
{
	int64_t begin = clock_ns();

	f(BATCH);
	return (double)(clock_ns() - begin) / BATCH;
}

/* Waits until all threads have come here for the n-th time. */
static void meet(int times)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < times * threads)
		if (threads > 1)
			sched_yield();
}

/* Gives the thread a processor of its own, if there is one. */
static void pin(int number)
{
	cpu_set_t all, one;
	int cpu;

	CPU_ZERO(&one);
	if (sched_getaffinity(getpid(), sizeof(all), &all))
		return;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && number-- == 0) {
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

static void *works(void *arg)
{
	int me = *(int *)arg, i, met = 0;
	double *best = malloc(sizeof(*best));
	int64_t last, first;

	pin(me);
	warm();
	*best = 0;
	for (i = 0; i < LONG_BATCHES; i++) {
		meet(++met);
		began[me] = clock_ns();
		pairs(LONG_BATCH);
		ended[me] = clock_ns();
		meet(++met);
		first = threads > 1 && began[1] < began[0] ? began[1] : began[0];
		last = threads > 1 && ended[1] > ended[0] ? ended[1] : ended[0];
		if (threads * LONG_BATCH * 1e3 / (double)(last - first) > *best)
			*best = threads * LONG_BATCH * 1e3 / (double)(last - first);
		meet(++met);
	}
	return best;
}

static double rate(int n)
{
	static int number[2] = { 0, 1 };
	pthread_t t[2];
	void *best = NULL;
	int i;

	threads = n;
	arrived = 0;
	for (i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, works, &number[i]))
			abort();
	for (i = 0; i < n; i++)
		pthread_join(t[i], &best);
	return *(double *)best;
}

int main(void)
{
	double clock_pair = 1e9, arm_pair = 1e9;
	int i;

	tran = arm_getid(arm_init("bench", "*", 0, NULL, 0), "calls", NULL, 0, NULL, 0);
	warm();
	for (i = 0; i < BATCHES; i++) {
		lower(&clock_pair, each(clocks));
		lower(&arm_pair, each(pairs));
	}
	printf("%.2f %.2f ", clock_pair, arm_pair);
	printf("%.2f %.2f\n", rate(1), rate(2));
	return 0;
}
