/* arm_update. */
#include <errno.h>

#include "hot.h"

static int update(struct local *l, int handle, arm_data_t *data, int size)
{
	struct process *p = l->process;
	struct happened h = { .kind = EVENT_UPDATE, .handle = (uint32_t)handle };
	struct given g;
	struct seg_cell *c;
	struct seg_slot *s;
	uint64_t state;

	if (!(s = slot_running(p, handle, &state))) {
		add(&p->header->bad_handles, 1);
		return -1;
	}
	h.tran = (uint32_t)(state >> 32);
	if (!(c = cell_find(p, l, h.tran))) {
		add(&p->header->no_room, 1);
		return -1;
	}
	h.time = clock_now(l);
	store(&s->update, h.time);
	data_parse(&g, DATA_UPDATE, data, size);
	metrics_given(p, l, c, h.handle & ((1u << HANDLE_SLOT_BITS) - 1), &g);
	if (g.bad)
		add_local(l, &c->bad_data, 1);
	if (load(&s->flags) & SLOT_TRACED)
		event_write(p, &h, &g);
	add_local(l, &c->updates, 1);
	add_local(l, &l->block->ops, 1);
	return 0;
}

int rtarm_update(int handle, arm_data_t *data, int size)
{
	int err = errno, answer;
	struct local *l;

	if (rt_off())
		return 0;
	if (handle <= 0)
		return handle < 0 ? -1 : 0;
	l = local_get();
	answer = l ? update(l, handle, data, size) : -1;
	errno = err;
	return answer;
}
