/*
 * The return rules and cross-references of the replacement library. Arguments: the scripted lower
 * library, and which of the tests below.
 */
#include <dlfcn.h>

#include "scripted.h"
#include "../test/seen.h"

enum { GOOD = 1, BAD = 0 };

static struct script *script;
static char long_name[129];

static void load_script(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	CHECK(handle && (script = dlsym(handle, "script")));
	memset(long_name, 'x', sizeof(long_name) - 1);
}

static void called(const char *want)
{
	if (strcmp(script->calls, want)) {
		fprintf(stderr, "calls are \"%s\", want \"%s\"\n", script->calls, want);
		_exit(1);
	}
	script->calls[0] = 0;
}

/* The lower library's answer to the next call. */
static void answers(int answer)
{
	script->answer = answer;
}

/* Calls that give an identifier: the lower one's if it is above 0, else ours. */
static void identifiers(void)
{
	int app, tran, lower;

	app = arm_init("own", NULL, 0, NULL, 0); /* the lower library answers 0 */
	CHECK_EQ(app, 1);
	CHECK((tran = arm_getid(app, "own", NULL, 0, NULL, 0)) == 1);
	for (lower = 500; lower >= -5; lower -= lower == 500 ? 500 : 5) {
		answers(lower);
		CHECK_EQ(arm_init("own", NULL, 0, NULL, 0), lower > 0 ? lower : app);
		CHECK_EQ(arm_init("", NULL, 0, NULL, 0), lower > 0 ? lower : -1);
		CHECK_EQ(arm_getid(app, "own", NULL, 0, NULL, 0), lower > 0 ? lower : tran);
		CHECK_EQ(arm_getid(app, "own", long_name, 0, NULL, 0), lower > 0 ? lower : -1);
		CHECK_EQ(arm_start(tran + 9, 0, NULL, 0), lower > 0 ? lower : -1);
		if (lower > 0)
			CHECK_EQ(arm_start(tran, 0, NULL, 0), lower);
		else
			CHECK(arm_start(tran, 0, NULL, 0) > 1 << 16); /* one of ours */
	}
}

/* Calls that give a status: 0 if the lower library says so, else ours. */
static void statuses(void)
{
	static const struct {
		int lower, own, want;
	} rules[] = { { 0, GOOD, 0 }, { 0, BAD, 0 }, { -5, GOOD, 0 }, { -5, BAD, -1 }, { 5, GOOD, 0 }, { 5, BAD, -1 } };
	int app = arm_init("own", NULL, 0, NULL, 0), tran = arm_getid(app, "t", NULL, 0, NULL, 0), handle;
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		answers(0);
		CHECK((handle = arm_start(tran, 0, NULL, 0)) > 0);
		CHECK_EQ(arm_init("own", NULL, 0, NULL, 0), app);
		answers(rules[i].lower);
		CHECK_EQ(arm_update(rules[i].own ? handle : 12345, 0, NULL, 0), rules[i].want);
		CHECK_EQ(arm_stop(rules[i].own ? handle : 12345, 0, 0, NULL, 0), rules[i].want);
		CHECK_EQ(arm_end(rules[i].own ? app : 99, 0, NULL, 0), rules[i].want);
	}
	CHECK_EQ(seen(getpid(), tran).count, 3);
	CHECK_EQ(seen(getpid(), tran).updates, 3);
}

/* What the lower library gave leads to ours, and it sees what the program passes, all of it. */
static void references(void)
{
	struct seen s;

	errno = 4242;
	script->calls[0] = 0;
	answers(77);
	CHECK_EQ(arm_init("A", "u", 11, NULL, 21), 77);
	answers(78);
	CHECK_EQ(arm_getid(77, "T", NULL, 12, NULL, 0), 78);
	answers(79);
	CHECK_EQ(arm_getid(77, "U", NULL, 0, NULL, 0), 79);
	answers(80);
	CHECK_EQ(arm_start(78, 13, NULL, 0), 80);
	answers(81);
	CHECK_EQ(arm_start(79, 0, NULL, 0), 81);
	answers(0);
	CHECK_EQ(arm_update(80, 14, NULL, 0), 0);
	CHECK_EQ(arm_stop(80, 0, 15, NULL, 0), 0);
	CHECK_EQ(arm_stop(81, 9, 0, NULL, 0), 0); /* ours goes on */
	CHECK_EQ(arm_stop(81, 2, 0, NULL, 0), 0);
	answers(-1);
	CHECK_EQ(arm_stop(80, 0, 0, NULL, 0), -1); /* no reference is left */
	CHECK_EQ(arm_end(77, 16, NULL, 0), 0);
	CHECK_EQ(arm_end(77, 0, NULL, 0), -1);
	called("init(0,A,11,21) getid(77,T,12,0) getid(77,U,0,0) start(78,13,0) start(79,0,0) update(80,14,0) "
	       "stop(80,15,0) stop(81,0,0) stop(81,0,0) stop(80,0,0) end(77,16,0) end(77,0,0) ");
	CHECK_EQ(errno, 4242);
	s = seen(getpid(), 1);
	CHECK(s.count == 1 && s.updates == 1);
	CHECK_EQ(seen(getpid(), 2).failed, 1);
}

/* Without a reference an identifier is passed on as it is; one to nothing leads nowhere. */
static void passed_on(void)
{
	int app = arm_init("A", NULL, 0, NULL, 0), tran = arm_getid(app, "T", NULL, 0, NULL, 0), handle;

	handle = begin(tran);
	CHECK(app > 0 && tran > 0 && handle > 0); /* all ours, as the lower library answers 0 */
	CHECK_EQ(finish(handle), 0);
	CHECK_EQ(seen(getpid(), tran).count, 1);
	answers(app);
	CHECK_EQ(arm_init("", NULL, 0, NULL, 0), app); /* the lower library's, which ours has not */
	answers(-1);
	CHECK_EQ(arm_getid(app, "U", NULL, 0, NULL, 0), -1);
	CHECK_EQ(arm_end(app, 0, NULL, 0), -1);
	CHECK_EQ(arm_stop(-4, 0, 0, NULL, 0), -1);
	answers(0);
	CHECK_EQ(begin(0), 0);
}

/* One handle of the lower library's after the other, and all of them at once. */
static void many(void)
{
	enum { COUNT = 60000 };
	int app = arm_init("A", NULL, 0, NULL, 0), tran = arm_getid(app, "T", NULL, 0, NULL, 0), i;

	script->quiet = script->counting = 1;
	for (i = 0; i < 1000000; i++)
		CHECK_EQ(finish(begin(tran)), 0);
	CHECK_EQ(seen(getpid(), tran).count, 1000000);
	answers(1 << 30);
	for (i = 1; i <= COUNT; i++)
		CHECK_EQ(begin(tran), (1 << 30) + i);
	for (i = 1; i <= COUNT; i++)
		CHECK_EQ(finish((1 << 30) + i), 0);
	CHECK_EQ(seen(getpid(), tran).count, 1000000 + COUNT);
}

static void *first_thread(void *arg)
{
	CHECK_EQ(arm_init("A", NULL, 0, NULL, 0), 500);
	return arg;
}

/* Several threads make the first call, which loads the lower library. */
static void first(void)
{
	pthread_t t[8];
	int i;

	script->quiet = 1;
	answers(500);
	for (i = 0; i < 8; i++)
		CHECK(pthread_create(&t[i], NULL, first_thread, NULL) == 0);
	for (i = 0; i < 8; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

static int threads_tran;

static void *thread(void *arg)
{
	int handles[8], i, k;

	(void)arg;
	for (i = 0; i < 10000; i++) {
		for (k = 0; k < 8; k++)
			CHECK((handles[k] = begin(threads_tran)) > 0);
		for (k = 0; k < 8; k++)
			CHECK_EQ(finish(handles[k]), 0);
	}
	return NULL;
}

/* What one thread has stopped the lower library gives to another at once. */
static void threads(void)
{
	pthread_t t[4];
	int i;

	script->quiet = script->reusing = 1;
	threads_tran = arm_getid(arm_init("A", NULL, 0, NULL, 0), "T", NULL, 0, NULL, 0);
	for (i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, thread, NULL) == 0);
	for (i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK_EQ(seen(getpid(), threads_tran).count, 4 * 8 * 10000);
}

/* The lower library that comes back here gets ours alone, and does not get round for ever. */
static void calls_back(void)
{
	int app = arm_init("A", NULL, 0, NULL, 0), tran = arm_getid(app, "T", NULL, 0, NULL, 0), inner;

	script->calls[0] = 0;
	script->calls_back = tran;
	answers(500);
	CHECK_EQ(begin(tran), 500);
	called("start(1,0,0) ");
	inner = script->called_back;
	CHECK(inner > 1 << 16);
	script->calls_back = 0;
	answers(0);
	CHECK(finish(500) == 0 && finish(inner) == 0);
	CHECK_EQ(seen(getpid(), tran).count, 2);
}

/* The program gets the lower library's correlator, or else ours, and ours sees the parent's. */
static void correlators(void)
{
	int app = arm_init("A", NULL, 0, NULL, 0), tran = arm_getid(app, "T", NULL, 0, NULL, 0), lower;
	arm_correlator_t parent;
	arm_data1_t d;
	char trace[ARM_TRACEPARENT_SIZE];
	const char *given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

	CHECK_EQ(arm_correlator_from_traceparent(given, &parent), 0);
	for (lower = 0; lower < 4; lower++) {
		memset(&d, 0, sizeof(d));
		d.format = ARM_FORMAT_DATA;
		d.flags[0] = ARM_PARENT_GIVEN | ARM_CORRELATOR_WANTED | ARM_CORRELATOR_GIVEN;
		d.correlator = parent;
		script->correlator = lower & 1;
		answers(lower & 2 ? 900 + lower : 0);
		CHECK(arm_start(tran, 0, (arm_data_t *)&d, sizeof(d)) > 0);
		CHECK(d.flags[0] & ARM_CORRELATOR_GIVEN);
		if (lower == 3) { /* it started one, and gave a correlator */
			CHECK(memcmp(&d.correlator, "\0\005low", 5) == 0);
			continue;
		}
		CHECK_EQ(arm_correlator_to_traceparent(&d.correlator, trace), 0);
		CHECK(memcmp(trace, given, 36) == 0 && memcmp(trace + 36, given + 36, 16) != 0);
	}
	CHECK_EQ(seen(getpid(), tran).bad_data, 0);
}

/* A child goes on with what its parent had begun. */
static void forked(void)
{
	int app, tran;
	pid_t pid;

	answers(600);
	app = arm_init("A", NULL, 0, NULL, 0);
	tran = arm_getid(app, "T", NULL, 0, NULL, 0);
	CHECK(app == 600 && tran == 600);
	if ((pid = fork()) == 0) {
		CHECK_EQ(begin(tran), 600);
		answers(0);
		CHECK_EQ(finish(600), 0);
		CHECK_EQ(seen(getpid(), 1).count, 1);
		_exit(0);
	}
	reap(pid);
	CHECK_EQ(seen(getpid(), 1).count, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "identifiers", identifiers }, { "statuses", statuses }, { "references", references },
		{ "passed_on", passed_on }, { "many", many }, { "threads", threads },
		{ "first", first }, { "calls_back", calls_back },
		{ "correlators", correlators }, { "forked", forked },
	};
	size_t i, ran = 0;

	CHECK(argc == 3 && setenv("ARM_LOWER_LIBRARY", argv[1], 1) == 0);
	make_dir();
	load_script(argv[1]);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (strcmp(argv[2], tests[i].name) == 0) {
			tests[i].run();
			ran++;
		}
	CHECK_EQ(ran, 1);
	return done();
}
