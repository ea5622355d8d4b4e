/*
 * worst SECONDS: prints, in microseconds, the longest single arm_start or arm_stop in that time,
 * first of those in which the thread kept its processor, then of those in which it waited for
 * something, which a guest must not; then the longest in which the kernel ran something else,
 * and, for comparison, the longest that two readings of the clock in a row were apart while the thread
 * kept its processor. Then: how many starts were good, how many calls waited, and how many
 * new transactions could be begun of 1,000.
 *
 * cc -O2 -o worst worst.c -larm
 */
#include "batch.h"

#include <sys/resource.h>

#include <arm.h>

enum { KEPT, WAITED, PREEMPTED, KINDS, SLOW_NS = 5000, NEW = 1000 };

static struct rusage used;
static int64_t worst_call[KINDS], worst_gap[KINDS];
static long waits;

/* What became of the thread since the last time this was asked. */
static int kind(void)
{
	struct rusage now;
	int k = KEPT;

	getrusage(RUSAGE_THREAD, &now);
	if (now.ru_nvcsw != used.ru_nvcsw || now.ru_majflt != used.ru_majflt)
		k = WAITED;
	else if (now.ru_nivcsw != used.ru_nivcsw)
		k = PREEMPTED;
	used = now;
	return k;
}

static int note(int64_t *worst, int64_t took)
{
	int k = took < SLOW_NS ? KEPT : kind();

	if (took > worst[k])
		worst[k] = took;
	return k;
}

/* The transaction has room: whatever happens meanwhile, it goes on being counted. */
static long run(arm_tran_id_t tran, int64_t length)
{
	int64_t end = clock_ns() + length, a, b, c, d = clock_ns();
	arm_start_handle_t h;
	arm_ret_stat_t e;
	long good = 0;

	kind();
	do {
		a = clock_ns();
		note(worst_gap, a - d);
		b = clock_ns();
		h = arm_start(tran, 0, NULL, 0);
		c = clock_ns();
		waits += note(worst_call, c - b) == WAITED;
		c = clock_ns();
		e = arm_stop(h, ARM_GOOD, 0, NULL, 0);
		d = clock_ns();
		waits += note(worst_call, d - c) == WAITED;
		if (h <= 0 || e) {
			fprintf(stderr, "worst: start %d, stop %d\n", h, e);
			exit(1);
		}
		good++;
		d = clock_ns();
	} while (d < end);
	return good;
}

int main(int argc, char **argv)
{
	arm_appl_id_t app = arm_init("bench", "*", 0, NULL, 0);
	arm_tran_id_t tran = arm_getid(app, "worst", NULL, 0, NULL, 0);
	char name[16];
	int i, fresh = 0;
	long good;

	run(tran, 500000000);
	for (i = 0; i < KINDS; i++)
		worst_call[i] = worst_gap[i] = 0;
	waits = 0;
	if (argc > 2 && (puts("ready"), fflush(stdout), getchar()) == EOF)
		return 1;
	good = run(tran, argc > 1 ? (int64_t)(atof(argv[1]) * 1e9) : 1000000000);
	for (i = 0; i < NEW; i++) {
		snprintf(name, sizeof(name), "new%d", i);
		fresh += arm_stop(arm_start(arm_getid(app, name, NULL, 0, NULL, 0), 0, NULL, 0), ARM_GOOD, 0, NULL, 0) == 0;
	}
	printf("%.1f %.1f %.1f %.1f %ld %ld %d\n", (double)worst_call[KEPT] / 1e3, (double)worst_call[WAITED] / 1e3,
	       (double)worst_call[PREEMPTED] / 1e3, (double)worst_gap[KEPT] / 1e3, good, waits, fresh);
	return 0;
}
