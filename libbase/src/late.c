/*
 * A thread for work that cannot be done yet. It lives until the work is done. It tries again after a
 * sixteenth of the time that it has waited already, at least 10 ms and at most 5 s. It watches no files,
 * because a user has only 128 inotify descriptors for all programs, and a program may close descriptors
 * that are not its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

enum { LEAST_MS = 10, MOST_MS = 5000, SHARE = 16, STACK = 128 << 10 };

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/*
 * Reports whether the program has no other threads left. It ends when all its threads have ended, even if
 * the first one has called pthread_exit. The library's thread must not keep it alive.
 */
static bool left_alone(void)
{
	char name[64], text[512], *p;
	struct stat st;
	ssize_t n;
	int fd;

	if (stat("/proc/self/task", &st) || st.st_nlink > 4) /* two links of its own, and one for each of two threads */
		return false;
	snprintf(name, sizeof(name), "/proc/self/task/%ld/stat", (long)getpid());
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	p = strrchr(text, ')');
	return p && strncmp(p, ") Z", 3) == 0;
}

/* Sleeps for that long, or until late_wait is called. The caller holds the mutex. */
static void sleep_ms(struct late *l, uint64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)(ms / 1000);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	pthread_cond_timedwait(&l->changed, &l->mutex, &t);
}

static void *run(void *arg)
{
	struct late *l = arg;
	uint64_t since = now_ms(), wait;

	pthread_mutex_lock(&l->mutex);
	while (!l->ending) {
		bool (*attempt)(void) = l->attempt;
		bool done;

		pthread_mutex_unlock(&l->mutex);
		done = attempt() || left_alone();
		pthread_mutex_lock(&l->mutex);
		if (done)
			break;
		wait = (now_ms() - since) / SHARE;
		if (!l->ending)
			sleep_ms(l, wait < LEAST_MS ? LEAST_MS : wait > MOST_MS ? MOST_MS : wait);
	}
	l->running = false;
	pthread_mutex_unlock(&l->mutex);
	return NULL;
}

/* The thread is not the program's: it takes none of its signals. */
static int start(struct late *l)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP };
	size_t i, stack = STACK > PTHREAD_STACK_MIN ? STACK : (size_t)PTHREAD_STACK_MIN;
	sigset_t all, before;
	pthread_condattr_t c;
	pthread_attr_t a;
	int err;

	sigfillset(&all);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	if ((err = pthread_attr_init(&a)))
		return err;
	pthread_condattr_init(&c);
	pthread_condattr_setclock(&c, CLOCK_MONOTONIC);
	pthread_cond_init(&l->changed, &c);
	pthread_attr_setstacksize(&a, stack);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&l->thread, &a, run, l);
	if (err == EINVAL) { /* the program's thread-local variables need more */
		pthread_attr_setstacksize(&a, 8 * stack);
		err = pthread_create(&l->thread, &a, run, l);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&a);
	return err;
}

/* Makes the thread call attempt, soon and from time to time, until it returns true. */
int late_begin(struct late *l, bool (*attempt)(void))
{
	int err = 0;

	if (l->pid != getpid())
		late_forget(l);
	pthread_mutex_lock(&l->mutex);
	l->attempt = attempt;
	l->ending = false;
	if (!l->running) {
		if (l->pid)
			pthread_join(l->thread, NULL); /* it has ended */
		err = start(l);
		l->running = !err;
		l->pid = err ? 0 : getpid();
	}
	pthread_mutex_unlock(&l->mutex);
	return err;
}

/* Ends the thread and waits for that, before the code that it runs is unloaded. */
void late_wait(struct late *l)
{
	if (l->pid != getpid() || pthread_equal(l->thread, pthread_self()))
		return;
	pthread_mutex_lock(&l->mutex);
	l->ending = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->mutex);
	pthread_join(l->thread, NULL);
	l->pid = 0;
}

/* Called in a child, which has no such thread. */
void late_forget(struct late *l)
{
	static const struct late none = LATE_INIT;

	*l = none;
}
