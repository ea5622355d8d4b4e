/*
 * Work that cannot be done yet when a program becomes a supplier. A thread of the library does
 * it, because the program may never call the library again.
 *
 * Without a directory for segments the supplier works in memory of its own. When the directory
 * appears, that memory becomes a segment at the same addresses, whatever the program is doing.
 * The agent's notice is put into the control area when the agent has found the segment.
 */
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "state.h"

static struct late late = LATE_INIT;

/* Checks the parents of contexts that were made while there was no directory to look in. */
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

static bool all_done(const struct supplier *s)
{
	return !spmi_state.registered || (s->published && s->told);
}

/*
 * Does what can be done now, and returns whether nothing is left to do. The library's thread
 * calls it now and then.
 */
static bool attempt(void)
{
	struct supplier *s = &spmi_state.supplier;
	struct entry_state st;
	bool done;

	if (!spmi_enter_late(&st))
		return false;
	if (spmi_state.pid == getpid() && spmi_state.registered) {
		if (!s->published)
			publish(s);
		if (s->published && !s->told)
			s->told = notice_map(s);
	}
	done = all_done(s);
	spmi_leave(&st);
	return done;
}

/* Starts the thread that does the late work. If that fails, the program's next call does it. */
void publish_begin(void)
{
	if (!all_done(&spmi_state.supplier))
		late_begin(&late, attempt);
}

/* Waits until no thread is in this library. */
void publish_wait(void)
{
	late_wait(&late);
}

/* Called in a child, which does not have the thread. */
void publish_forget(void)
{
	late_forget(&late);
}
