/* arm_update. */
#include <errno.h>

#include "hot.h"

static int update(struct block *b, int handle, arm_data_t *data, int size)
{
	struct process *p = b->process;
	struct happened h = { .kind = EVENT_UPDATE, .handle = (uint32_t)handle };
	struct given g;
	struct cell *c;
	struct seg_slot *s;
	uint64_t state;

	if (!(s = slot_running(p, handle, &state)) || (uint32_t)(state >> 32) - 1 >= TRAN_MAX) {
		add(&p->header->bad_handles, 1);
		return -1;
	}
	h.tran = (uint32_t)(state >> 32);
	if (!(c = cell_find(p, b, h.tran))) {
		add(&p->header->no_room, 1);
		return -1;
	}
	h.time = clock_now(b);
	store(&s->update, h.time);
	data_parse(&g, DATA_UPDATE, data, size);
	metrics_given(p, b, c, h.handle & ((1u << HANDLE_SLOT_BITS) - 1), &g);
	if (g.bad)
		add_block(b, &c->record->bad_data, 1);
	if (load(&s->flags) & SLOT_TRACED)
		event_write(p, &h, &g);
	add_block(b, &c->record->updates, 1);
	add_block(b, &b->record->ops, 1);
	return 0;
}

int rtarm_update(int handle, arm_data_t *data, int size)
{
	int err = errno, answer;
	struct block *b;

	if (rt_off())
		return 0;
	if (handle <= 0)
		return handle < 0 ? -1 : 0;
	b = block_get();
	answer = b ? update(b, handle, data, size) : -1;
	errno = err;
	return answer;
}
