/*
 * Updates of several values that readers see as one change. The SPMI's guide has no such
 * calls.
 *
 * Each context has a word that is odd while its values change. Readers look at it before
 * and after they read. A head before each data area says where the words are. So these
 * functions need neither the lock nor the library's tables, and they do not touch
 * SpmiErrno. The program can overwrite the head, so the functions check it.
 */
#include "barrier.h"
#include "internal.h"

#define EXPORT __attribute__((visibility("default")))

/* Writes the head of a data area: where the words of its contexts lie, one for each record. */
void update_head(char *base, uint64_t data_off, uint64_t word_off, uint32_t words)
{
	struct area_head *h = (struct area_head *)(base + data_off) - 1;

	h->to_word = (int64_t)(word_off - data_off);
	h->words = words;
}

/* The words of a data area, APART from each other; NULL if this is not a data area. */
enum { APART = sizeof(struct seg_context) / sizeof(uint32_t) };

static uint32_t *words_of(char *area, uint32_t *words)
{
	uint64_t at, word, end;
	char *base = segment_range(&end);
	const struct area_head *h;

	if (!base || (uintptr_t)area < (uintptr_t)base)
		return NULL;
	at = (uint64_t)((uintptr_t)area - (uintptr_t)base);
	if (at % 8 || at < sizeof(*h) || at >= end)
		return NULL;
	h = (const struct area_head *)area - 1;
	*words = __atomic_load_n(&h->words, __ATOMIC_RELAXED);
	word = at + (uint64_t)__atomic_load_n(&h->to_word, __ATOMIC_RELAXED);
	if (*words == 0 || word % 4 || word >= end || *words > (end - word) / sizeof(struct seg_context))
		return NULL;
	return (uint32_t *)(base + word);
}

/* Readers do not look at the words before the first update. */
static void say_used(void)
{
	uint64_t end;
	struct seg_header *h = (struct seg_header *)segment_range(&end);

	if (h && !__atomic_load_n(&h->updates, __ATOMIC_RELAXED))
		store_u32_first(&h->updates, 1);
}

static int update_begin(char *Area)
{
	uint32_t words, i, old;
	uint32_t *w = words_of(Area, &words);

	if (!w)
		return SiNotFound;
	say_used();
	old = __atomic_load_n(w, __ATOMIC_RELAXED);
	if (old % 2 || !__atomic_compare_exchange_n(w, &old, old + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return SiInstBusy;
	for (i = 1; i < words; i++)
		__atomic_fetch_add(&w[i * APART], 1, __ATOMIC_RELAXED);
	order_later_stores();
	return SiSuccess;
}

/* Changes the first word last, because another update may begin once it is even. */
static int update_end(char *Area)
{
	uint32_t words, i;
	uint32_t *w = words_of(Area, &words);

	if (!w)
		return SiNotFound;
	if (__atomic_load_n(w, __ATOMIC_RELAXED) % 2 == 0)
		return SiBadArgument;
	for (i = words; i-- > 0;)
		__atomic_fetch_add(&w[i * APART], 1, __ATOMIC_RELEASE);
	return SiSuccess;
}

/*
 * Prevents a segment without a file from getting one during this call. If the kernel cannot
 * stop the threads (see under.c of libbase), a file that comes during the call could lose
 * the end of an update.
 */
static int alone(int (*update)(char *), char *area)
{
	struct entry_state st;
	bool locked = spmi_enter_update(&st);
	int err = update(area);

	if (locked)
		spmi_leave(&st);
	else
		spmi_leave_unlocked(&st);
	return err;
}

EXPORT int SpmiDdsUpdateBegin(char *Area)
{
	return segment_is_own() ? alone(update_begin, Area) : update_begin(Area);
}

EXPORT int SpmiDdsUpdateEnd(char *Area)
{
	return segment_is_own() ? alone(update_end, Area) : update_end(Area);
}
