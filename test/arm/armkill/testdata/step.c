/* Kills after so many instructions. */
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static arm_data1_t data;
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

/* What has data, ends badly, and is updated. */
static void rich(int i)
{
	struct victim *v = &victims[i];
	int h = start(v, v->thread, &data);

	data.flags[0] = 0;
	update(v, v->thread, h, &data);
	stop(v, v->thread, h, ARM_FAILED, &data);
}

static void names(int i)
{
	RIGHT(&victims[i], arm_getid((int)victims[i].app, fresh, NULL, 0, NULL, 0) > 0);
}

/* The application is begun with twice, and ended once. */
static void ends(int i)
{
	RIGHT(&victims[i], arm_end((int)victims[i].app, 0, NULL, 0) == 0);
}

static const struct {
	const char *name;
	void (*before)(int), (*what)(int);
} ops[] = {
	{ "pair", warm, pair },        /* the quick way */
	{ "first", registers, pair },  /* a thread's first */
	{ "rich", warm, rich },        { "init", nothing, registers },
	{ "getid", registers, names }, { "end", registers, ends },
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

static void lead(pid_t pid, int i, int calls, long steps)
{
	for (; steps > 0 && !over(i); steps--) {
		MUST(ptrace(calls ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, pid, NULL, NULL) == 0);
		expect_stop(pid, SIGTRAP);
	}
}

int kill_steps(const char *what, int calls, long from, long stride)
{
	int i, op = find(what), done = 0;

	for (i = 0; i < VICTIMS; i++) {
		pid_t pid = child();

		serial++;
		if (pid == 0)
			stepped(i, op);
		expect_stop(pid, SIGSTOP);
		lead(pid, i, calls, from + i * stride);
		done += over(i);
		MUST(kill(pid, SIGKILL) == 0);
		end_of(pid, SIGKILL);
	}
	return done;
}

/* Finds the numbers that the victims had, and names what they were about to name. */
static void looks(void)
{
	int i, k, app, tran;
	char name[32];

	MUST((app = arm_init("Kill", NULL, 0, NULL, 0)) == (int)victims[WITNESS].app);
	for (i = 0; i < VICTIMS; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		MUST((tran = arm_getid(app, name, NULL, 0, NULL, 0)) > 0);
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
