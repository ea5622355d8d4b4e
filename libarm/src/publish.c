/*
 * A process that begins before there is a directory for segments measures in memory of its own. When the
 * directory comes, files take the place of that memory, at the same addresses and with all that was
 * counted, whatever the program is doing. A thread of the library sees to that, because the program may
 * never call the library again.
 *
 * The names move to a file of their own, since other processes of the user may have given other numbers
 * to theirs.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

enum { PATIENCE = 20, WAIT_MAX = 20000, AHEAD = 1 << 20 };

static struct late late = LATE_INIT;

static void pause_100us(void)
{
	struct timespec t = { 0, 100000 };

	nanosleep(&t, NULL);
}

/* Begins to add room or names. False: memory is becoming files. */
bool publish_enter(struct process *p)
{
	__atomic_fetch_add(&p->adding, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&p->place, __ATOMIC_SEQ_CST) != MOVING)
		return true;
	publish_leave(p);
	return false;
}

void publish_leave(struct process *p)
{
	__atomic_fetch_sub(&p->adding, 1, __ATOMIC_SEQ_CST);
}

/* Waits until memory has become files, at most two seconds. No thread needs that long. */
void publish_wait(struct process *p)
{
	int tries;

	for (tries = 0; tries < WAIT_MAX && load_acquire(&p->place) == MOVING; tries++)
		pause_100us();
}

/* From here on no thread adds anything. False: another thread moves already, or one that adds does not come
 * to an end, for example because this is a signal handler that has interrupted it. */
static bool move_begin(struct process *p)
{
	uint32_t place = IN_MEMORY;
	int tries;

	if (!cas(&p->place, &place, MOVING))
		return false;
	for (tries = 0; tries < PATIENCE; tries++) {
		if (!__atomic_load_n(&p->adding, __ATOMIC_SEQ_CST))
			return true;
		pause_100us();
	}
	store_release(&p->place, IN_MEMORY);
	return false;
}

/* Makes plenty of room, because starts may need some while nobody can make any. */
static void make_ahead(struct process *p)
{
	uint64_t backed = load(&p->backed), bump = load(&p->bump);

	if (publish_enter(p)) {
		if (backed + AHEAD <= p->limit && bump + AHEAD > backed && load(&p->place) == IN_MEMORY)
			cas(&p->backed, &backed, backed + AHEAD);
		publish_leave(p);
	}
}

/* The process's file gets its name first, because the agent removes a file of names that no process
 * uses. */
static int to_files(struct process *p, const char *dir, int at)
{
	static struct new_file names; /* without a name until the process's file is there, too */
	struct new_file proc;
	int err = 0;

	names.dir = at;
	if (!p->names_moved)
		err = names_make(&rt_names_file, at, &names);
	if (err)
		return err;
	err = proc_make(&rt_proc_file, p, at, &proc);
	if (!err && !p->names_moved && !(err = names_under(&rt_names_file)))
		p->names_moved = 1;
	if (!err && !(err = proc_under(&rt_proc_file, p))) {
		p->uid = geteuid();
		proc_publish(&rt_proc_file, dir, &proc);
		names_publish(&rt_names_file, &names);
		return 0;
	}
	if (rt_proc_file.fd.fd >= 0)
		file_abandon(&proc);
	rt_proc_file.fd.fd = -1;
	if (!p->names_moved) {
		file_abandon(&names);
		rt_names_file.fd.fd = -1;
	}
	return err;
}

static int move(struct process *p)
{
	const char *dir = file_dir("RTIME_ARM_DIR", "/run/rtime/arm");
	int at, err;

	if (strlen(dir) >= sizeof(rt_proc_file.dir))
		return ENAMETOOLONG;
	if ((at = open_dir(dir)) < 0)
		return errno;
	make_ahead(p);
	err = EBUSY;
	if (move_begin(p)) {
		err = to_files(p, dir, at);
		store_release(&p->place, err ? IN_MEMORY : IN_FILES);
	}
	close(at);
	return err;
}

/* Turns the process's memory into files, if that is possible now. */
void publish_try(struct process *p)
{
	int saved = errno, state;
	sigset_t before;

	signals_off(&before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	move(p);
	pthread_setcancelstate(state, &state);
	signals_back(&before);
	errno = saved;
}

/* The library's thread calls this now and then. True: nothing is left to do. */
static bool attempt(void)
{
	struct process *p = load_acquire(&rt_process);

	if (!p || load_acquire(&p->state) != PROCESS_READY)
		return !p;
	if (load_acquire(&p->place) == IN_MEMORY)
		publish_try(p);
	return load_acquire(&p->place) == IN_FILES;
}

/* Starts the thread if the process has no files yet. If there can be no thread, the program's starts try
 * instead. */
void publish_later(struct process *p)
{
	if (load_acquire(&p->place) != IN_FILES && !load(&p->has_thread))
		store(&p->has_thread, late_begin(&late, attempt) == 0);
}

/* Called in a child, which has no such thread. */
void publish_forget(void)
{
	late_forget(&late);
}
