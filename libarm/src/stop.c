/* arm_stop. */
#include <errno.h>

#include "hot.h"

/* From 512 ns on there are eight buckets to a power of two. Below, each bucket is 64 ns wide. */
static inline uint32_t bucket(uint64_t d)
{
	uint64_t u = d >> 6;
	uint32_t e, b;

	if (u < 8)
		return (uint32_t)u;
	e = 63 - (uint32_t)__builtin_clzll(u);
	b = 8 * (e - 2) + (uint32_t)(u >> (e - 3) & 7);
	return b < HIST_LEN ? b : HIST_LEN - 1;
}

/* 34 bits of mantissa and 6 of exponent; the turn around the ring; the time of the stop. */
static inline uint64_t ring_entry(uint64_t d, uint64_t n, uint64_t when)
{
	uint64_t e = 0;

	if (unlikely(d >> 34))
		e = 30 - (uint64_t)__builtin_clzll(d);
	return d >> e | e << 34 | (n >> 4 & 15) << 40 | (when >> 20) << 44;
}

/* The order matters: a reader, or the agent after a kill, takes the sum of the histogram as the count. */
static inline __attribute__((always_inline)) void count_good(bool own, struct seg_cell *c, uint64_t d,
							     uint64_t when)
{
	uint64_t n;

	while (unlikely(d > (n = load(&c->max))) && !replace_in(own, &c->max, n, d))
		;
	while (unlikely(d < (n = load(&c->min))) && !replace_in(own, &c->min, n, d))
		;
	add_in(own, &c->sum, d);
	add_in(own, &c->hist[bucket(d)], 1);
	n = load(&c->n);
	store(&c->ring[n % RING_LEN], ring_entry(d, n, when));
	add_in(own, &c->n, 1);
}

__attribute__((noinline)) static void count_bad(struct block *b, struct seg_cell *c, uint64_t d,
						int status)
{
	add_block(b, status == ARM_ABORT ? &c->aborted_ns : &c->failed_ns, d);
	add_block(b, status == ARM_ABORT ? &c->aborted : &c->failed, 1);
}

/* Does the rest for a transaction that was begun or stopped with data. */
__attribute__((noinline)) static void stop_with(struct process *p, struct block *b,
						struct cell *c, struct seg_slot *s,
						struct happened *h, arm_data_t *data, int size)
{
	struct given g;

	data_parse(&g, DATA_STOP, data, size);
	metrics_given(p, b, c, h->handle & ((1u << HANDLE_SLOT_BITS) - 1), &g);
	if (g.bad)
		add_block(b, &c->record->bad_data, 1);
	if (load(&s->pair))
		pair_count(p, load(&s->pair) - 1, h->duration, (int)h->status);
	if (load(&s->flags) & SLOT_TRACED)
		event_write(p, h, &g);
}

/* Remembers a free slot in the place where its owner looks first. */
static inline void slot_freed(struct process *p, struct block *b, uint32_t slot)
{
	uint32_t owner = load(&p->chunk_owner[slot / CHUNK_SLOTS]);

	if (likely(owner == b->number))
		store(&b->hint, slot);
	else
		store(&p->blocks[owner].foreign, slot);
}

static int unknown(struct process *p)
{
	add(&p->header->bad_handles, 1);
	return -1;
}

/* A stop of any kind. */
static int stop_in(struct block *b, int handle, int status, arm_data_t *data, int size)
{
	struct process *p = b->process;
	uint64_t state, now, d, start;
	struct cell *c;
	struct seg_slot *s;

	if (unlikely(handle <= 0))
		return handle < 0 ? -1 : 0;
	if (unlikely((unsigned int)status > ARM_FAILED))
		return -1;
	if (unlikely(!(s = slot_running(p, handle, &state))))
		return unknown(p);
	if (unlikely((uint32_t)(state >> 32) - 1 >= TRAN_MAX))
		return unknown(p); /* somebody else has written there */
	if (unlikely(!(c = cell_find(p, b, (uint32_t)(state >> 32))))) {
		add(&p->header->no_room, 1);
		return -1;
	}
	now = clock_now(b);
	start = load(&s->start);
	if (unlikely(!cas(&s->state, &state, state + (SLOT_STOPPING - SLOT_ACTIVE))))
		return unknown(p);
	d = likely(now > start) ? now - start : 0;
	if (likely(status == ARM_GOOD))
		count_good(b->mode == MODE_OWN, c->record, d, now);
	else
		count_bad(b, c->record, d, status);
	if (unlikely(load(&s->pair) | load(&s->flags) || data || size)) {
		struct happened h = { EVENT_STOP, (uint32_t)(state >> 32), (uint32_t)handle,
				      (uint32_t)status, now, d, NULL, 0 };

		stop_with(p, b, c, s, &h, data, size);
	}
	add_block(b, &b->record->ops, 1);
	store_release(&s->state, slot_word(SLOT_FREE, (uint32_t)handle >> HANDLE_SLOT_BITS, 0));
	slot_freed(p, b, (uint32_t)handle & ((1u << HANDLE_SLOT_BITS) - 1));
	return 0;
}

/* Does what the quick way below cannot do. */
__attribute__((noinline)) static int stop_any(int handle, int status, arm_data_t *data, int size)
{
	int err = errno, answer;
	struct block *b;

	if (rt_off())
		return 0;
	if (handle <= 0)
		return handle < 0 ? -1 : 0;
	b = block_get();
	answer = b ? stop_in(b, handle, status, data, size) : -1;
	errno = err;
	return answer;
}

static inline __attribute__((always_inline)) int stop_good(struct process *p, struct block *b,
							   struct seg_slot *s, struct cell *c,
							   int handle, uint64_t state, uint64_t now)
{
	uint64_t start = load(&s->start);

	if (unlikely(!cas(&s->state, &state, state + (SLOT_STOPPING - SLOT_ACTIVE))))
		return unknown(p);
	count_good(true, c->record, likely(now > start) ? now - start : 0, now);
	add_own(&b->record->ops, 1);
	store_release(&s->state, slot_word(SLOT_FREE, (uint32_t)handle >> HANDLE_SLOT_BITS, 0));
	slot_freed(p, b, (uint32_t)handle & ((1u << HANDLE_SLOT_BITS) - 1));
	return 0;
}

__attribute__((noinline)) static int stop_asking(struct process *p, struct block *b, struct seg_slot *s,
						 struct cell *c, int handle, uint64_t state)
{
	return stop_good(p, b, s, c, handle, state, clock_slow(b));
}

/* The quick way: a good transaction that was begun without data. */
int rtarm_stop(int handle, int status, arm_data_t *data, int size)
{
	struct block *b = rt_me;
	struct process *p = load(&rt_process);
	uint64_t state, now;
	struct cell *c;
	struct seg_slot *s;

	if (unlikely(b->own != p || handle <= 0 || status != ARM_GOOD || data || size))
		return stop_any(handle, status, data, size);
	if (unlikely(!(s = slot_running(p, handle, &state)) || load(&s->pair) || load(&s->flags) ||
		     !(c = cell_look(b, (uint32_t)(state >> 32)))))
		return stop_any(handle, ARM_GOOD, NULL, 0);
	if (unlikely(!clock_quick(b, &now)))
		return stop_asking(p, b, s, c, handle, state);
	return stop_good(p, b, s, c, handle, state, now);
}
