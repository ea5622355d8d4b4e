/* Signal handlers fork at any instruction of a call, and the child returns into that call. The child
 * goes on and counts apart, and changes none of its parent's counts. */
#include <sys/time.h>

#include "seen.h"

enum { FORKS = 600 };

static int tran;
static volatile sig_atomic_t forked, child;

/* Asks for the next signal, a little later each time. */
static void alarm_soon(void)
{
	struct itimerval t = { { 0, 0 }, { 0, 50 + forked * 7 % 211 } };

	CHECK(setitimer(ITIMER_REAL, &t, NULL) == 0);
}

/* Every other child has begun to measure before it returns. */
static void handler(int sig)
{
	int err = errno;
	pid_t pid;

	(void)sig;
	if (child)
		return;
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		child = 1;
		if (forked % 2)
			CHECK_EQ(finish(begin(tran)), 0);
	} else {
		reap(pid);
		if (++forked < FORKS)
			alarm_soon();
	}
	errno = err;
}

/* The rest of the interrupted call may answer as in the parent, or that the handle is unknown. After
 * that the child is a process like any other. */
static void goes_on(void)
{
	uint64_t before;
	int i, h;

	CHECK_EQ(finish(begin(tran)), 0);
	before = seen(getpid(), tran).count;
	for (i = 0; i < 100; i++) {
		CHECK((h = begin(tran)) > 0);
		CHECK_EQ(finish(h), 0);
	}
	CHECK_EQ(seen(getpid(), tran).count, before + 100);
	_exit(0);
}

static uint64_t pairs(void)
{
	uint64_t n = 0;
	int h, answer;

	while (forked < FORKS) {
		h = begin(tran);
		answer = finish(h);
		if (child)
			goes_on();
		CHECK(h > 0);
		CHECK_EQ(answer, 0);
		n++;
	}
	return n;
}

int main(void)
{
	struct sigaction sa;
	uint64_t n;

	make_dir();
	tran = register_one("forkback", "t");
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = SA_RESTART;
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
	alarm_soon();
	n = pairs();
	CHECK_EQ(seen(getpid(), tran).count, n);
	return done();
}
