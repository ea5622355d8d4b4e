/*
 * Linear hashing: the table grows by one bucket with each entry. So an insertion into a
 * large table takes no longer than one into a small table.
 */
#include <string.h>

#include "internal.h"

enum { FIRST = 64 };

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return h ^ h >> 32;
}

static uint64_t hash_of(const struct table *t, const struct key *k)
{
	uint64_t h = t->seed ^ mix(k->number + (uint64_t)k->kind * 0x9e3779b97f4a7c15u);
	size_t i;

	for (i = 0; i < k->len; i++)
		h = (h ^ (unsigned char)k->text[i]) * 1099511628211u;
	return mix(h);
}

static bool same(const struct key *a, const struct key *b)
{
	return a->kind == b->kind && a->number == b->number && a->len == b->len &&
	       (a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
}

/*
 * Array d holds the buckets from FIRST << (d-1) up to FIRST << d. Array 0 holds those
 * before.
 */
static unsigned dir_of(uint32_t bucket)
{
	return bucket < FIRST ? 0 : 32 - (unsigned)__builtin_clz(bucket / FIRST);
}

static struct entry **bucket_at(const struct table *t, uint32_t bucket)
{
	unsigned d = dir_of(bucket);

	return &t->dir[d][d ? bucket - ((uint32_t)FIRST << (d - 1)) : bucket];
}

static uint32_t power_below(uint32_t n)
{
	return 1u << (31 - __builtin_clz(n));
}

static struct entry **bucket_of(const struct table *t, uint64_t hash)
{
	uint32_t low = power_below(t->buckets);
	uint32_t b = (uint32_t)hash & (2 * low - 1);

	return bucket_at(t, b < t->buckets ? b : b & (low - 1));
}

int table_init(struct table *t, struct arena *a, uint64_t seed)
{
	memset(t, 0, sizeof(*t));
	t->arena = a;
	t->seed = seed;
	t->dir[0] = arena_alloc(a, FIRST * sizeof(struct entry *));
	t->buckets = FIRST;
	return t->dir[0] ? 0 : spmi_fail(SiCallocFailed, "out of memory");
}

struct entry *table_find(const struct table *t, const struct key *k)
{
	uint64_t hash = hash_of(t, k);
	struct entry *e;

	for (e = *bucket_of(t, hash); e; e = e->next)
		if (e->hash == hash && same(&e->key, k))
			return e;
	return NULL;
}

/* If there is no memory for another bucket, the chains grow longer. That is not an error. */
static void grow(struct table *t)
{
	uint32_t new = t->buckets, low = power_below(new);
	struct entry **from, *e, *next;
	unsigned d = dir_of(new);

	if (d >= TABLE_DIRS)
		return;
	if (!t->dir[d])
		t->dir[d] = arena_alloc(t->arena, ((size_t)FIRST << (d - 1)) * sizeof(struct entry *));
	if (!t->dir[d])
		return;
	from = bucket_at(t, new & (low - 1));
	e = *from;
	*from = NULL;
	t->buckets++;
	for (; e; e = next) {
		struct entry **to = bucket_of(t, e->hash);

		next = e->next;
		e->next = *to;
		*to = e;
	}
}

void table_add(struct table *t, struct entry *e, void *owner)
{
	struct entry **b;

	if (t->entries++ >= t->buckets)
		grow(t);
	e->hash = hash_of(t, &e->key);
	e->owner = owner;
	b = bucket_of(t, e->hash);
	e->next = *b;
	*b = e;
}

void table_remove(struct table *t, struct entry *e)
{
	struct entry **at;

	for (at = bucket_of(t, e->hash); *at; at = &(*at)->next)
		if (*at == e) {
			*at = e->next;
			t->entries--;
			return;
		}
}
