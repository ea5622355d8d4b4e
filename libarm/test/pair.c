/*
 * How much a start and a stop cost against two readings of CLOCK_MONOTONIC, in one run:
 * the best of several rounds of each, alternating. Prints the ratio, and with two threads on
 * one transaction the rate over that of one. Not a test: nothing is asserted.
 *
 *	pair [PAIRS]		ratios
 *	pair PAIRS clock|one|two	only one of the loops, to be timed from outside
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <arm.h>

enum { ROUNDS = 15 };

static long pairs = 1000000;
static int tran;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double bare(void)
{
	struct timespec t;
	double begin = seconds();
	long i;

	for (i = 0; i < pairs; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		clock_gettime(CLOCK_MONOTONIC, &t);
	}
	return seconds() - begin;
}

static double measured(void)
{
	double begin = seconds();
	long i;

	for (i = 0; i < pairs; i++)
		arm_stop(arm_start(tran, 0, NULL, 0), ARM_GOOD, 0, NULL, 0);
	return seconds() - begin;
}

static void *thread(void *unused)
{
	measured();
	return unused;
}

static double two_threads(void)
{
	pthread_t a, b;
	double begin = seconds();

	pthread_create(&a, NULL, thread, NULL);
	pthread_create(&b, NULL, thread, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return seconds() - begin;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

int main(int argc, char **argv)
{
	double floor = 1e9, one = 1e9, two = 1e9;
	int i;

	if (argc > 1)
		pairs = atol(argv[1]);
	tran = arm_getid(arm_init("pair", NULL, 0, NULL, 0), "pair", NULL, 0, NULL, 0);
	if (tran <= 0)
		return 1;
	if (argc > 2) {
		strcmp(argv[2], "clock") == 0 ? bare() : strcmp(argv[2], "one") == 0 ? measured() : two_threads();
		return 0;
	}
	measured();
	for (i = 0; i < ROUNDS; i++) {
		floor = least(floor, bare());
		one = least(one, measured());
		two = least(two, two_threads());
	}
	printf("start and stop / two clock_gettime: %.2f\n", one / floor);
	printf("two threads / one, rate: %.2f\n", 2 * one / two);
	printf("(%.1f ns, %.1f ns)\n", one / (double)pairs * 1e9, floor / (double)pairs * 1e9);
	return 0;
}
