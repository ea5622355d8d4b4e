/* Cells: made when a block first meets a transaction, found in hot.h. */
#include "internal.h"

/* In place of the latest cell before there is one: of no transaction. */
struct seg_cell rt_no_cell;

/* Puts an offset into a word that is 0, unless someone else did; returns what is there. */
static uint32_t publish(uint32_t *word, uint64_t off)
{
	uint32_t have = 0, mine = (uint32_t)(off / 64);

	return cas(word, &have, mine) ? mine : have;
}

static uint32_t page_make(struct process *p, uint32_t *word)
{
	uint64_t at = room_take(p, PAGE_CELLS * sizeof(uint32_t));

	return at ? publish(word, at) : 0;
}

/* NULL: no room. */
struct seg_cell *cell_make(struct process *p, struct block *b, uint32_t tran)
{
	uint32_t *word = &b->record->dir[(tran - 1) / PAGE_CELLS], at = load_acquire(word);
	struct seg_cell *c;
	uint64_t room;

	if (tran > TRAN_MAX || (!at && !(at = page_make(p, word))))
		return NULL;
	word = (uint32_t *)(p->base + (uint64_t)at * 64) + (tran - 1) % PAGE_CELLS;
	at = load_acquire(word);
	if (!at) {
		if (!(room = room_take(p, sizeof(*c))))
			return NULL;
		c = (struct seg_cell *)(p->base + room);
		c->tran = tran;
		c->min = UINT64_MAX;
		at = publish(word, room);
	}
	return (struct seg_cell *)(p->base + (uint64_t)at * 64);
}
