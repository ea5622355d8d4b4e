/*
 * Room in the process's file: handed out from bump on, allocated up to backed. The slow calls
 * allocate ahead of what start and stop take, so that these hardly ever have to.
 */
#include <errno.h>
#include <pthread.h>

#include "hot.h"

enum { STEP = 64 << 10, STEP_MAX = 1 << 20, AHEAD = 16 << 10, AHEAD_MAX = 4 << 20, GRAIN = 128 };

static const uint64_t retry_ns = 100000000;

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Several threads may do this at once: allocating what is allocated changes nothing. The parent's file
 * does not grow for what is left of a call in a child. */
static int grow(struct process *p, uint64_t from, uint64_t to)
{
	int err = p == load_acquire(&rt_process) ? proc_reopen(&rt_proc_file) : ENOMEM;

	if (!err)
		err = to > p->limit ? ENOMEM : file_room(rt_proc_file.fd.fd, from, to - from);
	while (!err && from < to && !cas(&p->header->backed, &from, to))
		;
	return err;
}

/* fallocate is a point of cancellation, and changes errno. */
static int grow_guarded(struct process *p, uint64_t from, uint64_t to)
{
	int state, saved = errno, err;
	sigset_t before;

	signals_off(&before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	err = grow(p, from, to);
	pthread_setcancelstate(state, &state);
	signals_back(&before);
	errno = saved;
	return err;
}

/* Makes room for len bytes behind at. After a failure it does not try again at once. */
static bool make_room(struct process *p, uint64_t at, uint64_t len)
{
	uint64_t backed = load_acquire(&p->header->backed), step, now;

	if (at + len <= backed)
		return true;
	now = clock_monotonic();
	if (now < load(&p->next_grow))
		return false;
	step = backed / 4 < STEP_MAX ? round_up(backed / 4, STEP) : STEP_MAX;
	if (grow_guarded(p, backed, round_up(at + len, STEP) + step) == 0 ||
	    grow_guarded(p, backed, round_up(at + len, 4096)) == 0)
		return true;
	store(&p->next_grow, now + retry_ns);
	return false;
}

uint64_t room_take(struct process *p, uint64_t len)
{
	uint64_t at = load_acquire(&p->header->bump);

	len = round_up(len, GRAIN);
	do {
		if (!make_room(p, at, len))
			return 0;
	} while (!cas(&p->header->bump, &at, at + len));
	return at;
}

/* Allocates ahead, for a thread that will use all the transactions registered here. */
void room_top_up(struct process *p)
{
	uint64_t want = AHEAD + (uint64_t)load(&p->registered) * sizeof(struct seg_cell);
	uint64_t bump = load(&p->header->bump), backed = load(&p->header->backed);

	want = bump + (want < AHEAD_MAX ? want : AHEAD_MAX);
	if (want > backed)
		grow_guarded(p, backed, round_up(want, STEP));
}
