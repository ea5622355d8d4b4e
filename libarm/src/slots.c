/*
 * Finds a free slot if the one that was freed last is not free. The search goes on where the
 * last one ended, through a few chunks. After these a new chunk costs less than a longer
 * search.
 */
#include "hot.h"

enum { CHUNKS_TO_TRY = 4 };

/* How many numbers of chunks this process and its ancestors have used. A child's numbers begin
 * after these, so that it knows none of its parent's handles. */
uint32_t rt_chunks_used;

static uint32_t search_chunk(struct process *p, struct block *b, uint32_t chunk, uint32_t from,
			     uint32_t tran)
{
	struct seg_chunk *c = p->chunks[chunk];
	uint32_t i;

	for (i = from; i < CHUNK_SLOTS; i++)
		if (slot_claim(b->mode == MODE_OWN, &c->slots[i], tran)) {
			store(&b->at_chunk, chunk + 1);
			store(&b->at_slot, i + 1);
			store(&b->hint, chunk * CHUNK_SLOTS + i);
			return chunk * CHUNK_SLOTS + i;
		}
	return NONE;
}

/* Goes round the block's chunks, once at most. */
static uint32_t search_round(struct process *p, struct block *b, uint32_t tran, uint32_t chunks)
{
	uint32_t at = load(&b->at_chunk), slot, n;

	if (!load(&b->first))
		return NONE;
	if (!at)
		at = load(&b->first);
	if ((slot = search_chunk(p, b, at - 1, load(&b->at_slot), tran)) != NONE)
		return slot;
	for (n = 0; n < chunks; n++) {
		at = load(&p->chunk_after[at - 1]);
		if (!at)
			at = load(&b->first);
		if ((slot = search_chunk(p, b, at - 1, 0, tran)) != NONE)
			return slot;
	}
	store(&b->at_chunk, at);
	store(&b->at_slot, 0);
	return NONE;
}

/* Takes the next number below a limit. */
static uint32_t take_number(uint32_t *next, uint32_t limit)
{
	uint32_t n = load(next);

	while (n < limit)
		if (cas(next, &n, n + 1))
			return n;
	return NONE;
}

/* Returns a number that no chunk has. Numbers below the first one of this process come
 * last. */
static uint32_t chunk_number(struct process *p)
{
	uint32_t n = take_number(&p->chunk_next, CHUNK_MAX);

	show32(&p->header->chunk_next, &p->chunk_next);
	if (n == NONE)
		n = take_number(&p->chunk_low, p->chunk_first);
	if (n != NONE && n >= load(&rt_chunks_used))
		store(&rt_chunks_used, n + 1);
	return n;
}

static bool chunk_make(struct process *p, struct block *b)
{
	uint64_t at;
	uint32_t n, first;
	struct seg_chunk *c;

	if (load(&p->chunks_full) || !(at = room_take(p, sizeof(*c))))
		return false;
	if ((n = chunk_number(p)) == NONE) {
		store(&p->chunks_full, 1);
		return false;
	}
	c = (struct seg_chunk *)(p->base + at);
	c->block = b->number;
	store(&p->chunk_owner[n], (uint16_t)b->number);
	store_release(&p->chunks[n], c);
	store_release(&p->chunk_words[n], (uint32_t)(at / 64));
	first = load(&b->first);
	do
		store(&p->chunk_after[n], (uint16_t)first);
	while (!cas(&b->first, &first, n + 1));
	store(&b->at_chunk, n + 1);
	store(&b->at_slot, 0);
	return true;
}

uint32_t slot_search(struct process *p, struct block *b, uint32_t tran)
{
	uint32_t slot = __atomic_exchange_n(&b->foreign, NONE, __ATOMIC_ACQUIRE);

	if (slot != NONE && slot_claim(b->mode == MODE_OWN, slot_at(p, slot), tran)) {
		store(&b->hint, slot);
		store(&b->exhausted, 0);
		return slot;
	}
	if (load(&b->exhausted) && slot == NONE && load(&b->hint) == NONE)
		return NONE;
	slot = search_round(p, b, tran, CHUNKS_TO_TRY);
	if (slot == NONE && chunk_make(p, b))
		slot = search_round(p, b, tran, CHUNKS_TO_TRY);
	if (slot == NONE)
		slot = search_round(p, b, tran, CHUNK_MAX);
	if (slot == NONE)
		store(&b->hint, NONE);
	store(&b->exhausted, slot == NONE);
	return slot;
}
