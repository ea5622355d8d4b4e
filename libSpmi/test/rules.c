/*
 * What a program that reads may rely on, one case for each rule. Needs pmcd with PCP's agents
 * linux and proc and with the agent dds, whose folder is RTIME_DDS_DIR: most cases also supply
 * statistics.
 *
 *	rules CASE
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/Spmidef.h>

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s (SpmiErrno %d \"%s\")\n", __FILE__, __LINE__, #cond, SpmiErrno, SpmiErrmsg); \
			exit(1); \
		} \
	} while (0)

/* A call that succeeds leaves no error behind. */
#define OK(cond) CHECK((cond) && SpmiErrno == 0 && !SpmiErrmsg[0])

#define FAILS(cond, code) CHECK((cond) && SpmiErrno == (code) && SpmiErrmsg[0])

/* Waits up to a minute for something that another process has to see first. */
#define UNTIL(cond) \
	do { \
		int tries_ = 0; \
		while (!(cond)) { \
			CHECK(tries_++ < 600 && #cond); \
			usleep(100000); \
			touch(); \
		} \
	} while (0)

/* What this program supplies */

struct fixed {
	long level, counter, other;
	double real;
};

struct item {
	long level, counter;
};

static const struct SpmiRawStat fixed_stats[] = {
	{ "level", "A level", -5, 500, SiQuantity, SiLong, 1, SZ_OFF(fixed, level, SiLong), NULL },
	{ "counter", "A counter", 0, 1000, SiCounter, SiLong, 2, SZ_OFF(fixed, counter, SiLong), NULL },
	{ "other", "Another level", 0, 100, SiQuantity, SiLong, 3, SZ_OFF(fixed, other, SiLong), NULL },
	{ "real", "A level of doubles", 0, 100, SiQuantity, SiFloat, 4, SZ_OFF(fixed, real, SiDouble), NULL },
};

static const struct SpmiRawStat item_stats[] = {
	{ "level", "A level", 0, 100, SiQuantity, SiLong, 1, SZ_OFF(item, level, SiLong), NULL },
	{ "counter", "A counter", 0, 100, SiCounter, SiLong, 2, SZ_OFF(item, counter, SiLong), NULL },
};

static SpmiShare *share;
static struct fixed *f;
static char vendor[64];

/* Gives each program a vendor of its own, because several run at the same time. */
static char *under(const char *path)
{
	static char text[8][SI_MAXLNAME];
	static int n;

	n = (n + 1) % 8;
	snprintf(text[n], sizeof(text[n]), "%.20s%s%.30s", vendor, *path ? "/" : "", path);
	return text[n];
}

static void touch(void)
{
	if (share)
		gettimeofday(&share->SiShT, NULL);
}

static void supply(void)
{
	static cx_create fixed[3], volatiles[1];
	char file[128];

	snprintf(vendor, sizeof(vendor), "DDS/V%d", (int)getpid());
	strcpy(fixed[0].path, vendor);
	fixed[0].asnno = 2;
	strcpy(fixed[1].path, under("Fixed"));
	strcpy(fixed[1].descr, "A fixed context");
	fixed[1].asnno = 7;
	fixed[1].stats = fixed_stats;
	fixed[1].num_stats = STAT_L(fixed_stats);
	strcpy(fixed[2].path, under("Items"));
	strcpy(fixed[2].descr, "Contexts that come and go");
	strcpy(volatiles[0].path, under("Items/ONE"));
	volatiles[0].stats = item_stats;
	volatiles[0].num_stats = STAT_L(item_stats);
	snprintf(file, sizeof(file), "/tmp/rules-%d", (int)getpid());
	share = SpmiDdsInit(fixed, 3, volatiles, 1, file);
	CHECK(share);
	remove(file);
	f = (struct fixed *)share->SiShArea;
	touch();
	UNTIL(SpmiPathGetCx(under("Fixed"), NULL) && SpmiFirstStat(SpmiPathGetCx(under("Fixed"), NULL)));
}

static struct item *add_item(const char *name)
{
	char path[SI_MAXLNAME];
	struct item *i;

	snprintf(path, sizeof(path), "Items/%.20s", name);
	i = (struct item *)SpmiDdsAddCx(0, under(path), "An item", 0);
	CHECK(i);
	touch();
	return i;
}

static SpmiCxHdl child(SpmiCxHdl of, const char *name)
{
	struct SpmiCxLink *l;

	for (l = SpmiFirstCx(of); l; l = SpmiNextCx(l))
		if (strcmp(SpmiGetCx(l->context)->name, name) == 0)
			return l->context;
	return NULL;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Time-outs, later calls, no folder of segments. */
static void rule1(void)
{
	CHECK(setenv("RTIME_DDS_DIR", "/nonexistent", 1) == 0);
	FAILS(SpmiInit(14) == SiBadArgument, SiBadArgument);
	FAILS(SpmiInit(601) == SiBadArgument, SiBadArgument);
	FAILS(SpmiInit(-1) == SiBadArgument, SiBadArgument);
	OK(SpmiInit(600) == 0);
	OK(SpmiInit(3) == 0);
	OK(SpmiPathGetCx("CPU", NULL));
	SpmiExit();
	OK(SpmiInit(0) == 0);
	OK(SpmiPathGetCx("CPU", NULL));
}

/* Top, and parents. */
static void rule2(void)
{
	SpmiCxHdl top, cpu, cpu0;

	OK(SpmiInit(15) == 0);
	OK((top = SpmiPathGetCx(NULL, NULL)));
	OK(SpmiPathGetCx("", NULL) == top);
	OK(SpmiPathGetCx("", top) == top);
	OK((cpu = SpmiPathGetCx("CPU", NULL)));
	OK((cpu0 = SpmiPathGetCx("CPU/cpu0", NULL)));
	OK(SpmiPathGetCx("cpu0", cpu) == cpu0);
	OK(SpmiGetCx(cpu)->parent == NULL);
	OK(SpmiGetCx(cpu0)->parent == cpu);
	OK(SpmiGetCx(NULL) == SpmiGetCx(top));
	OK(SpmiGetCx(NULL)->inst_freq == SiNoInst);
	OK(child(NULL, "CPU") == cpu);
	FAILS(!SpmiPathGetCx("CPU/cpu99999", NULL), SiNotFound);
	FAILS(!SpmiPathGetCx("CPU//cpu0", NULL), SiNotFound);
	FAILS(!SpmiPathGetCx("cpu0", NULL), SiNotFound);
}

/* Deleted contexts, wrong handles, instantiability. */
static void rule3(void)
{
	SpmiCxHdl gone = NULL;
	struct item *i;
	int nothing;

	OK(SpmiInit(15) == 0);
	supply();
	OK(SpmiGetCx(SpmiPathGetCx("Mem", NULL))->inst_freq == SiNoInst);
	OK(SpmiGetCx(SpmiPathGetCx("CPU", NULL))->inst_freq == SiCfgInst);
	OK(SpmiGetCx(SpmiPathGetCx("LAN", NULL))->inst_freq == SiCfgInst);
	OK(SpmiGetCx(SpmiPathGetCx("Proc", NULL))->inst_freq == SiContInst);
	OK(SpmiGetCx(SpmiPathGetCx(under("Items"), NULL))->inst_freq == SiContInst);
	OK(SpmiGetCx(SpmiPathGetCx(under("Fixed"), NULL))->inst_freq == SiNoInst);
	OK(SpmiInstantiate(SpmiPathGetCx("CPU", NULL)) == 0);
	FAILS(SpmiInstantiate(SpmiPathGetCx("CPU/cpu0", NULL)) == SiNotInst, SiNotInst);
	FAILS(SpmiInstantiate(NULL) == SiNotInst, SiNotInst);
	FAILS(SpmiInstantiate(&nothing) == SiInvalidCx, SiInvalidCx);
	FAILS(!SpmiGetCx(&nothing), SiInvalidCx);
	FAILS(!SpmiFirstCx((SpmiCxHdl)1), SiInvalidCx);
	FAILS(!SpmiFirstStat(&nothing), SiInvalidCx);
	i = add_item("one");
	UNTIL((gone = SpmiPathGetCx(under("Items/one"), NULL)));
	OK(SpmiGetCx(gone)->deleted == 0);
	OK(SpmiDdsDelCx((char *)i) == 0);
	UNTIL(!SpmiPathGetCx(under("Items/one"), NULL));
	OK(SpmiGetCx(gone)->deleted != 0);
	OK(strcmp(SpmiGetCx(gone)->name, "one") == 0);
	FAILS(!SpmiFirstCx(gone), SiDeleted);
	FAILS(!SpmiFirstStat(gone), SiDeleted);
	FAILS(!SpmiPathGetCx("x", gone), SiDeleted);
	FAILS(SpmiInstantiate(gone) == SiDeleted, SiDeleted);
	add_item("one"); /* the handle is valid again */
	UNTIL(SpmiPathGetCx(under("Items/one"), NULL));
	OK(SpmiPathGetCx(under("Items/one"), NULL) == gone);
	OK(SpmiGetCx(gone)->deleted == 0);
}

/* SpmiFirstCx and SpmiPathGetCx see contexts that came and went. */
static void rule4(void)
{
	SpmiCxHdl proc, items = NULL;
	struct item *i;
	char name[32];
	pid_t pid;

	OK(SpmiInit(15) == 0);
	supply();
	OK((items = SpmiPathGetCx(under("Items"), NULL)));
	OK(!SpmiFirstCx(items));
	i = add_item("new");
	UNTIL(child(items, "new"));
	OK(SpmiDdsDelCx((char *)i) == 0);
	UNTIL(!child(items, "new"));
	OK((proc = SpmiPathGetCx("Proc", NULL)));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		for (;;)
			pause();
	}
	snprintf(name, sizeof(name), "%06d", (int)pid);
	UNTIL(child(proc, name));
	OK(SpmiPathGetCx(name, proc) == child(proc, name));
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	UNTIL(!child(proc, name));
	FAILS(!SpmiPathGetCx(name, proc), SiNotFound);
}

static int walked;

static void walk(SpmiCxHdl cx, int depth)
{
	struct SpmiCxLink *c;
	struct SpmiStatLink *s, *other;

	for (s = SpmiFirstStat(cx); s; s = SpmiNextStat(s)) {
		struct SpmiStat *st = SpmiGetStat(s->stat);

		CHECK(st && st->name[0] && !strchr(st->name, '/') && st->description[0]);
		CHECK(st->data_type == SiLong || st->data_type == SiFloat);
		CHECK(st->value_type == SiCounter || st->value_type == SiQuantity);
		CHECK(st->min < st->max);
		for (other = SpmiFirstStat(cx); other != s; other = SpmiNextStat(other))
			CHECK(strcmp(SpmiGetStat(other->stat)->name, st->name) != 0 &&
			      (!st->asnno || SpmiGetStat(other->stat)->asnno != st->asnno));
		walked++;
	}
	CHECK(SpmiErrno == 0);
	for (c = SpmiFirstCx(cx); c; c = SpmiNextCx(c)) {
		CHECK(SpmiGetCx(c->context)->name[0]);
		if (depth < 6)
			walk(c->context, depth + 1);
	}
	CHECK(SpmiErrno == 0);
}

static unsigned short asn(const char *path)
{
	SpmiCxHdl cx = SpmiPathGetCx(path, NULL);

	CHECK(cx);
	return SpmiGetCx(cx)->asnno;
}

static struct SpmiStat *stat_named(const char *context, const char *name)
{
	struct SpmiStatLink *s;

	for (s = SpmiFirstStat(SpmiPathGetCx(context, NULL)); s; s = SpmiNextStat(s))
		if (strcmp(SpmiGetStat(s->stat)->name, name) == 0)
			return SpmiGetStat(s->stat);
	return NULL;
}

/* Descriptions, numbers, ranges and types. */
static void rule5(void)
{
	struct SpmiStat *s;

	OK(SpmiInit(15) == 0);
	supply();
	walk(NULL, 0);
	CHECK(walked > 50);
	CHECK(asn("CPU") == 1 && asn("CPU/cpu0") == 1 && asn("DDS") == 99 && asn(vendor) == 2 && asn(under("Fixed")) == 7);
	OK((s = stat_named("CPU/cpu0", "idle")) && s->asnno == 4);
	OK(s->data_type == SiFloat && s->value_type == SiCounter && s->min == 0 && s->max == 100);
	OK((s = stat_named(under("Fixed"), "level")) && s->asnno == 1);
	OK(s->data_type == SiLong && s->value_type == SiQuantity && s->min == -5 && s->max == 500);
	OK(strcmp(s->description, "A level") == 0);
	OK((s = stat_named(under("Fixed"), "counter")) && s->asnno == 2 && s->value_type == SiCounter);
	OK((s = stat_named(under("Fixed"), "real")) && s->data_type == SiFloat);
	OK(strcmp(SpmiGetCx(SpmiPathGetCx(under("Fixed"), NULL))->description, "A fixed context") == 0);
	OK(!stat_named("Mem", "x"));
}

/* Returns how many requests for values pmcd has had. */
static long fetches(void)
{
	struct SpmiStatSet *set = SpmiCreateStatSet();
	struct SpmiStatVals *v = SpmiPathAddSetStat(set, "pmcd/pdu_in/fetch", NULL); /* the two count the two kinds of request */
	struct SpmiStatVals *w = SpmiPathAddSetStat(set, "pmcd/pdu_in/highres_fetch", NULL);
	long n;

	CHECK(v && w && SpmiGetStatSet(set, TRUE) == 0 && v->error == 0 && w->error == 0);
	n = v->val.l + w->val.l;
	CHECK(SpmiFreeStatSet(set) == 0);
	return n;
}

/* Sets: order, counts, times, values; a set of a hundred statistics is one request. */
static void rule6(void)
{
	struct SpmiStatSet *set;
	struct SpmiStatVals *level, *counter, *real, *v;
	struct timeval first;
	SpmiCxHdl fixed;
	struct SpmiStatLink *s;
	struct SpmiCxLink *c;
	pid_t idle[12]; /* so that there are enough processes for a hundred statistics */
	int i, n = 0;
	long before;

	for (i = 0; i < 12; i++) {
		idle[i] = fork();
		CHECK(idle[i] >= 0);
		if (idle[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	OK(SpmiInit(15) == 0);
	supply();
	f->level = -4;
	f->counter = 100;
	f->real = 2.5;
	OK((fixed = SpmiPathGetCx(under("Fixed"), NULL)));
	OK((set = SpmiCreateStatSet()));
	OK((level = SpmiPathAddSetStat(set, under("Fixed/level"), NULL)));
	OK((counter = SpmiPathAddSetStat(set, "counter", fixed)));
	CHECK(level->error == SiNoValue && level->ref_count == 1 && level->context == fixed);
	FAILS(SpmiGetValue(set, level) <= -1.1f, SiNoValue);
	f->counter += 50;
	OK(SpmiGetStatSet(set, TRUE) == 0);
	CHECK(level->error == 0 && level->val.l == -4 && level->val_change.l == 0);
	CHECK(counter->error == 0 && counter->val.l == 150 && counter->val_change.l == 50);
	first = set->time;
	CHECK(first.tv_sec > 0);
	OK((real = SpmiPathAddSetStat(set, "real", fixed))); /* it is added between two readings */
	f->counter += 7;
	OK(SpmiGetStatSet(set, TRUE) == 0);
	CHECK(real->val.f == 2.5f && counter->val.l == 157 && counter->val_change.l == 7);
	CHECK(fabs(seconds(set->time) - seconds(first) - seconds(set->time_change)) < 2e-6);
	OK(SpmiFirstVals(set) == real);
	OK(SpmiNextVals(set, real) == counter);
	OK(SpmiNextVals(set, counter) == level);
	OK(!SpmiNextVals(set, level));
	OK(SpmiPathAddSetStat(set, "level", fixed) == level);
	CHECK(level->ref_count == 2);
	OK(SpmiDelSetStat(set, level) == 0);
	CHECK(level->ref_count == 1);
	OK(SpmiDelSetStat(set, level) == 0);
	FAILS(SpmiDelSetStat(set, level) == SiNotFound, SiNotFound);
	OK(!SpmiNextVals(set, counter));
	OK(SpmiDelSetStat(set, real) == 0);
	OK(SpmiFirstVals(set) == counter);
	OK(SpmiFreeStatSet(set) == 0);
	FAILS(SpmiFreeStatSet(set) == SiNotFound, SiNotFound);

	OK((set = SpmiCreateStatSet()));
	OK(SpmiGetStatSet(set, TRUE) == 0); /* an empty set */
	OK(!SpmiFirstVals(set));
	for (c = SpmiFirstCx(SpmiPathGetCx("Proc", NULL)); c && n < 100; c = SpmiNextCx(c))
		for (s = SpmiFirstStat(c->context); s && n < 100; s = SpmiNextStat(s), n++)
			CHECK(SpmiPathAddSetStat(set, SpmiGetStat(s->stat)->name, c->context));
	CHECK(n == 100);
	before = fetches();
	for (i = 0; i < 10; i++)
		OK(SpmiGetStatSet(set, TRUE) == 0);
	CHECK(fetches() == before + 13); /* ten, and three for the set that counts: two counters are added to it */
	for (n = 0, v = SpmiFirstVals(set); v; v = SpmiNextVals(set, v))
		n += v->error == 0;
	CHECK(n > 50);
	for (i = 0; i < 12; i++) {
		kill(idle[i], SIGKILL);
		CHECK(waitpid(idle[i], NULL, 0) == idle[i]);
	}
}

/* The effect of force. */
static void rule7(void)
{
	struct SpmiStatSet *a, *b;
	struct SpmiStatVals *va, *vb;
	struct timeval first;

	OK(SpmiInit(15) == 0);
	supply();
	f->level = 1;
	OK((a = SpmiCreateStatSet()) && (b = SpmiCreateStatSet()));
	OK((va = SpmiPathAddSetStat(a, under("Fixed/level"), NULL)));
	OK((vb = SpmiPathAddSetStat(b, under("Fixed/level"), NULL)));
	OK(SpmiGetStatSet(a, FALSE) == 0); /* it was never read */
	CHECK(va->val.l == 1);
	first = a->time;
	f->level = 2;
	OK(SpmiGetStatSet(a, FALSE) == 0);
	CHECK(va->val.l == 1 && seconds(a->time) == seconds(first));
	OK(SpmiGetStatSet(b, TRUE) == 0);
	CHECK(vb->val.l == 2 && va->val.l == 1);
	f->level = 3;
	OK(SpmiGetStatSet(a, FALSE) == 0); /* obsolete since b was read by force */
	CHECK(va->val.l == 3);
	OK(SpmiGetStatSet(b, FALSE) == 0);
	CHECK(vb->val.l == 2);
	OK(SpmiGetStatSet(a, TRUE) == 0);
	OK(SpmiGetStatSet(b, FALSE) == 0);
	CHECK(vb->val.l == 3);
}

/* Rates, levels, and statistics without a value. */
static void rule8(void)
{
	struct SpmiStatSet *set;
	struct SpmiStatVals *counter, *level, *item, *idle;
	struct item *i;
	double rate;

	OK(SpmiInit(15) == 0);
	supply();
	i = add_item("one");
	i->level = 5;
	OK((set = SpmiCreateStatSet()));
	OK((counter = SpmiPathAddSetStat(set, under("Fixed/counter"), NULL)));
	OK((level = SpmiPathAddSetStat(set, under("Fixed/level"), NULL)));
	UNTIL((item = SpmiPathAddSetStat(set, under("Items/one/level"), NULL)));
	OK((idle = SpmiPathAddSetStat(set, "CPU/cpu0/idle", NULL)));
	f->level = -40;
	OK(SpmiGetStatSet(set, TRUE) == 0);
	OK(SpmiGetValue(set, counter) == 0.0f); /* the rate since it was added */
	OK(SpmiGetValue(set, level) == -40.0f);
	OK(SpmiGetValue(set, item) == 5.0f);
	OK(SpmiGetValue(set, idle) >= 0.0f);
	f->counter += 500;
	usleep(200000);
	OK(SpmiGetStatSet(set, TRUE) == 0);
	CHECK(counter->val_change.l == 500);
	rate = SpmiGetValue(set, counter);
	CHECK(fabs(rate * seconds(set->time_change) - 500) < 0.5);
	f->counter = 10; /* the counter starts again */
	OK(SpmiGetStatSet(set, TRUE) == 0);
	CHECK(counter->error == 0 && counter->val.l == 10 && counter->val_change.l == 0);
	FAILS(SpmiGetValue(set, counter) <= -1.1f, SiNoValue);
	f->counter = 11;
	OK(SpmiGetStatSet(set, TRUE) == 0);
	OK(SpmiGetValue(set, counter) > 0);
	OK(SpmiDdsDelCx((char *)i) == 0);
	UNTIL(SpmiGetStatSet(set, TRUE) == 0 && item->error != 0);
	FAILS(SpmiGetValue(set, item) <= -1.1f, (int)item->error);
	UNTIL(!SpmiPathGetCx(under("Items/one"), NULL));
	OK(SpmiGetStatSet(set, TRUE) == 0);
	CHECK(item->error == SiDeleted && level->error == 0);
	FAILS(SpmiGetValue(set, item) <= -1.1f, SiDeleted);
	i = add_item("one");
	i->level = 6;
	UNTIL(SpmiPathGetCx(under("Items/one"), NULL) && SpmiGetStatSet(set, TRUE) == 0 && item->error == 0);
	OK(SpmiGetValue(set, item) == 6.0f);
}

/* SpmiNextValue. */
static void rule9(void)
{
	struct SpmiStatSet *a, *b;
	struct SpmiStatVals *x, *y, *z, *w;
	float value = 0;

	OK(SpmiInit(15) == 0);
	supply();
	f->level = 1;
	f->other = 2;
	f->real = 3;
	OK((a = SpmiCreateStatSet()) && (b = SpmiCreateStatSet()));
	OK((x = SpmiPathAddSetStat(a, under("Fixed/level"), NULL)));
	OK((y = SpmiPathAddSetStat(a, under("Fixed/other"), NULL)));
	OK((z = SpmiPathAddSetStat(a, under("Fixed/real"), NULL)));
	OK((w = SpmiPathAddSetStat(b, under("Fixed/other"), NULL)));
	OK(SpmiGetStatSet(a, TRUE) == 0 && SpmiGetStatSet(b, FALSE) == 0);
	OK(SpmiNextValue(a, NULL, &value) == z && value == 3);
	OK(SpmiNextValue(b, NULL, &value) == w && value == 2); /* another set is read in between */
	OK(SpmiNextValue(a, z, &value) == y && value == 2);
	OK(SpmiNextValue(a, y, &value) == x && value == 1);
	OK(!SpmiNextValue(a, x, &value));
	OK(SpmiNextValue(a, z, &value) == y && value == 2);
	OK(SpmiGetNextValue(a, NULL, &value) == z);
	FAILS(!SpmiNextValue(b, x, &value), SiNotFound);
	FAILS(!SpmiNextValue(a, NULL, NULL), SiBadArgument);
	OK(SpmiDelSetStat(a, y) == 0);
	OK(SpmiNextValue(a, z, &value) == x);
}

static SpmiCxHdl items_of(int n, struct item **i)
{
	char name[16];
	int k;

	for (k = 0; k < n; k++) {
		snprintf(name, sizeof(name), "i%d", k);
		i[k] = add_item(name);
		i[k]->level = 10 * (k + 1);
	}
	snprintf(name, sizeof(name), "i%d", n - 1);
	UNTIL(child(SpmiPathGetCx(under("Items"), NULL), name));
	UNTIL(SpmiFirstStat(child(SpmiPathGetCx(under("Items"), NULL), name)));
	return SpmiPathGetCx(under("Items"), NULL);
}

static struct SpmiHotVals *hot(struct SpmiHotSet *set, const char *stat, SpmiCxHdl of, int maxresp, int threshold, int feed)
{
	return SpmiAddSetHot(set, stat, of, maxresp, threshold, 0, feed, SiHotNoException, 0, 0);
}

static bool named(struct SpmiHotVals *h, int k, const char *name, long level)
{
	return strcmp(h->items[k].name, name) == 0 && h->items[k].val.l == level;
}

/* Hotsets: order, thresholds, counts. */
static void rule10(void)
{
	struct SpmiHotVals *all, *two, *above, *below, *always, *none, *rates;
	struct SpmiHotSet *set;
	struct item *i[4];
	SpmiCxHdl items;

	OK(SpmiInit(15) == 0);
	supply();
	items = items_of(4, i);
	OK((set = SpmiCreateHotSet()));
	OK((all = hot(set, "level", items, 0, 0, SiHotThreshold)));
	OK((two = hot(set, "level", items, 2, 0, SiHotThreshold)));
	OK((above = hot(set, "level", items, 0, 20, SiHotThreshold)));
	OK((below = hot(set, "level", items, 0, -30, SiHotThreshold)));
	OK((always = hot(set, "level", items, 3, 35, SiHotAlways)));
	OK((none = hot(set, "level", items, 0, 20, SiHotNoFeed)));
	OK((rates = hot(set, "counter", items, 0, 1, SiHotThreshold)));
	CHECK(all->grandpa == items && strcmp(all->path, under("Items")) == 0 && all->ref_count == 1);
	i[1]->counter += 1000000;
	i[2]->counter += 2000000;
	usleep(50000);
	OK(SpmiGetHotSet(set, TRUE) == 0);
	CHECK(all->error == 0 && all->count == 4 && all->avail_resp == 4);
	CHECK(named(all, 0, "i3", 40) && named(all, 1, "i2", 30) && named(all, 2, "i1", 20) && named(all, 3, "i0", 10));
	CHECK(two->count == 2 && two->avail_resp == 4 && named(two, 0, "i3", 40) && named(two, 1, "i2", 30));
	CHECK(above->count == 2 && named(above, 0, "i3", 40) && named(above, 1, "i2", 30));
	CHECK(below->count == 2 && named(below, 0, "i0", 10) && named(below, 1, "i1", 20));
	CHECK(always->count == 3 && always->avail_resp == 4 && named(always, 2, "i1", 20));
	CHECK(none->count == 0 && none->avail_resp == 2);
	CHECK(rates->count == 2 && named(rates, 0, "i2", 2000000) && rates->items[0].val_change.l == 2000000);
	CHECK(set->time.tv_sec > 0);
	i[0]->level = 100;
	OK(SpmiGetHotSet(set, FALSE) == 0);
	CHECK(named(all, 0, "i3", 40));
	OK(SpmiGetHotSet(set, TRUE) == 0);
	CHECK(named(all, 0, "i0", 100) && rates->count == 0);
	OK(SpmiDdsDelCx((char *)i[0]) == 0);
	UNTIL(SpmiGetHotSet(set, TRUE) == 0 && all->count == 3);
	CHECK(named(all, 0, "i3", 40));
	OK(hot(set, "level", items, 2, 0, SiHotThreshold) == two);
	CHECK(two->ref_count == 2);
	OK(SpmiDelSetHot(set, two) == 0);
	OK(SpmiDelSetHot(set, two) == 0);
	FAILS(SpmiDelSetHot(set, two) == SiNotFound, SiNotFound);
	OK(SpmiFreeHotSet(set) == 0);
	FAILS(SpmiFreeHotSet(set) == SiNotFound, SiNotFound);
}

/* What exceptions and traps need. */
static void rule11(void)
{
	struct SpmiHotSet *set;
	SpmiCxHdl cpu;

	OK(SpmiInit(15) == 0);
	OK((cpu = SpmiPathGetCx("CPU", NULL)));
	OK((set = SpmiCreateHotSet()));
#define ADD(maxresp, threshold, frequency, feed, excp, severity, trap) \
	SpmiAddSetHot(set, "idle", cpu, maxresp, threshold, frequency, feed, excp, severity, trap)
	OK(ADD(1, 10, 5, SiHotNoFeed, SiHotException, 1, 0));
	OK(ADD(1, 10, 5, SiHotNoFeed, SiHotTrap, 0, 1));
	OK(ADD(1, -10, 60, SiHotAlways, SiHotBoth, 3, 4));
	OK(ADD(0, 0, 0, SiHotAlways, SiNoHotException, 0, 0));
	FAILS(!ADD(0, 10, 5, SiHotNoFeed, SiHotException, 1, 0), SiBadArgument);
	FAILS(!ADD(1, 0, 5, SiHotNoFeed, SiHotException, 1, 0), SiBadArgument);
	FAILS(!ADD(1, 10, 4, SiHotNoFeed, SiHotException, 1, 0), SiBadArgument);
	FAILS(!ADD(1, 10, 0, SiHotNoFeed, SiHotTrap, 0, 1), SiBadArgument);
	FAILS(!ADD(1, 10, 5, SiHotNoFeed, SiHotException, 0, 0), SiBadArgument);
	FAILS(!ADD(1, 10, 5, SiHotNoFeed, SiHotException, 1, 1), SiBadArgument);
	FAILS(!ADD(1, 10, 5, SiHotNoFeed, SiHotTrap, 1, 1), SiBadArgument);
	FAILS(!ADD(1, 10, 5, SiHotNoFeed, SiHotTrap, 0, 0), SiBadArgument);
	FAILS(!ADD(1, 10, 5, SiHotNoFeed, SiHotBoth, 1, 0), SiBadArgument);
	FAILS(!ADD(0, 0, 0, SiHotAlways, SiHotNoException, 1, 0), SiBadArgument);
	FAILS(!ADD(0, 0, 0, SiHotAlways, SiHotNoException, 0, 1), SiBadArgument);
	FAILS(!ADD(0, 0, 0, 3, SiHotNoException, 0, 0), SiBadArgument);
	FAILS(!ADD(0, 0, 0, -1, SiHotNoException, 0, 0), SiBadArgument);
	FAILS(!ADD(0, 0, 0, SiHotAlways, 4, 0, 0), SiBadArgument);
	FAILS(!ADD(-1, 0, 0, SiHotAlways, SiHotNoException, 0, 0), SiBadArgument);
	FAILS(!ADD(40000, 0, 0, SiHotAlways, SiHotNoException, 0, 0), SiBadArgument);
	FAILS(!hot(set, "idle", NULL, 0, 0, SiHotAlways), SiNotFound);
	FAILS(!hot(set, "nix", cpu, 0, 0, SiHotAlways), SiNotFound);
	FAILS(!hot(set, "", cpu, 0, 0, SiHotAlways), SiBadArgument);
	FAILS(!hot(set, NULL, cpu, 0, 0, SiHotAlways), SiBadArgument);
	FAILS(!hot(set, "idle", set, 0, 0, SiHotAlways), SiInvalidCx);
	FAILS(!hot(NULL, "idle", cpu, 0, 0, SiHotAlways), SiBadArgument);
}

static void two_levels(struct SpmiHotSet *set)
{
	struct SpmiHotVals *fs, *one, *member;
	struct SpmiHotSet *other;
	struct SpmiCxLink *c;
	int n = 0;

	OK((fs = hot(set, "size", SpmiPathGetCx("FS", NULL), 1, 0, SiHotAlways)));
	OK(SpmiGetHotSet(set, TRUE) == 0);
	for (c = SpmiFirstCx(SpmiPathGetCx("FS", NULL)), member = SpmiFirstHot(set); c; c = SpmiNextCx(c), n++) {
		CHECK(member && member != fs && member->grandpa == c->context && member->count == 1 && member->max_responses == 1);
		CHECK(strncmp(member->path, "FS/", 3) == 0);
		FAILS(SpmiDelSetHot(set, member) == SiBadArgument, SiBadArgument);
		member = SpmiNextHot(set, member);
	}
	CHECK(n > 0 && !member);
	OK(SpmiNextHot(set, fs) == SpmiFirstHot(set));
	c = SpmiFirstCx(SpmiPathGetCx("FS", NULL));
	OK((other = SpmiCreateHotSet()));
	OK((one = hot(other, "size", c->context, 0, 0, SiHotAlways))); /* at the lower level a hotset stands only for itself */
	OK(SpmiGetHotSet(other, TRUE) == 0);
	OK(SpmiFirstHot(other) == one && one->count > 0 && one->grandpa == c->context);
	OK(SpmiDelSetHot(set, fs) == 0);
	OK(!SpmiFirstHot(set));
}

/* Two levels of instances. */
static void rule12(void)
{
	struct SpmiHotSet *set;

	OK(SpmiInit(15) == 0);
	OK((set = SpmiCreateHotSet()));
	if (SpmiFirstCx(SpmiPathGetCx("FS", NULL)))
		two_levels(set);
	else /* a machine or a container may have no file systems of its own */
		FAILS(!hot(set, "size", SpmiPathGetCx("FS", NULL), 1, 0, SiHotAlways), SiNotFound);
	OK(hot(set, "resptime", SpmiPathGetCx("RTime/ARM", NULL), 0, 0, SiHotAlways)); /* there are no subcontexts yet */
	OK(hot(set, "respavg", SpmiPathGetCx("RTime/LAN", NULL), 0, 0, SiHotAlways));
	OK(SpmiGetHotSet(set, TRUE) == 0);
	FAILS(!hot(set, "nix", SpmiPathGetCx("RTime/ARM", NULL), 0, 0, SiHotAlways), SiNotFound);
	FAILS(!hot(set, "size", SpmiPathGetCx("PagSp", NULL), 0, 0, SiHotAlways) &&
	      !SpmiFirstCx(SpmiPathGetCx("Mem/Real", NULL)) && !hot(set, "size", SpmiPathGetCx("Mem/Real", NULL), 0, 0, 0), SiNotFound);
}

/* SpmiNextHotItem. */
static void rule13(void)
{
	struct SpmiHotVals *a, *b, *empty, *h;
	struct SpmiHotSet *set;
	struct item *i[2];
	SpmiCxHdl items;
	int index = 77, n = 0;
	float value = 0;
	char *name = NULL;

	OK(SpmiInit(15) == 0);
	supply();
	items = items_of(2, i);
	OK((set = SpmiCreateHotSet()));
	OK((a = hot(set, "level", items, 0, 0, SiHotAlways)));
	OK((empty = hot(set, "level", items, 0, 1000, SiHotThreshold)));
	OK((b = hot(set, "level", items, 1, -1000, SiHotThreshold)));
	OK(!SpmiNextHotItem(set, NULL, &index, &value, &name)); /* it was not read */
	OK(SpmiGetHotSet(set, TRUE) == 0);
	index = 77;
	OK((h = SpmiNextHotItem(set, NULL, &index, &value, &name)) == a && index == 1);
	CHECK(value == 20 && strcmp(name, "i1") == 0);
	OK((h = SpmiNextHotItem(set, h, &index, &value, &name)) == a && index == 2 && value == 10);
	OK((h = SpmiNextHotItem(set, h, &index, &value, &name)) == b && index == 1 && value == 10);
	CHECK(strcmp(name, "i0") == 0);
	OK(!SpmiNextHotItem(set, h, &index, &value, &name));
	index = 1;
	OK(SpmiNextHotItem(set, a, &index, &value, &name) == a && value == 10);
	index = 0;
	OK(SpmiNextHotItem(set, empty, &index, &value, &name) == b);
	index = -1;
	FAILS(!SpmiNextHotItem(set, a, &index, &value, &name), SiBadArgument);
	FAILS(!SpmiNextHotItem(set, a, NULL, &value, &name), SiBadArgument);
	for (h = NULL; (h = SpmiNextHotItem(set, h, &index, &value, &name)); n++)
		CHECK(n < 10);
	CHECK(n == 3);
}

/* Errors, and no error after success. */
static void rule14(void)
{
	struct SpmiStatSet *set, *other;
	struct SpmiStatVals *v;
	SpmiCxHdl real, cpu;
	struct SpmiStatLink *s;
	char wrong[256] = "";
	void *p = wrong;

	FAILS(!SpmiPathGetCx("CPU", NULL), SiNotInit);
	OK(SpmiInit(15) == 0);
	OK((real = SpmiPathGetCx("Mem/Real", NULL)) && (cpu = SpmiPathGetCx("CPU", NULL)));
	OK((s = SpmiFirstStat(real)));
	OK(strcmp(SpmiStatGetPath(real, s->stat, 0), "Mem/Real/size") == 0);
	OK(strcmp(SpmiStatGetPath(real, s->stat, 1), "Real/size") == 0);
	OK(strcmp(SpmiStatGetPath(real, s->stat, 2), "Mem/Real/size") == 0);
	OK(strcmp(SpmiStatGetPath(real, s->stat, 10), "Mem/Real/size") == 0);
	FAILS(!SpmiStatGetPath(real, s->stat, -1), SiBadArgument);
	FAILS(!SpmiStatGetPath(cpu, s->stat, 0), SiNotFound);
	FAILS(!SpmiStatGetPath(real, p, 0), SiNotFound);
	FAILS(!SpmiStatGetPath(p, s->stat, 0), SiInvalidCx);
	OK(!SpmiFirstStat(cpu));
	OK(!SpmiFirstCx(real));
	FAILS(!SpmiNextCx(p), SiNotFound);
	FAILS(!SpmiNextCx(NULL), SiNotFound);
	FAILS(!SpmiNextStat(p), SiNotFound);
	FAILS(!SpmiGetStat(p), SiNotFound);
	FAILS(!SpmiGetStat(NULL), SiNotFound);
	OK((set = SpmiCreateStatSet()) && (other = SpmiCreateStatSet()));
	OK((v = SpmiPathAddSetStat(set, "size", real)));
	FAILS(!SpmiPathAddSetStat(set, "nix", real), SiNotFound);
	FAILS(!SpmiPathAddSetStat(set, "Mem/Real", NULL), SiNotFound);
	FAILS(!SpmiPathAddSetStat(set, "", real), SiBadArgument);
	FAILS(!SpmiPathAddSetStat(set, NULL, real), SiBadArgument);
	FAILS(!SpmiPathAddSetStat(set, "size", p), SiInvalidCx);
	FAILS(!SpmiPathAddSetStat(NULL, "size", real), SiBadArgument);
	FAILS(!SpmiPathAddSetStat(p, "size", real), SiNotFound);
	FAILS(SpmiGetStatSet(p, TRUE) == SiNotFound, SiNotFound);
	FAILS(SpmiGetStatSet(NULL, TRUE) == SiBadArgument, SiBadArgument);
	FAILS(SpmiFreeStatSet(NULL) == SiBadArgument, SiBadArgument);
	FAILS(SpmiDelSetStat(other, v) == SiNotFound, SiNotFound);
	FAILS(SpmiDelSetStat(set, NULL) == SiBadArgument, SiBadArgument);
	FAILS(!SpmiNextVals(other, v), SiNotFound);
	FAILS(!SpmiFirstVals(p), SiNotFound);
	FAILS(SpmiGetValue(other, v) <= -1.1f, SiNotFound);
	FAILS(SpmiGetValue(NULL, v) <= -1.1f, SiBadArgument);
	FAILS(SpmiGetHotSet((struct SpmiHotSet *)(void *)set, TRUE) == SiNotFound, SiNotFound); /* a set of the wrong kind */
	FAILS(!SpmiFirstHot(NULL), SiBadArgument);
	FAILS(!SpmiNextHot(p, p), SiNotFound);
	FAILS(SpmiFreeHotSet(p) == SiNotFound, SiNotFound);
	OK(SpmiFirstVals(set) == v);
}

/* SpmiExit, and a new start after it. */
static void rule15(void)
{
	struct SpmiStatSet *set;
	SpmiCxHdl cpu;
	int i;

	for (i = 0; i < 3; i++) {
		OK(SpmiInit(15) == 0);
		OK((cpu = SpmiPathGetCx("CPU", NULL)));
		OK((set = SpmiCreateStatSet()));
		OK(SpmiPathAddSetStat(set, "CPU/cpu0/idle", NULL));
		OK(SpmiGetStatSet(set, TRUE) == 0);
		SpmiExit();
		CHECK(SpmiErrno == 0 && !SpmiErrmsg[0]);
		FAILS(SpmiGetStatSet(set, TRUE) == SiNotInit, SiNotInit);
		FAILS(!SpmiGetCx(cpu), SiNotInit);
		SpmiExit();
		CHECK(SpmiErrno == SiNotInit);
	}
}

/* A child of either kind starts again, and the parent goes on. */
static void child_reads(void)
{
	struct SpmiStatSet *set, *own;
	struct SpmiStatVals *v;
	int kind, status;
	pid_t pid;

	OK(SpmiInit(15) == 0);
	OK((set = SpmiCreateStatSet()) && (v = SpmiPathAddSetStat(set, "Mem/Real/size", NULL)));
	for (kind = 0; kind < 2; kind++) {
		pid = kind ? _Fork() : fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			FAILS(SpmiGetStatSet(set, TRUE) == SiNotInit, SiNotInit);
			OK(SpmiInit(15) == 0);
			FAILS(SpmiGetStatSet(set, TRUE) == SiNotFound, SiNotFound);
			OK((own = SpmiCreateStatSet()) && (v = SpmiPathAddSetStat(own, "Mem/Real/size", NULL)));
			OK(SpmiGetStatSet(own, TRUE) == 0);
			CHECK(v->error == 0);
			SpmiExit();
			_exit(SpmiErrno);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		OK(SpmiGetStatSet(set, TRUE) == 0);
		CHECK(v->error == 0);
	}
}

enum { THREADS = 8, ROUNDS = 100 };

static void *reading(void *closure)
{
	const char *path = closure;
	struct SpmiStatVals *v, *w;
	struct SpmiStatSet *set;
	struct SpmiCxLink *c;
	float value;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		CHECK((set = SpmiCreateStatSet()));
		CHECK((v = SpmiPathAddSetStat(set, path, NULL)));
		CHECK(SpmiPathAddSetStat(set, "CPU/cpu0/idle", NULL));
		CHECK(SpmiGetStatSet(set, TRUE) == 0);
		CHECK(v->error == 0);
		for (w = SpmiNextValue(set, NULL, &value); w; w = SpmiNextValue(set, w, &value))
			CHECK(value >= 0 || value == -2);
		for (c = SpmiFirstCx(NULL); c; c = SpmiNextCx(c))
			CHECK(SpmiGetCx(c->context));
		CHECK(SpmiFreeStatSet(set) == 0);
	}
	return NULL;
}

static volatile sig_atomic_t locked, free_of_lock;

static void interrupt(int sig)
{
	(void)sig;
	if (!SpmiFirstCx(NULL) && SpmiErrno == SiLocked)
		locked++;
	else
		free_of_lock++;
}

/* Threads; a signal handler that interrupts a call. */
static void rule16(void)
{
	static char *const paths[] = { "Mem/Real/%free", "Mem/Real/size", "Proc/nprocs", "IP/rcvtot" };
	const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	struct SpmiStatSet *set;
	pthread_t t[THREADS];
	struct sigaction sa;
	int i, tries = 0;

	OK(SpmiInit(15) == 0);
	OK(SpmiFirstCx(NULL));
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, reading, paths[i % 4]) == 0);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = interrupt;
	sa.sa_flags = SA_RESTART;
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
	CHECK((set = SpmiCreateStatSet()) && SpmiPathAddSetStat(set, "Mem/Real/size", NULL));
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (locked < 3 && tries++ < 100000)
		SpmiGetStatSet(set, TRUE);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(locked >= 3);
	OK(SpmiGetStatSet(set, TRUE) == 0);
	OK(SpmiFreeStatSet(set) == 0);
}

/* Returns how many kilobytes of private memory the process has. */
static long memory(void)
{
	long pages = 0, skip;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file && fscanf(file, "%ld %ld %ld %ld %ld %ld", &skip, &skip, &skip, &skip, &skip, &pages) == 6);
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void many_sets(int n)
{
	struct SpmiStatSet *set;
	struct SpmiHotSet *hots;
	SpmiCxHdl cpu = SpmiPathGetCx("CPU", NULL);
	int i;

	for (i = 0; i < n; i++) {
		CHECK((set = SpmiCreateStatSet()));
		CHECK(SpmiPathAddSetStat(set, "Mem/Real/size", NULL));
		CHECK(SpmiPathAddSetStat(set, "CPU/cpu0/idle", NULL));
		if (i % 50 == 0)
			CHECK(SpmiGetStatSet(set, TRUE) == 0);
		CHECK(SpmiFreeStatSet(set) == 0);
		if (i % 10)
			continue;
		CHECK((hots = SpmiCreateHotSet()));
		CHECK(hot(hots, "idle", cpu, 0, 0, SiHotAlways));
		CHECK(SpmiGetHotSet(hots, TRUE) == 0);
		CHECK(SpmiFreeHotSet(hots) == 0);
	}
}

/* 10,000 sets leave nothing behind. */
static void leaks(void)
{
	long before;

	OK(SpmiInit(15) == 0);
	many_sets(1000);
	before = memory();
	many_sets(10000);
	if (getenv("COUNT_MEMORY"))
		CHECK(memory() - before < 256);
	SpmiExit();
}

/* Reads orders from standard input. Prints how a set does: error codes and values. */
static void orders(void)
{
	struct SpmiStatVals *level, *counter, *gone;
	struct SpmiStatSet *set;
	char line[100];
	float a, b;

	OK(SpmiInit(15) == 0);
	supply();
	f->level = 5;
	OK((set = SpmiCreateStatSet()));
	OK((level = SpmiPathAddSetStat(set, under("Fixed/level"), NULL)));
	OK((counter = SpmiPathAddSetStat(set, "CPU/cpu0/user", NULL)));
	OK((gone = SpmiPathAddSetStat(set, "hinv/ncpu", NULL)));
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		touch();
		CHECK(SpmiGetStatSet(set, TRUE) == 0 && SpmiErrno == 0);
		a = SpmiGetValue(set, level);
		b = SpmiGetValue(set, counter);
		printf("%d %g %d %s %d %s\n", level->error, a, counter->error, b < 0 ? "none" : "rate", gone->error,
		       SpmiPathGetCx("CPU/cpu0", NULL) ? "found" : "lost");
		fflush(stdout);
	}
	SpmiExit();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*f)(void);
	} cases[] = {
		{ "1", rule1 }, { "2", rule2 }, { "3", rule3 }, { "4", rule4 }, { "5", rule5 }, { "6", rule6 },
		{ "7", rule7 }, { "8", rule8 }, { "9", rule9 }, { "10", rule10 }, { "11", rule11 }, { "12", rule12 },
		{ "13", rule13 }, { "14", rule14 }, { "15", rule15 }, { "16", rule16 }, { "children", child_reads }, { "leaks", leaks },
		{ "orders", orders },
	};
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].f();
			SpmiExit();
			return 0;
		}
	fprintf(stderr, "usage: rules CASE\n");
	return 2;
}
