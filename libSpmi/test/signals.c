/*
 * Signal handlers: of faults behind the data area and in the library, and of a fast
 * timer.
 */
#include <sys/time.h>

#include "helpers.h"

static SpmiShare *share;
static volatile int handled;

static void stop(int sig)
{
	(void)sig;
	handled++;
	SpmiExit();
	_exit(42);
}

/* As the guide says, accesses to fields that no statistic names fault. */
static void beyond(int from, int to)
{
	(void)from, (void)to;
	signal(SIGSEGV, stop);
	CHECK((share = guide_init()));
	((struct dat *)share->SiShArea)->d = 1;
	((volatile struct dat *)share->SiShArea)->beyond = 1;
}

/* A bad pointer interrupts the library while it holds its lock. */
static void within(int from, int to)
{
	(void)from, (void)to;
	signal(SIGSEGV, stop);
	CHECK((share = guide_init()));
	SpmiDdsAddCx(0, (char *)(uintptr_t)share->SiShArea + share->SiShAreaLen, "x", 1);
}

static void alarmed(int sig)
{
	char *area;

	(void)sig;
	handled++;
	area = SpmiDdsAddCx(0, "DDS/IBM/Moretest/Alarm", "x", 2);
	if (area)
		CHECK(SpmiDdsDelCx(area) == 0);
	else
		CHECK(SpmiErrno == SiLocked);
}

static void timer(int from, int to)
{
	struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = alarmed, .sa_flags = SA_RESTART };
	char path[64];
	int i;

	(void)from;
	CHECK((share = guide_init()));
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
	for (i = 0; i < 20000 || handled < 100; i++) {
		snprintf(path, sizeof(path), "DDS/IBM/Moretest/n%d", i % 30000);
		if (i < 30000)
			CHECK(SpmiDdsAddCx(0, path, "x", 300 + i));
	}
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	SpmiExit();
	tell(to, 'y');
	_exit(42);
}

static void run(void (*f)(int, int))
{
	struct child c = spawn(f);
	int status = reap(c);

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	CHECK(count_files("", NULL) == 0);
}

int main(void)
{
	make_dir();
	signal(SIGPIPE, SIG_IGN);
	run(beyond);
	run(within);
	{
		struct child c = spawn(timer);

		CHECK(hear(c.from) == 'y');
		CHECK(WEXITSTATUS(reap(c)) == 42);
	}
	CHECK(count_files("", NULL) == 0);
	return done();
}
