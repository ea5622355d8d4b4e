/*
 * A supplier that the program starts before there is a directory for segments. It has
 * memory of its own from the first call, which a thread of the library makes a segment when
 * the directory is there, at the same addresses and whatever the program is doing: programs
 * only store, and may never call the library again.
 */
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "state.h"

static struct late late = LATE_INIT;

/* Nobody could be asked for the parents of these contexts when they were made. */
static int check_parents(struct supplier *s)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < s->fixed; i++)
		err = context_parent(s, s->contexts[i].path, strlen(s->contexts[i].path));
	for (i = 0; !err && i < s->slots_count; i++) {
		const struct seg_slot *slot = segment_slot_at(&s->segment, i);

		if (slot->active)
			err = context_parent(s, slot->path, strlen(slot->path));
	}
	return err;
}

/* The process may have become another user since it made the segment. */
static int make_file(struct supplier *s)
{
	s->segment.header->uid = geteuid();
	return segment_to_file(&s->segment, &s->place);
}

static int publish(struct supplier *s)
{
	int err;

	if ((err = places_open(&s->place)) ||
	    (err = check_parents(s)) ||
	    (err = tables_claim(s)) ||
	    (err = make_file(s)) ||
	    (err = segment_publish(&s->segment, &s->place))) {
		segment_remove(&s->place);
		places_close(&s->place);
	}
	s->published = !err;
	return err;
}

/* Whether nothing is left to do. Called by the library's thread, now and then. */
static bool attempt(void)
{
	struct entry_state st;
	bool all = true;

	if (!spmi_enter_late(&st))
		return false;
	if (spmi_state.pid == getpid() && spmi_state.registered && !spmi_state.supplier.published)
		all = publish(&spmi_state.supplier) == 0;
	spmi_leave(&st);
	return all;
}

/* Sees to it that what cannot be done yet is done. Without a thread the next call does so. */
void publish_begin(void)
{
	if (spmi_state.registered && !spmi_state.supplier.published)
		late_begin(&late, attempt);
}

/* Waits until no thread is in this library. */
void publish_wait(void)
{
	late_wait(&late);
}

/* In a child, which has no such thread. */
void publish_forget(void)
{
	late_forget(&late);
}
