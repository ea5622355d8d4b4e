/* Memory directly from the kernel. All of this is safe in a signal handler. */
#include <sys/mman.h>

#include "internal.h"

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
};

enum { CHUNK = 64 << 10, ALIGN = 16 };

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static struct arena_chunk *new_chunk(struct arena *a, size_t len)
{
	size_t size = round_up(sizeof(struct arena_chunk), ALIGN) + len;
	struct arena_chunk *c;

	size = size < CHUNK ? CHUNK : round_up(size, 4096);
	c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c == MAP_FAILED)
		return NULL;
	c->size = size;
	c->used = round_up(sizeof(*c), ALIGN);
	c->next = a->chunks;
	a->chunks = c;
	return c;
}

void *arena_alloc(struct arena *a, size_t len)
{
	struct arena_chunk *c = a->chunks;
	char *p;

	if (len > SIZE_MAX / 2)
		return NULL;
	len = round_up(len ? len : 1, ALIGN);
	if (!c || c->size - c->used < len)
		c = new_chunk(a, len);
	if (!c)
		return NULL;
	p = (char *)c + c->used;
	c->used += len;
	return p;
}

void arena_free(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *next = a->chunks->next;

		munmap(a->chunks, a->chunks->size);
		a->chunks = next;
	}
}
