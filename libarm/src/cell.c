/* Cells. A block makes one when it first meets a transaction; hot.h finds it from then on. */
#include <sys/mman.h>

#include "internal.h"

/* Stands for a block's latest cell before there is one. It counts for no transaction. */
static struct seg_cell nowhere;
struct cell rt_no_cell = { &nowhere, NULL, 0 };

static void *private_memory(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Makes the block's directory. */
bool cell_directory(struct block *b)
{
	b->pages = private_memory(DIR_PAGES * sizeof(*b->pages));
	return b->pages != NULL;
}

/* Makes a page of the directory, in memory and in the file. If several threads do so at once, one
 * of them succeeds. The others give their memory back, but not their room in the file. */
static struct page *page_make(struct process *p, struct block *b, uint32_t i)
{
	uint64_t at = room_take(p, PAGE_CELLS * sizeof(uint32_t));
	struct page *page = at ? private_memory(sizeof(*page)) : NULL, *have = NULL;

	if (!page)
		return NULL;
	page->words = (uint32_t *)(p->base + at);
	if (!cas(&b->pages[i], &have, page)) {
		munmap(page, sizeof(*page));
		return have;
	}
	store_release(&b->record->dir[i], (uint32_t)(at / 64));
	return page;
}

static bool record_make(struct process *p, struct cell *c, uint32_t *word)
{
	uint64_t at = room_take(p, sizeof(struct seg_cell));
	struct seg_cell *record = (struct seg_cell *)(p->base + at), *have = NULL;

	if (!at)
		return false;
	record->tran = load(&c->tran);
	record->min = UINT64_MAX;
	if (cas(&c->record, &have, record))
		store_release(word, (uint32_t)(at / 64));
	return true;
}

/* NULL: there is no room, or no such transaction. */
struct cell *cell_make(struct process *p, struct block *b, uint32_t tran)
{
	uint32_t i = (tran - 1) / PAGE_CELLS, k = (tran - 1) % PAGE_CELLS;
	struct page *page;
	struct cell *c;

	if (tran - 1 >= TRAN_MAX || (!(page = load_acquire(&b->pages[i])) && !(page = page_make(p, b, i))))
		return NULL;
	c = &page->cells[k];
	store(&c->tran, tran);
	if (!load_acquire(&c->record) && !record_make(p, c, &page->words[k]))
		return NULL;
	return c;
}
