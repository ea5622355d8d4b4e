/* Events of traced transactions. They stand in a ring, from which the agent reads the new ones. */
#include <string.h>

#include "internal.h"

static struct seg_event *events_of(struct process *p)
{
	return room_once(p, (void **)&p->events, &p->header->trace_off, TRACE_LEN * sizeof(struct seg_event));
}

/* Stores bytes that a reader may be reading. The reader sees by seq that they have changed. */
static void put(void *to, uint32_t room, const void *from, uint32_t len)
{
	uint8_t *out = to;
	const uint8_t *in = from;
	uint32_t i;

	for (i = 0; i < room; i++)
		store(&out[i], i < len ? in[i] : 0);
}

static void put_values(struct seg_event *e, const struct given *g)
{
	uint32_t i;

	for (i = 0; i < METRICS; i++)
		put(e->metrics + 8 * i, 8, g->metrics + 8 * i, g->which & 0x80 >> i ? 8 : 0);
	put(e->string, sizeof(e->string), g->string, g->which & ARM_STRING_GIVEN ? sizeof(e->string) : 0);
	put(e->parent, sizeof(e->parent), g->parent, g->parent_len);
}

static void fill(struct seg_event *e, const struct happened *h, const struct given *g)
{
	store(&e->time, h->time);
	store(&e->kind, h->kind);
	store(&e->tran, h->tran);
	store(&e->handle, h->handle);
	store(&e->status, h->status);
	store(&e->flags, g->flags | (uint32_t)g->which << 8);
	store(&e->text_len, g->text_len);
	store(&e->duration, h->duration);
	put_values(e, g);
	put(e->own, sizeof(e->own), h->own, h->own_len);
	put(e->text, g->text_len, g->text, g->text_len);
}

/* Drops the event if its place is being written. Either the ring has come round meanwhile, or this is a
 * signal handler and its thread is writing there. */
void event_write(struct process *p, const struct happened *h, const struct given *g)
{
	struct seg_event *e = events_of(p);
	uint64_t i, seq;

	if (!e)
		return;
	i = __atomic_fetch_add(&p->header->trace_next, 1, __ATOMIC_RELAXED);
	e += i % TRACE_LEN;
	seq = load(&e->seq);
	if ((seq & 1) || seq > 2 * i || !cas(&e->seq, &seq, 2 * i + 1))
		return;
	store_barrier();
	fill(e, h, g);
	store_release(&e->seq, 2 * i + 2);
}
