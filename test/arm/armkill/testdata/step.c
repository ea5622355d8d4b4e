/* Kills after so many instructions. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static arm_data1_t data;
static int running;
static long serial; /* of names that were never there before */
static char fresh[32];

static void warm(int i)
{
	struct victim *v = &victims[i];
	int k, h;

	registers(i);
	for (k = 0; k < 20; k++) {
		fill(&data, 1);
		h = start(v, v->thread, k ? NULL : &data);
		stop(v, v->thread, h, k % 4 == 3 ? ARM_ABORT : ARM_GOOD, NULL);
	}
	fill(&data, 1);
}

static void nothing(int i)
{
	(void)i;
}

static void pair(int i)
{
	struct victim *v = &victims[i];

	stop(v, v->thread, start(v, v->thread, NULL), ARM_GOOD, NULL);
}

/* With data: a parent, a trace, a metric. */
static void starts(int i)
{
	running = start(&victims[i], victims[i].thread, &data);
}

static void started(int i)
{
	warm(i);
	starts(i);
	data.flags[0] = 0;
}

static void updates(int i)
{
	update(&victims[i], victims[i].thread, running, &data);
}

static void fails(int i)
{
	stop(&victims[i], victims[i].thread, running, ARM_FAILED, &data);
}

static void names(int i)
{
	RIGHT(&victims[i], arm_getid((int)victims[i].app, fresh, NULL, 0, NULL, 0) > 0);
}

static void ends(int i)
{
	RIGHT(&victims[i], arm_end((int)victims[i].app, 0, NULL, 0) == 0);
}

/* In a directory of its own, in which there are no names yet. */
static void elsewhere(int i)
{
	char dir[4096];

	MUST(snprintf(dir, sizeof(dir), "%s.d%ld", getenv("KILL_NOTES"), serial) < (int)sizeof(dir));
	MUST(mkdir(dir, 0700) == 0 || errno == EEXIST);
	MUST(setenv("RTIME_ARM_DIR", dir, 1) == 0);
	(void)i;
}

static void in_new_process(void (*what)(int), int i)
{
	pid_t pid = child();

	if (pid == 0) {
		elsewhere(i);
		what(i);
		MUST(victims[i].bad == 0);
		_exit(0);
	}
	end_of(pid, 0);
}

/* Later processes work, whatever was left behind. */
static void works_there(int i)
{
	struct victim *v = &victims[i], was = *v;

	in_new_process(warm, i);
	MUST(was.tran == 0 || was.tran == v->tran);
	MUST(was.app == 0 || was.app == v->app);
	was = *v;
	in_new_process(warm, i);
	MUST(was.tran == v->tran && was.app == v->app);
	memset(v, 0, offsetof(struct victim, over));
	memset(v->thread, 0, sizeof(v->thread));
}

static const struct {
	const char *name;
	void (*before)(int), (*what)(int), (*after)(int);
} ops[] = {
	{ "pair", warm, pair, NULL },       /* the quick way */
	{ "first", registers, pair, NULL }, /* a thread's first */
	{ "start", warm, starts, NULL },
	{ "update", started, updates, NULL },
	{ "stop", started, fails, NULL },
	{ "init", nothing, registers, NULL },
	{ "end", registers, ends, NULL },
	{ "getid", registers, names, NULL },
	{ "create", elsewhere, registers, works_there },
};

static int find(const char *name)
{
	size_t k;

	for (k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
		if (strcmp(ops[k].name, name) == 0)
			return (int)k;
	MUST(!"something to step through");
	return -1;
}

static void stepped(int i, int op)
{
	MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	snprintf(fresh, sizeof(fresh), "fresh %ld", serial);
	ops[op].before(i);
	raise(SIGSTOP);
	ops[op].what(i);
	__atomic_store_n(&victims[i].over, 1, __ATOMIC_RELEASE);
	for (;;)
		syscall(SYS_getppid);
}

static void expect_stop(pid_t pid, int sig)
{
	int status;

	MUST(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == sig);
}

static int over(int i)
{
	return (int)__atomic_load_n(&victims[i].over, __ATOMIC_ACQUIRE);
}

static void lead(pid_t pid, int i, int request, long steps)
{
	for (; steps > 0 && !over(i); steps--) {
		MUST(ptrace(request, pid, NULL, NULL) == 0);
		expect_stop(pid, SIGTRAP);
	}
}

int kill_steps(const char *what, enum by how, long from, long stride)
{
	int i, op = find(what), done = 0;

	for (i = 0; i < VICTIMS; i++) {
		long steps = from + i * stride;
		pid_t pid;

		serial += ops[op].what == names || ops[op].after;
		if ((pid = child()) == 0)
			stepped(i, op);
		expect_stop(pid, SIGSTOP);
		lead(pid, i, how == BY_STEP ? PTRACE_SINGLESTEP : PTRACE_SYSCALL, steps);
		if (how == BY_BOTH)
			lead(pid, i, PTRACE_SINGLESTEP, steps * 37 % 199);
		done += over(i);
		MUST(kill(pid, SIGKILL) == 0);
		end_of(pid, SIGKILL);
		if (ops[op].after)
			ops[op].after(i);
	}
	return done;
}

/* Finds the numbers that the victims had, and names what they were about to name. */
static void looks(void)
{
	int i, k, app, tran;
	char name[32];

	MUST((app = arm_init("Kill", "*", 0, NULL, 0)) == (int)victims[WITNESS].app);
	for (i = 0; i < VICTIMS; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		MUST((tran = with_sevens(app, name)) > 0);
		MUST(victims[i].tran == 0 || victims[i].tran == (uint64_t)tran);
		MUST(tran != (int)victims[WITNESS].tran);
		victims[i].tran = (uint64_t)tran;
	}
	for (k = 1; k <= serial; k++) {
		snprintf(name, sizeof(name), "fresh %d", k);
		MUST((tran = arm_getid(app, name, NULL, 0, NULL, 0)) > 0);
		MUST(tran == arm_getid(app, name, NULL, 0, NULL, 0));
		MUST(arm_stop(arm_start(tran, 0, NULL, 0), ARM_GOOD, 0, NULL, 0) == 0);
	}
	MUST(arm_end(app, 0, NULL, 0) == 0);
	_exit(0);
}

void newcomer(void)
{
	pid_t pid = child();

	if (pid == 0)
		looks();
	end_of(pid, 0);
}
