/*
 * The thread of late.c: it tries until it has succeeded and is gone then; it comes again; a
 * child has none; it takes no signals; it keeps no program from ending, nor its code from
 * being unloaded.
 */
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "want.h"

static struct late late = LATE_INIT;
static uint32_t tries, enough;
static pthread_t where;

static bool attempt(void)
{
	where = pthread_self();
	return __atomic_add_fetch(&tries, 1, __ATOMIC_SEQ_CST) >= __atomic_load_n(&enough, __ATOMIC_SEQ_CST);
}

static void need(uint32_t n)
{
	__atomic_store_n(&tries, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&enough, n, __ATOMIC_SEQ_CST);
}

static int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	WANT(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Waits for a condition: half a minute, which is plenty. */
#define UNTIL(x) \
	do { \
		int tries_ = 0; \
		while (!(x)) { \
			WANT(tries_++ < 30000 && #x); \
			usleep(1000); \
		} \
	} while (0)

static void test_until_done(void)
{
	int round;

	WANT(threads() == 1);
	for (round = 0; round < 3; round++) {
		need(3);
		WANT(late_begin(&late, attempt) == 0);
		UNTIL(threads() == 1);
		WANT(tries == 3);
		WANT(!pthread_equal(where, pthread_self()));
	}
}

static void test_wait(void)
{
	need(UINT32_MAX);
	WANT(late_begin(&late, attempt) == 0);
	WANT(late_begin(&late, attempt) == 0); /* one is enough */
	WANT(threads() == 2);
	late_wait(&late);
	UNTIL(threads() == 1); /* the kernel forgets it a little after pthread_join */
	late_wait(&late);
}

/* In a child there is none, and it can have one of its own. */
static void test_fork(void)
{
	int status;
	pid_t pid;

	need(UINT32_MAX);
	WANT(late_begin(&late, attempt) == 0);
	pid = fork();
	if (pid == 0) {
		WANT(threads() == 1);
		late_wait(&late); /* not for the parent's */
		need(2);
		WANT(late_begin(&late, attempt) == 0);
		UNTIL(threads() == 1);
		WANT(tries == 2);
		_exit(0);
	}
	WANT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	WANT(threads() == 2);
	late_wait(&late);
}

static pthread_t main_thread;
static volatile sig_atomic_t got, elsewhere;

static void handler(int sig)
{
	(void)sig;
	if (!pthread_equal(pthread_self(), main_thread))
		elsewhere = 1;
	got++;
}

/* Signals to the process are for the program's own threads, also where these block them. */
static void test_signals(void)
{
	sigset_t usr, none;
	int i;

	main_thread = pthread_self();
	signal(SIGUSR1, handler);
	sigemptyset(&none);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	need(UINT32_MAX);
	WANT(late_begin(&late, attempt) == 0);
	for (i = 1; i <= 100; i++) {
		pthread_sigmask(SIG_BLOCK, &usr, NULL);
		kill(getpid(), SIGUSR1);
		usleep(100);
		WANT(got == i - 1);
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		WANT(got == i && !elsewhere);
	}
	late_wait(&late);
}

/* The last thread of the program's ends, and with it the program. */
static void test_left_alone(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		need(UINT32_MAX);
		WANT(late_begin(&late, attempt) == 0);
		pthread_exit(NULL);
	}
	WANT(pid > 0 && waitpid(pid, &status, 0) == pid);
	WANT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	test_until_done();
	test_wait();
	test_fork();
	test_signals();
	test_left_alone();
	return 0;
}
