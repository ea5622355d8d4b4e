/*
 * What supplying by MMV costs a program, in nanoseconds, one figure a line:
 *	mmv inc		a plain store, a plain addition, mmv_inc, mmv_inc_value
 *	mmv rewrite N R	writing a file of N instances and 2 metrics, R times
 *	mmv turn N	for each line that comes in: writing a file of N + 1 instances
 *			if there was one of N, and of N if there was one of N + 1
 * The file goes to $PCP_TMP_DIR/mmv. Declared here is what libpcp_mmv exports, so that
 * its header need not be installed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pcp/pmapi.h>

enum { FLAG_PROCESS = 2, TYPE_U64 = 3, SEM_COUNTER = 1 };

struct instance {
	int32_t id;
	char *name;
};
struct indom {
	uint32_t serial, count;
	struct instance *instances;
	char *shorttext, *helptext;
};
struct metric {
	char *name;
	uint32_t item, type, semantics;
	pmUnits units;
	uint32_t indom;
	char *shorttext, *helptext;
};
void *mmv_stats2_init(const char *, int, int, const struct metric *, int, const struct indom *, int);
void mmv_stats_stop(const char *, void *);
pmAtomValue *mmv_lookup_value_desc(void *, const char *, const char *);
void mmv_inc(void *, pmAtomValue *);
void mmv_inc_value(void *, pmAtomValue *, double);

static double by(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Processor time, whatever else the machine does. */
static double now(void)
{
	return by(CLOCK_PROCESS_CPUTIME_ID);
}

static void die(const char *what)
{
	fprintf(stderr, "mmv: %s failed\n", what);
	exit(1);
}

static struct instance *name(int n)
{
	struct instance *all = calloc(n + 1, sizeof *all);

	for (int i = 0; all != NULL && i < n; i++) {
		char text[32];

		snprintf(text, sizeof text, "c%d", i);
		all[i] = (struct instance){ i, strdup(text) };
	}
	return all;
}

static void *start(int n, struct instance *all)
{
	struct indom indom = { 1, n, all, "", "" };
	uint32_t serial = n ? 1 : PM_INDOM_NULL;
	struct metric metrics[] = {
		{ .name = "problems", .item = 1, .type = TYPE_U64, .semantics = SEM_COUNTER, .indom = serial },
		{ .name = "solutions", .item = 2, .type = TYPE_U64, .semantics = SEM_COUNTER, .indom = serial },
	};
	void *map = mmv_stats2_init("rtimebench", 4001, FLAG_PROCESS, metrics, 2, &indom, n ? 1 : 0);

	if (map == NULL)
		die("mmv_stats2_init");
	return map;
}

static void inc(void)
{
	enum { N = 20000000 };
	void *map = start(0, NULL);
	pmAtomValue *v = mmv_lookup_value_desc(map, "problems", NULL);
	volatile unsigned long long *plain;
	double t;

	if (v == NULL)
		die("mmv_lookup_value_desc");
	plain = (void *)&v->ull;
	t = now();
	for (int i = 0; i < N; i++)
		*plain = i;
	printf("%.3f\n", (now() - t) / N);
	*plain = 0;
	t = now();
	for (int i = 0; i < N; i++)
		*plain += 1;
	printf("%.3f\n", (now() - t) / N);
	t = now();
	for (int i = 0; i < N; i++)
		mmv_inc(map, v);
	printf("%.3f\n", (now() - t) / N);
	t = now();
	for (int i = 0; i < N; i++)
		mmv_inc_value(map, v, 1);
	printf("%.3f\n", (now() - t) / N);
	if (v->ull != 3ULL * N)
		die("counting");
	mmv_stats_stop("rtimebench", map);
}

static void rewrite(int instances, int rounds)
{
	struct instance *all = name(instances);
	double t = now();

	for (int i = 0; i < rounds; i++)
		mmv_stats_stop("rtimebench", start(instances, all));
	printf("%.0f\n", (now() - t) / rounds);
}

/* At first there is a file of N instances. */
static void turn(int instances)
{
	struct instance *all = name(instances + 1);
	void *map = start(instances, all);
	char line[8];

	for (int more = 1; puts(""), fflush(stdout), fgets(line, sizeof line, stdin); more = !more) {
		double t = by(CLOCK_MONOTONIC);

		mmv_stats_stop("rtimebench", map);
		map = start(instances + more, all);
		printf("%.0f", by(CLOCK_MONOTONIC) - t);
	}
	mmv_stats_stop("rtimebench", map);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "inc") == 0)
		inc();
	else if (argc == 4 && strcmp(argv[1], "rewrite") == 0)
		rewrite(atoi(argv[2]), atoi(argv[3]));
	else if (argc == 3 && strcmp(argv[1], "turn") == 0)
		turn(atoi(argv[2]));
	else
		return 2;
	return 0;
}
