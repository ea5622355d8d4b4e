/*
 * Cross-references, for all threads and signal handlers. Words are changed by compare-and-swap. A
 * reference stands in one of the few lines of cache that its identifier hashes to, in the first
 * word that was free. To remove it is to store 0 there.
 */
#include "lower.h"

enum { WINDOW = 32 };

static seg_u64 *word_at(const struct xref *x, int lower, uint32_t i)
{
	uint32_t hash = (uint32_t)lower * 2654435769u >> (32 - x->bits);

	return &x->words[((hash & ~7u) + i) & ((1u << x->bits) - 1)];
}

static uint64_t word_of(int lower, int own)
{
	return (uint64_t)(uint32_t)lower << 32 | (uint32_t)own;
}

static seg_u64 *xref_look(const struct xref *x, int lower, uint64_t *word)
{
	uint32_t i;

	for (i = 0; lower > 0 && i < WINDOW; i++) {
		seg_u64 *at = word_at(x, lower, i);

		*word = load_acquire(at);
		if (*word >> 32 == (uint32_t)lower)
			return at;
	}
	return NULL;
}

/* Returns the word of a lower identifier, or a free one. NULL: there is no room. Until the word is
 * filled, it refers to -1, for which every call answers below 0. */
seg_u64 *xref_claim(struct xref *x, int lower)
{
	uint64_t word;
	seg_u64 *at = xref_look(x, lower, &word);
	uint32_t i;

	for (i = 0; !at && i < WINDOW; i++) {
		seg_u64 *to = word_at(x, lower, i);

		word = 0;
		if (!load(to) && cas(to, &word, word_of(lower, -1)))
			at = to;
	}
	return at;
}

void xref_fill(seg_u64 *word, int lower, int own)
{
	store_release(word, word_of(lower, own));
}

/* Returns our identifier. Without a reference it returns the identifier that was passed in. */
int xref_find(const struct xref *x, int lower)
{
	uint64_t word;

	return xref_look(x, lower, &word) ? (int)(uint32_t)word : lower;
}

/* As xref_find, but removes the reference. If two threads remove it, one of them gets it. */
int xref_take(struct xref *x, int lower)
{
	uint64_t word;
	seg_u64 *at;

	while ((at = xref_look(x, lower, &word)))
		if (cas(at, &word, 0))
			return (int)(uint32_t)word;
	return lower;
}
