/*
 * Memory of the reading half, which is given back piece by piece or all at once. Sizes
 * are powers of two. Like arena.c, it does not use malloc, so that SpmiExit may be
 * called in a signal handler that has interrupted malloc.
 */
#include <string.h>

#include "reader.h"

static unsigned class_of(size_t len)
{
	unsigned c = 4;

	while (c < POOL_CLASSES - 1 && ((size_t)1 << c) < len)
		c++;
	return c;
}

void *pool_alloc(struct pool *p, size_t len)
{
	unsigned c = class_of(len);
	void *at = p->free[c];

	if (at) {
		memcpy(&p->free[c], at, sizeof(void *));
		memset(at, 0, len);
		return at;
	}
	at = len <= (size_t)1 << 30 ? arena_alloc(&p->arena, (size_t)1 << c) : NULL;
	if (!at)
		spmi_fail(SiCallocFailed, "out of memory");
	return at;
}

void pool_free(struct pool *p, void *at, size_t len)
{
	unsigned c = class_of(len);

	if (!at)
		return;
	memcpy(at, &p->free[c], sizeof(void *));
	p->free[c] = at;
}

char *pool_text(struct pool *p, const char *text, size_t len)
{
	char *to = pool_alloc(p, len + 1);

	if (to)
		memcpy(to, text, len);
	return to;
}
