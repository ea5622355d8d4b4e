/*
 * The library's lock, and the effect of fork on it.
 *
 * It is not a pthread_mutex_t, because a signal handler may call the library while its own
 * thread is inside. That must be an error, not a deadlock.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "state.h"

static uintptr_t holder; /* the thread inside, or 0 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uintptr_t self(void)
{
	return (uintptr_t)pthread_self();
}

static bool try_lock(void)
{
	uintptr_t nobody = 0;

	return __atomic_compare_exchange_n(&holder, &nobody, self(), false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool held_by_self(void)
{
	return __atomic_load_n(&holder, __ATOMIC_RELAXED) == self();
}

static void unlock(void)
{
	__atomic_store_n(&holder, 0, __ATOMIC_RELEASE);
}

/* Gives up after about two seconds. No call holds the lock for so long. */
static bool lock(void)
{
	const struct timespec pause = { 0, 100000 };
	int tries;

	for (tries = 0; tries < 20000; tries++) {
		if (try_lock())
			return true;
		if (held_by_self())
			return false;
		if (tries < 100)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
	return false;
}

static void begin(struct entry_state *st)
{
	st->err = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &st->cancel);
}

static void end(const struct entry_state *st)
{
	pthread_setcancelstate(st->cancel, NULL);
	errno = st->err;
}

/* A thread that is not in the child must not hold the lock there. */
static bool fork_locked;

static void before_fork(void)
{
	struct entry_state st;

	begin(&st);
	if (lock())
		fork_locked = true;
	end(&st);
}

static void after_fork_parent(void)
{
	if (fork_locked && held_by_self()) {
		fork_locked = false;
		unlock();
	}
}

/* The child is not a supplier: the segment and the claims belong to the parent. */
static void after_fork_child(void)
{
	state_after_fork();
	fork_locked = false;
	unlock();
}

static void install(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* For the thread that publishes late. It can try again later, so it reports no error. */
bool spmi_enter_late(struct entry_state *st)
{
	begin(st);
	if (try_lock()) {
		spmi_set_silent(true);
		return true;
	}
	end(st);
	return false;
}

/*
 * _Fork runs no handlers. Its child may have been made while another thread was inside. That
 * thread is not in the child, so it never gives the lock back.
 */
static void take_from_nobody(void)
{
	uintptr_t thread = __atomic_load_n(&holder, __ATOMIC_RELAXED);

	if (thread && spmi_state.pid && spmi_state.pid != getpid() && !held_by_self()) {
		spmi_set_silent(false);
		__atomic_compare_exchange_n(&holder, &thread, 0, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	}
}

int spmi_enter(struct entry_state *st)
{
	begin(st);
	pthread_once(&once, install);
	take_from_nobody();
	if (lock()) {
		if (spmi_state.pid && spmi_state.pid != getpid())
			state_after_fork(); /* _Fork runs no handlers */
		spmi_ok();
		return 0;
	}
	spmi_fail(SiLocked, "another call of the SPMI is in progress");
	end(st);
	return SiLocked;
}

void spmi_leave(struct entry_state *st)
{
	spmi_set_silent(false);
	unlock();
	end(st);
}

/*
 * If this call does not get the lock, its own thread has it. Then no other thread is inside
 * either.
 */
bool spmi_enter_update(struct entry_state *st)
{
	begin(st);
	return lock();
}

/* Reports whether it got the lock. Without it the caller may only do what needs no lock. */
bool spmi_enter_to_exit(struct entry_state *st)
{
	bool got;

	begin(st);
	got = lock();
	spmi_ok();
	return got;
}

void spmi_leave_unlocked(struct entry_state *st)
{
	end(st);
}
