/*
 * A program that is measured: it takes orders from standard input, a line each with blanks
 * between the words, and answers "ok" or what went wrong. See order() for them. The same
 * orders are taken by the program in Go, program_test.go.
 *
 *	cc -o program program.c -larm -lpthread
 */
#include <arm.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX = 64, WORDS = 12 };

/* What has a name in orders: applications, transactions APP/TRAN, running ones. */
struct thing {
	char kind, name[128];
	int id;
	arm_correlator_t correlator;
};
static struct thing things[3 * MAX];
static int many;

static struct thing *find(char kind, const char *name)
{
	for (int i = many - 1; i >= 0; i--)
		if (things[i].kind == kind && strcmp(things[i].name, name) == 0)
			return &things[i];
	return NULL;
}

static struct thing *add(char kind, const char *name, int id)
{
	struct thing *t = find(kind, name);

	if (t == NULL && many < 3 * MAX)
		t = &things[many++];
	if (t == NULL)
		exit(3);
	memset(t, 0, sizeof *t);
	t->kind = kind;
	snprintf(t->name, sizeof t->name, "%s", name);
	t->id = id;
	return t;
}

/* The metrics of transactions that have some: one of each kind. */
static const struct {
	int type;
	const char *name;
} metrics[] = {
	{ ARM_Counter64, "bytes" },   { ARM_Gauge32, "queue" },      { ARM_GaugeDivr32, "load" },
	{ ARM_NumericID32, "error" }, { ARM_CntrDivr32, "seconds" }, { ARM_String8, "room" },
};

static int tran(struct thing *app, const char *name, const char *full, int with_metrics)
{
	arm_data101_t meta;
	int id;

	memset(&meta, 0, sizeof meta);
	meta.format = ARM_FORMAT_META;
	for (int i = 0; i < ARM_METRICS; i++) {
		meta.flags[1] |= ARM_METRIC_GIVEN(i);
		meta.metric[i].type = metrics[i].type;
		snprintf(meta.metric[i].name, sizeof meta.metric[i].name, "%s", metrics[i].name);
	}
	meta.flags[1] |= ARM_STRING_GIVEN;
	meta.string1.type = ARM_String32;
	snprintf(meta.string1.name, sizeof meta.string1.name, "who");
	id = with_metrics ? arm_getid(app->id, name, "with metrics", 0, (arm_data_t *)&meta, sizeof meta)
			  : arm_getid(app->id, name, NULL, 0, NULL, 0);
	if (id > 0)
		add('t', full, id);
	return id;
}

static struct {
	int tran, status;
	long count;
	int bad;
} work;

static void *worker(void *unused)
{
	(void)unused;
	for (long i = 0; i < work.count; i++) {
		int h = arm_start(work.tran, 0, NULL, 0);

		if (h <= 0 || arm_stop(h, work.status, 0, NULL, 0) < 0)
			__atomic_store_n(&work.bad, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Starts and stops count transactions in each of so many threads. */
static int run(int id, long count, int status, int threads)
{
	pthread_t t[MAX];

	work.tran = id, work.count = count, work.status = status, work.bad = 0;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, worker, NULL) != 0)
			exit(4);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return work.bad ? -1 : 0;
}

/* A buffer of format 1 with all metrics, made from one number. */
static void values(arm_data1_t *d, long n)
{
	memset(d, 0, sizeof *d);
	d->format = ARM_FORMAT_DATA;
	if (n < 0)
		return;
	d->flags[1] = 0xfe; /* all six, and the string */
	d->metric[0].counter64 = (arm_unsigned64_t)n << 33;
	d->metric[1].gauge32 = (int)-n;
	d->metric[2].gaugedivr32.value = (int)n, d->metric[2].gaugedivr32.divisor = 4;
	d->metric[3].numericid32 = (unsigned)n;
	d->metric[4].cntrdivr32.value = (unsigned)n, d->metric[4].cntrdivr32.divisor = 8;
	memcpy(d->metric[5].string8, "room    ", 8);
	snprintf(d->string1, sizeof d->string1, "guest %ld", n);
}

/* start NAME APP/TRAN [n N] [parent NAME] [trace x] */
static int start(char **w, int words)
{
	struct thing *t = find('t', w[2]), *parent = NULL, *running;
	arm_data1_t d;
	long n = -1;
	int trace = 0, id;

	for (int i = 3; i + 1 < words; i += 2) {
		if (strcmp(w[i], "n") == 0)
			n = atol(w[i + 1]);
		else if (strcmp(w[i], "parent") == 0)
			parent = find('r', w[i + 1]);
		else
			trace = 1;
	}
	values(&d, n);
	d.flags[0] = ARM_CORRELATOR_WANTED | (trace ? ARM_TRACE_WANTED : 0);
	if (parent != NULL) {
		d.flags[0] |= ARM_PARENT_GIVEN;
		d.correlator = parent->correlator;
	}
	id = t == NULL ? -9 : arm_start(t->id, 0, (arm_data_t *)&d, sizeof d);
	if (id > 0) {
		running = add('r', w[1], id);
		running->correlator = d.correlator;
	}
	return id;
}

static int data(const char *how, struct thing *r, int status, long n)
{
	arm_data1_t d;

	values(&d, n);
	if (strcmp(how, "stop") == 0)
		return arm_stop(r->id, status, 0, n < 0 ? NULL : (arm_data_t *)&d, n < 0 ? 0 : sizeof d);
	return arm_update(r->id, 0, n < 0 ? NULL : (arm_data_t *)&d, n < 0 ? 0 : sizeof d);
}

static int text(struct thing *r, const char *s)
{
	arm_data2_t d;

	d.format = ARM_FORMAT_TEXT;
	strncpy(d.text, s, sizeof d.text);
	return arm_update(r->id, 0, (arm_data_t *)&d, (int)(4 + strlen(s)));
}

static int held[1 << 18], holding;

/* Holds running transactions until there are count; or, for 0, until there is no room. */
static int hold(int id, int count)
{
	while (count == 0 || holding < count) {
		int h = holding < (1 << 18) ? arm_start(id, 0, NULL, 0) : -9;

		if (h <= 0)
			return count == 0 && h == -9 ? -97 : count == 0 ? 0 : h;
		held[holding++] = h;
	}
	return 0;
}

/* Stops them: the first count good, the others aborted. */
static int let_go(int count)
{
	int bad = 0;

	for (int i = 0; i < holding; i++)
		bad |= arm_stop(held[i], i < count ? ARM_GOOD : ARM_ABORT, 0, NULL, 0);
	holding = 0;
	return bad;
}

/* Names many transactions, and runs each of them once. */
static int numbered(struct thing *app, int count)
{
	char name[32];

	for (int i = 0; i < count; i++) {
		int id, h;

		snprintf(name, sizeof name, "t%d", i);
		id = arm_getid(app->id, name, NULL, 0, NULL, 0);
		h = id > 0 ? arm_start(id, 0, NULL, 0) : id;
		if (h <= 0 || arm_stop(h, ARM_GOOD, 0, NULL, 0) < 0)
			return h ? h : -1;
	}
	return 0;
}

static int order(char **w, int words)
{
	struct thing *t;
	char app[128];

	if (strcmp(w[0], "init") == 0) { /* init APP */
		int id = arm_init(w[1], "*", 0, NULL, 0);

		return id > 0 ? (add('a', w[1], id), 0) : id;
	}
	if (strcmp(w[0], "tran") == 0) { /* tran APP/TRAN [metrics] */
		snprintf(app, sizeof app, "%s", w[1]);
		*strchr(app, '/') = 0;
		t = find('a', app);
		return t ? tran(t, strchr(w[1], '/') + 1, w[1], words > 2) : -9;
	}
	if (strcmp(w[0], "do") == 0) /* do APP/TRAN COUNT STATUS THREADS */
		return (t = find('t', w[1])) ? run(t->id, atol(w[2]), atoi(w[3]), atoi(w[4])) : -9;
	if (strcmp(w[0], "start") == 0)
		return start(w, words);
	if (strcmp(w[0], "stop") == 0) /* stop NAME STATUS [N] */
		return (t = find('r', w[1])) ? data("stop", t, atoi(w[2]), words > 3 ? atol(w[3]) : -1) : -9;
	if (strcmp(w[0], "update") == 0) /* update NAME [N] */
		return (t = find('r', w[1])) ? data("update", t, 0, words > 2 ? atol(w[2]) : -1) : -9;
	if (strcmp(w[0], "text") == 0) /* text NAME WORD */
		return (t = find('r', w[1])) ? text(t, w[2]) : -9;
	if (strcmp(w[0], "sleep") == 0) { /* sleep NAME MILLISECONDS: a transaction that long */
		struct timespec ms = { atol(w[2]) / 1000, atol(w[2]) % 1000 * 1000000 };
		int h = (t = find('t', w[1])) ? arm_start(t->id, 0, NULL, 0) : -9;

		nanosleep(&ms, NULL);
		return h > 0 ? arm_stop(h, ARM_GOOD, 0, NULL, 0) : h;
	}
	if (strcmp(w[0], "bad") == 0) { /* bad APP/TRAN: with a buffer of no known format */
		int unknown = 99, h = (t = find('t', w[1])) ? arm_start(t->id, 0, (arm_data_t *)&unknown, sizeof unknown) : -9;

		return h > 0 ? arm_stop(h, ARM_GOOD, 0, NULL, 0) : h;
	}
	if (strcmp(w[0], "many") == 0) /* many APP COUNT */
		return (t = find('a', w[1])) ? numbered(t, atoi(w[2])) : -9;
	if (strcmp(w[0], "hold") == 0) /* hold APP/TRAN COUNT */
		return (t = find('t', w[1])) ? hold(t->id, atoi(w[2])) : -9;
	if (strcmp(w[0], "overflow") == 0) /* overflow APP/TRAN: holds more until there is no room */
		return (t = find('t', w[1])) ? hold(t->id, 0) : -9;
	if (strcmp(w[0], "release") == 0) /* release COUNT */
		return let_go(atoi(w[1]));
	if (strcmp(w[0], "end") == 0) /* end APP */
		return (t = find('a', w[1])) ? arm_end(t->id, 0, NULL, 0) : -9;
	return -99;
}

int main(void)
{
	char line[1024], *w[WORDS];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin) != NULL) {
		int words = 0, answer;

		for (char *s = strtok(line, " \n"); s != NULL && words < WORDS; s = strtok(NULL, " \n"))
			w[words++] = s;
		answer = words ? order(w, words) : -98;
		if (answer < 0)
			printf("answer %d\n", answer);
		else
			printf("ok\n");
	}
	return 0;
}
