/* arm_start. */
#include <errno.h>

#include "correlator.h"
#include "hot.h"

static int no_room(struct process *p)
{
	add(&p->header->no_room, 1);
	return -1;
}

static inline void slot_begin(struct seg_slot *s, uint32_t gen, uint32_t tran, uint64_t now)
{
	store(&s->start, now);
	store_release(&s->state, slot_word(SLOT_ACTIVE, gen, tran));
}

static inline uint32_t slot_take(struct process *p, struct block *b, uint32_t tran, uint32_t *gen)
{
	uint32_t slot = load(&b->hint);

	if (likely(slot != NONE) && likely((*gen = slot_claim(b->mode == MODE_OWN, slot_at(p, slot), tran))))
		return slot;
	slot = slot_search(p, b, tran);
	if (slot != NONE)
		*gen = load(&slot_at(p, slot)->state) >> SLOT_GEN_SHIFT & SLOT_GEN_MAX;
	return slot;
}

/* Starts a transaction that is given data, or one that is traced. */
__attribute__((noinline)) static int start_with(struct process *p, struct block *b,
						struct cell *c, uint32_t tran,
						arm_data_t *data, int size)
{
	struct given g;
	struct happened h = { .kind = EVENT_START, .tran = tran };
	uint8_t own[CORRELATOR_MAX], flags;
	uint32_t gen, slot, traced;
	struct seg_slot *s;

	data_parse(&g, DATA_START, data, size);
	if ((slot = slot_take(p, b, tran, &gen)) == NONE)
		return no_room(p);
	h.handle = gen << HANDLE_SLOT_BITS | slot;
	s = slot_at(p, slot);
	traced = correlator_flags(&g, &flags);
	if (tran_traced(p, tran)) {
		flags |= CORRELATOR_AGENT_TRACE;
		traced = 1;
	}
	store(&s->flags, traced ? SLOT_TRACED : 0);
	store(&s->pair, pair_find(p, tran, &g));
	store(&s->update, 0);
	metrics_given(p, b, c, slot, &g);
	if (traced || g.own)
		h.own_len = correlator_make(p, &g, flags, h.handle, tran, own);
	h.own = own;
	if (g.bad)
		add_block(b, &c->record->bad_data, 1);
	if (g.bad || g.which)
		add_block(b, &b->record->ops, 1);
	h.time = clock_start(p, b);
	slot_begin(s, gen, tran, h.time);
	if (traced)
		event_write(p, &h, &g);
	data_answer(&g, own, h.own_len);
	return (int)h.handle;
}

/* A start of any kind. */
static int start_in(struct block *b, int id, arm_data_t *data, int size)
{
	struct process *p = b->process;
	uint32_t tran = (uint32_t)id, gen, slot;
	struct seg_slot *s;
	struct cell *c;
	struct seg_tran *t;

	if (unlikely(id <= 0))
		return id < 0 ? -1 : 0;
	if (unlikely(tran > load(&p->trans_known)) && !tran_refresh(p, tran))
		return -1;
	t = &p->trans[tran - 1];
	if (unlikely(!tran_active(p, t)))
		return -1;
	if (unlikely(!(c = cell_find(p, b, tran))))
		return no_room(p);
	if (unlikely(data || size || tran_traced(p, tran)))
		return start_with(p, b, c, tran, data, size);
	if (unlikely((slot = slot_take(p, b, tran, &gen)) == NONE))
		return no_room(p);
	s = slot_at(p, slot);
	store(&s->pair, 0);
	store(&s->flags, 0);
	slot_begin(s, gen, tran, clock_start(p, b));
	return (int)(gen << HANDLE_SLOT_BITS | slot);
}

/* Does what the quick way below cannot do. */
__attribute__((noinline)) static int start_any(int id, arm_data_t *data, int size)
{
	int err = errno, handle;
	struct block *b;

	if (rt_off())
		return 0;
	if (id <= 0)
		return id < 0 ? -1 : 0;
	b = block_attached();
	handle = b ? start_in(b, id, data, size) : -1;
	errno = err;
	return handle;
}

__attribute__((noinline)) static int start_claimed(struct process *p, struct block *b, struct seg_slot *s,
						   uint32_t gen, uint32_t tran, int handle)
{
	slot_begin(s, gen, tran, clock_start(p, b));
	return handle;
}

/* The quick way: this thread has begun a transaction of this kind before, and the slot that it freed last is
 * still free. */
int rtarm_start(int id, arm_data_t *data, int size)
{
	struct block *b = rt_me;
	struct process *p = load(&rt_process);
	uint32_t tran = (uint32_t)id, slot, gen;
	struct seg_slot *s;
	struct seg_tran *t;
	uint64_t now;

	if (unlikely(b->own != p || data || size || tran - 1 >= load(&p->trans_known)))
		return start_any(id, data, size);
	t = &p->trans[tran - 1];
	slot = load(&b->hint);
	if (unlikely(!tran_active(p, t) || tran_traced(p, tran) || slot == NONE || !cell_look(b, tran)))
		return start_any(id, NULL, 0);
	s = slot_at(p, slot);
	if (unlikely(!(gen = slot_claim(true, s, tran))))
		return start_any(id, NULL, 0);
	store(&s->pair, 0);
	store(&s->flags, 0);
	if (unlikely(!clock_quick(b, &now) || now >= load(&p->switches_next)))
		return start_claimed(p, b, s, gen, tran, (int)(gen << HANDLE_SLOT_BITS | slot));
	slot_begin(s, gen, tran, now);
	return (int)(gen << HANDLE_SLOT_BITS | slot);
}
