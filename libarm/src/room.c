/*
 * Room in the process's file. It is handed out from bump on and allocated up to backed. The slow calls
 * allocate ahead of what start and stop take, so that start and stop hardly ever allocate themselves.
 */
#include <errno.h>
#include <pthread.h>

#include "hot.h"

enum { STEP = 64 << 10, STEP_MAX = 1 << 20, AHEAD = 16 << 10, AHEAD_MAX = 4 << 20, GRAIN = 128 };

static const uint64_t retry_ns = 100000000;

/* Copies a value into the file. If several threads do so at once, the file ends up with the last value. */
void show64(seg_u64 *word, seg_u64 *value)
{
	uint64_t v;

	do
		store_release(word, v = load_acquire(value));
	while (load_acquire(value) != v);
}

void show32(uint32_t *word, uint32_t *value)
{
	uint32_t v;

	do
		store_release(word, v = load_acquire(value));
	while (load_acquire(value) != v);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Several threads may do this at once, because it changes nothing to allocate the same room again. A call
 * of the parent's that goes on in a child does not make the parent's file grow. */
static int grow(struct process *p, uint64_t from, uint64_t to)
{
	int err = 0;

	if (p != load_acquire(&rt_process) || to > p->limit)
		return ENOMEM;
	if (!publish_enter(p))
		return EAGAIN;
	if (load(&p->place) == IN_FILES && !(err = proc_reopen(&rt_proc_file)))
		err = file_room(rt_proc_file.fd.fd, from, to - from);
	while (!err && from < to && !cas(&p->backed, &from, to))
		;
	show64(&p->header->backed, &p->backed);
	publish_leave(p);
	return err;
}

/* Guards fallocate, which is a cancellation point and changes errno. */
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

/* Makes sure that there is room for len bytes from at on. It does not try again right after a failure. */
static bool make_room(struct process *p, uint64_t at, uint64_t len)
{
	uint64_t backed = load_acquire(&p->backed), step, now;

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
	uint64_t at = load_acquire(&p->bump);

	len = round_up(len, GRAIN);
	do {
		if (!make_room(p, at, len))
			return 0;
	} while (!cas(&p->bump, &at, at + len));
	show64(&p->header->bump, &p->bump);
	return at;
}

/* Returns what a pointer points to. If the pointer is NULL, takes room for it and shows that in the file.
 * NULL: there is no room. */
void *room_once(struct process *p, void **pointer, seg_u64 *word, uint64_t len)
{
	void *have = load_acquire(pointer);
	uint64_t at;

	if (have)
		return have;
	if (!(at = room_take(p, len)))
		return NULL;
	if (!cas(pointer, &have, p->base + at))
		return have; /* another thread was quicker */
	store_release(word, at);
	return p->base + at;
}

/* Allocates ahead, for a thread that will use all the transactions registered here. */
void room_top_up(struct process *p)
{
	uint64_t want = AHEAD + (uint64_t)load(&p->registered) * sizeof(struct seg_cell);
	uint64_t bump = load(&p->bump), backed = load(&p->backed);

	want = bump + (want < AHEAD_MAX ? want : AHEAD_MAX);
	if (want > backed)
		grow_guarded(p, backed, round_up(want, STEP));
}
