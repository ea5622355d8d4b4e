/* The lock around each call. While it is held, the program gets no signals and is not cancelled. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct timespec no_time;

static void write_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGXFSZ);
	sigaddset(set, SIGPIPE);
}

static bool is_pending(void)
{
	sigset_t now;

	sigpending(&now);
	return sigismember(&now, SIGXFSZ) || sigismember(&now, SIGPIPE);
}

void log_enter(struct log_guard *g)
{
	sigset_t all;

	g->err = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &g->signals);
	g->pending = is_pending();
	pthread_mutex_lock(&lock);
}

int log_leave(struct log_guard *g, int answer)
{
	sigset_t ours;

	pthread_mutex_unlock(&lock);
	write_signals(&ours);
	while (!g->pending && is_pending() && sigtimedwait(&ours, NULL, &no_time) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &g->signals, NULL);
	pthread_setcancelstate(g->cancel, &g->cancel);
	errno = g->err;
	return answer;
}

/* A child has one thread. fork is called with the lock held, so that this thread can release it. */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void loaded(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}
