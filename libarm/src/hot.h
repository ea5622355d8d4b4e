/* What start and stop have in common, inline. */
#ifndef RT_HOT_H
#define RT_HOT_H

#include "internal.h"

enum { MULT_SHIFT = 28, HANDLE_SLOT_BITS = 17 };

#if (defined(__x86_64__) || defined(__i386__)) && !defined(RT_NO_TSC)
#define RT_TSC 1
#include <x86intrin.h>
#endif

/* CLOCK_MONOTONIC in nanoseconds, or near it. False: the kernel must be asked. */
static inline bool clock_quick(struct block *b, uint64_t *now)
{
#ifdef RT_TSC
	const struct clock *c = &b->clock;
	uint32_t seq = load(&c->seq);
	uint64_t span = load(&c->span), gone;

	if (unlikely(!span))
		return false;
	gone = __rdtsc() - load(&c->tsc);
	if (likely(gone < span)) {
		*now = load(&c->ns) + ((gone * load(&c->mult)) >> MULT_SHIFT);
		/* A signal handler may have changed it meanwhile. */
		return likely(load(&c->seq) == seq);
	}
#endif
	(void)b;
	(void)now;
	return false;
}

static inline uint64_t clock_now(struct block *b)
{
	uint64_t now;

	return likely(clock_quick(b, &now)) ? now : clock_slow(b);
}

/* The clock for a start, which looks now and then at what the agent asks to be traced. */
static inline uint64_t clock_start(struct process *p, struct block *b)
{
	uint64_t now = clock_now(b);

	if (likely(now < load(&p->switches_next)))
		return now;
	switches_read(p, now);
	return clock_now(b);
}

static inline bool tran_traced(struct process *p, uint32_t tran)
{
	return load(&p->traced[(tran - 1) / 32]) >> (tran - 1) % 32 & 1;
}

/* Adds to a word of a block: the thread's own, or one that other threads add to, too. */
static inline void add_in(bool own, seg_u64 *at, uint64_t n)
{
	if (likely(own))
		add_own(at, n);
	else
		add(at, n);
}

static inline bool replace_in(bool own, seg_u64 *at, uint64_t old, uint64_t now)
{
	return own ? cas_own(at, old, now) : cas(at, &old, now);
}

static inline void add_block(const struct block *b, seg_u64 *at, uint64_t n)
{
	add_in(b->mode == MODE_OWN, at, n);
}

static inline uint64_t slot_word(uint32_t state, uint32_t generation, uint32_t tran)
{
	return state | generation << SLOT_GEN_SHIFT | (uint64_t)tran << 32;
}

static inline struct seg_slot *slot_at(struct process *p, uint32_t slot)
{
	return &p->chunks[slot / CHUNK_SLOTS]->slots[slot % CHUNK_SLOTS];
}

/* Claims a slot, if it is free; returns its new generation, or 0. Only the writers of the
 * chunk's block claim in it. */
static inline uint32_t slot_claim(bool own, struct seg_slot *s, uint32_t tran)
{
	uint64_t old = load_acquire(&s->state), now;
	uint32_t gen;

	if ((old & SLOT_STATE_MASK) != SLOT_FREE)
		return 0;
	gen = (uint32_t)(old >> SLOT_GEN_SHIFT & SLOT_GEN_MAX) + 1;
	if (gen > SLOT_GEN_MAX)
		gen = 1;
	now = slot_word(SLOT_CLAIMED, gen, tran);
	return likely(replace_in(own, &s->state, old, now)) ? gen : 0;
}

/* The slot of a handle, if a transaction runs there; *state is its word. */
static inline struct seg_slot *slot_running(struct process *p, int handle, uint64_t *state)
{
	uint32_t slot = (uint32_t)handle & ((1u << HANDLE_SLOT_BITS) - 1);
	struct seg_slot *s;

	if (unlikely(!load_acquire(&p->chunks[slot / CHUNK_SLOTS])))
		return NULL;
	s = slot_at(p, slot);
	*state = load_acquire(&s->state);
	if (unlikely((uint32_t)*state != (uint32_t)slot_word(SLOT_ACTIVE, (uint32_t)handle >> HANDLE_SLOT_BITS, 0)))
		return NULL;
	return s;
}

/* A transaction's cell in the block, or NULL if none has been made yet. */
static inline struct seg_cell *cell_look(struct process *p, struct block *b, uint32_t tran)
{
	struct seg_cell *c = load(&b->cell);
	uint32_t page, at;

	if (likely(c->tran == tran))
		return c;
	page = load_acquire(&b->record->dir[(tran - 1) / PAGE_CELLS]);
	if (unlikely(!page))
		return NULL;
	at = load_acquire((uint32_t *)(p->base + (uint64_t)page * 64) + (tran - 1) % PAGE_CELLS);
	if (unlikely(!at))
		return NULL;
	c = (struct seg_cell *)(p->base + (uint64_t)at * 64);
	store(&b->cell, c);
	return c;
}

static inline struct seg_cell *cell_find(struct process *p, struct block *b, uint32_t tran)
{
	struct seg_cell *c = cell_look(p, b, tran);

	return likely(c != NULL) ? c : cell_make(p, b, tran);
}

/* A transaction is active as long as its application is that it was activated with. Epochs begin at
 * 1, so that no record is active which arm_getid has not returned. */
static inline bool tran_active(struct process *p, struct seg_tran *t)
{
	uint32_t app = load(&t->app) - 1;
	uint64_t use;

	if (unlikely(app >= APP_MAX))
		return false;
	use = load(&p->apps[app].use);
	return likely((uint32_t)use != 0 && (uint32_t)(use >> 32) == load(&t->epoch));
}

#endif
