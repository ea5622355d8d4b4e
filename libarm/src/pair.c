/* Pairs of parents and children: a transaction, and what its parent's correlator tells of the parent. */
#include <string.h>

#include "correlator.h"
#include "internal.h"

/* Returns the table. NULL: there is none, or no room for one. */
static struct seg_pair *pairs_of(struct process *p, bool make)
{
	if (!make)
		return load_acquire(&p->pairs);
	return room_once(p, (void **)&p->pairs, &p->header->pairs_off, PAIRS_LEN * sizeof(struct seg_pair));
}

/* A trace context that stands in place of an address differs each time and does not tell the class, so the
 * key leaves it out. */
static void fill_key(struct seg_pair *k, uint32_t tran, const struct correlator *c)
{
	memset(k, 0, sizeof(*k));
	k->tran = tran;
	k->vendor = c->vendor;
	k->version = c->version;
	k->instance = c->instance;
	k->addr_format = c->addr_format;
	k->class = c->class;
	if (correlator_is_w3c(c))
		return;
	k->addr_len = c->addr_len < sizeof(k->address) ? c->addr_len : (uint16_t)sizeof(k->address);
	memcpy(k->address, c->address, k->addr_len);
}

enum { KEY_AT = offsetof(struct seg_pair, vendor), KEY_LEN = offsetof(struct seg_pair, spare2) - KEY_AT };

static uint64_t hash(const struct seg_pair *k)
{
	const uint8_t *b = (const uint8_t *)k + KEY_AT;
	uint64_t h = UINT64_C(14695981039346656037) ^ k->tran;
	uint32_t i;

	h *= UINT64_C(1099511628211);
	for (i = 0; i < KEY_LEN; i++)
		h = (h ^ b[i]) * UINT64_C(1099511628211);
	return h;
}

static bool same(const struct seg_pair *a, const struct seg_pair *k)
{
	return a->hash == k->hash && a->tran == k->tran &&
	       memcmp((const uint8_t *)a + KEY_AT, (const uint8_t *)k + KEY_AT, KEY_LEN) == 0;
}

static void publish(struct seg_pair *to, const struct seg_pair *k)
{
	to->tran = k->tran;
	to->hash = k->hash;
	memcpy((uint8_t *)to + KEY_AT, (const uint8_t *)k + KEY_AT, KEY_LEN);
	store_release(&to->state, RECORD_PUBLISHED);
}

/* Returns the number of a pair, plus 1. 0: there is no parent, or no room. Two threads that add the same
 * pair at the same time may add it twice. The reader adds the two up. */
uint32_t pair_find(struct process *p, uint32_t tran, const struct given *g)
{
	struct correlator c;
	struct seg_pair k, *pairs;
	uint32_t i, n, state;

	if (!correlator_read(&c, g->parent, g->parent_len) || !c.class)
		return 0;
	fill_key(&k, tran, &c);
	k.hash = hash(&k);
	pairs = pairs_of(p, true);
	for (i = 0; pairs && i < PAIRS_LEN; i++) {
		n = (uint32_t)((k.hash + i) % PAIRS_LEN);
		state = load_acquire(&pairs[n].state);
		if (state == RECORD_PUBLISHED && same(&pairs[n], &k))
			return n + 1;
		if (state == RECORD_EMPTY && cas(&pairs[n].state, &state, RECORD_BUILDING)) {
			publish(&pairs[n], &k);
			return n + 1;
		}
	}
	add(&p->header->pairs_lost, 1);
	return 0;
}

void pair_count(struct process *p, uint32_t pair, uint64_t duration, int status)
{
	struct seg_pair *pairs = pairs_of(p, false);

	if (!pairs || pair >= PAIRS_LEN)
		return;
	if (status == ARM_GOOD) {
		add(&pairs[pair].sum, duration);
		add(&pairs[pair].count, 1);
	} else {
		add(status == ARM_ABORT ? &pairs[pair].aborted : &pairs[pair].failed, 1);
	}
}
