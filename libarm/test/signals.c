/* Signal handlers call start and stop, at any instruction of the thread's own calls. */
#include <sys/time.h>

#include "seen.h"

static int tran, other;
static uint64_t handled;

static void handler(int sig)
{
	int err = errno;

	(void)sig;
	CHECK_EQ(finish(begin(tran)), 0);
	CHECK_EQ(arm_stop(begin(other), ARM_FAILED, 0, NULL, 0), 0);
	CHECK_EQ(errno, err);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
	errno = err;
}

static void tick(void)
{
	struct itimerval t = { { 0, 200 }, { 0, 200 } };
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = SA_RESTART;
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0 && sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &t, NULL) == 0);
}

/* Works until so many handlers have run, however long that takes. */
static void *works(void *pairs)
{
	uint64_t n = 0;
	int h;

	while (__atomic_load_n(&handled, __ATOMIC_RELAXED) < 2000) {
		CHECK((h = begin(tran)) > 0);
		CHECK_EQ(finish(h), 0);
		n++;
	}
	*(uint64_t *)pairs = n;
	return NULL;
}

/* A handler makes a thread's first call, or interrupts it. */
static void *begins_in_handler(void *unused)
{
	int i;

	raise(SIGUSR1);
	for (i = 0; i < 50; i++)
		CHECK_EQ(finish(begin(tran)), 0);
	return unused;
}

int main(void)
{
	struct itimerval off = { { 0, 0 }, { 0, 0 } };
	uint64_t mine, thread_pairs, n = 0;
	struct seen s;
	pthread_t t;
	int i;

	make_dir();
	tran = register_one("signals", "t");
	other = register_one("signals", "other");
	tick();
	CHECK(pthread_create(&t, NULL, works, &thread_pairs) == 0);
	works(&mine);
	pthread_join(t, NULL);
	n = mine + thread_pairs;
	for (i = 0; i < 200; i++, n += 50) {
		CHECK(pthread_create(&t, NULL, begins_in_handler, NULL) == 0);
		pthread_join(t, NULL);
	}
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	s = seen(getpid(), tran);
	CHECK_EQ(s.count, n + handled);
	CHECK_EQ(seen(getpid(), other).failed, handled);
	return done();
}
