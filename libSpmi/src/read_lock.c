/*
 * The lock of the reading half. It is not the suppliers' lock, because a reader may wait for
 * pmcd while it has it. A signal handler that has interrupted a reading call of its own thread
 * gets SiLocked, as one that interrupts a supplier's call does.
 *
 * A call's error is collected while the call runs, and shown in SpmiErrno and SpmiErrmsg when
 * it ends, with the suppliers' lock held.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "reader.h"
#include "state.h"

static int holder; /* the thread inside, or 0 */
static pid_t holder_pid; /* its process */
static int waiting;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool fork_locked;

static int self(void)
{
	return (int)syscall(SYS_gettid);
}

static bool try_lock(int me)
{
	int nobody = 0;

	return __atomic_compare_exchange_n(&holder, &nobody, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool held_by(int me)
{
	return __atomic_load_n(&holder, __ATOMIC_RELAXED) == me;
}

static void unlock(void)
{
	__atomic_store_n(&holder, 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &holder, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* A child of _Fork must not use what it has inherited, because no handler runs for it. */
static bool inherited(void)
{
	pid_t pid = __atomic_load_n(&holder_pid, __ATOMIC_RELAXED);

	return pid && pid != getpid();
}

static void begin_anew(void)
{
	source_forget();
	reader_end();
	__atomic_store_n(&holder_pid, 0, __ATOMIC_RELAXED);
}

/* Waits without a limit: each call ends when pmcd answers or libpcp gives up. */
static bool lock(int me)
{
	const struct timespec limit = { 0, 100000000 };
	int there;

	for (;;) {
		if (try_lock(me)) {
			if (inherited())
				begin_anew();
			__atomic_store_n(&holder_pid, getpid(), __ATOMIC_RELAXED);
			return true;
		}
		if (held_by(me))
			return false;
		if (inherited()) { /* the thread that is inside belongs to the parent */
			begin_anew();
			__atomic_store_n(&holder, 0, __ATOMIC_RELEASE);
			continue;
		}
		__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
		there = __atomic_load_n(&holder, __ATOMIC_SEQ_CST);
		if (there)
			syscall(SYS_futex, &holder, FUTEX_WAIT_PRIVATE, there, &limit, NULL, 0);
		__atomic_sub_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	}
}

/* libpcp has locks of its own. A thread that is not in the child must not hold them there. */
static void before_fork(void)
{
	int me = self();

	if (lock(me))
		fork_locked = true;
}

static void after_fork_parent(void)
{
	if (fork_locked && held_by(self())) {
		fork_locked = false;
		unlock();
	}
}

static void after_fork_child(void)
{
	fork_locked = false;
	begin_anew();
	__atomic_store_n(&holder, 0, __ATOMIC_RELEASE);
}

static void install(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void begin(struct read_entry *st)
{
	st->err = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &st->cancel);
}

static void end(const struct read_entry *st)
{
	pthread_setcancelstate(st->cancel, NULL);
	errno = st->err;
}

/* Shows an error at once. */
static int refuse(int code, const char *text)
{
	struct entry_state st;

	if (spmi_enter(&st))
		return SiLocked;
	spmi_fail(code, "%s", text);
	spmi_leave(&st);
	return code;
}

static int interrupted(void)
{
	uintptr_t collecting = spmi_collect(0);
	int err = refuse(SiLocked, "this signal handler has interrupted another call of the SPMI");

	spmi_collect(collecting);
	return err;
}

static int initialized(void)
{
	struct entry_state st;
	int err = spmi_enter(&st);

	if (err)
		return err;
	if (!spmi_state.initialized)
		err = spmi_fail(SiNotInit, "the SPMI is not initialized: call SpmiInit first");
	spmi_leave(&st);
	return err;
}

int read_enter(struct read_entry *st)
{
	int err, me = self();

	begin(st);
	pthread_once(&once, install);
	if (held_by(me))
		err = interrupted();
	else if (!(err = initialized()))
		lock(me);
	if (err) {
		end(st);
		return err;
	}
	spmi_collect((uintptr_t)pthread_self());
	spmi_ok();
	return 0;
}

void read_leave(struct read_entry *st)
{
	struct entry_state inner;

	source_leave();
	spmi_collect(0);
	if (!spmi_enter(&inner)) {
		spmi_show_collected();
		spmi_leave(&inner);
	}
	unlock();
	end(st);
}

/*
 * Returns whether it got the lock. In a signal handler that has interrupted a reading call it
 * does not.
 */
bool read_try_exit(void)
{
	return lock(self());
}

void read_exit_done(void)
{
	unlock();
}
