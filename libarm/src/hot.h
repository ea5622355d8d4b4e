/* What start and stop have in common, inline. */
#ifndef RT_HOT_H
#define RT_HOT_H

#include "internal.h"

enum { MULT_SHIFT = 28, HANDLE_SLOT_BITS = 17 };

#if (defined(__x86_64__) || defined(__i386__)) && !defined(RT_NO_TSC)
#define RT_TSC 1
#include <x86intrin.h>
#endif

/* Computes CLOCK_MONOTONIC in nanoseconds from the counter. False: the kernel must be asked. */
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

/* The clock for a start. About once a second the start also looks at what the agent asks to be traced. */
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

/* Adds to a word of a block. own says that only this thread adds to it. */
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

/* Claims a slot if it is free. Returns its new generation, or 0. Only the writers of a chunk's block
 * claim slots in the chunk. */
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
static inline struct cell *cell_look(struct block *b, uint32_t tran)
{
	struct cell *c = load(&b->cell);
	struct page *page;

	if (likely(c->tran == tran))
		return c;
	if (unlikely(tran - 1 >= TRAN_MAX)) /* the number may be from the file */
		return NULL;
	page = load_acquire(&b->pages[(tran - 1) / PAGE_CELLS]);
	if (unlikely(!page))
		return NULL;
	c = &page->cells[(tran - 1) % PAGE_CELLS];
	if (unlikely(!load_acquire(&c->record)))
		return NULL;
	store(&b->cell, c);
	return c;
}

static inline struct cell *cell_find(struct process *p, struct block *b, uint32_t tran)
{
	struct cell *c = cell_look(b, tran);

	return likely(c != NULL) ? c : cell_make(p, b, tran);
}

/* A transaction is active while its application is in use and in the epoch in which the transaction was
 * activated. Epochs begin at 1, so a record that arm_getid has never returned is not active. */
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
