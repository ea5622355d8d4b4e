/*
 * The calls when there is a lower library. It is called first. If it returns an identifier above 0 or
 * the status 0, that is the answer; otherwise ours is. References are looked up before the lower
 * library is called. While it runs, it may give an identifier that it has ended to another thread.
 */
#include <errno.h>
#include <string.h>

#include "lower.h"

/* Set while the thread is in the lower library. The lower library or a signal handler may call us
 * then. Such a call is not passed on to the lower library, so that calls do not recur. Our part of it
 * counts as usual. */
static __thread uint32_t below __attribute__((tls_model("initial-exec")));

struct guard {
	int err;
};

static struct guard enter(void)
{
	struct guard g = { errno };

	below = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return g;
}

static void leave(struct guard g)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	below = 0;
	errno = g.err;
}

/* Returns the identifier for the program, and makes the lower library's refer to ours. Ours may be
 * below 0, if our call failed. */
static int id_of(struct xref *x, int lower, int own)
{
	seg_u64 *word;

	if (lower <= 0)
		return own;
	if ((word = xref_claim(x, lower)))
		xref_fill(word, lower, own);
	return lower;
}

int lower_init(const char *name, const char *user, struct rest r)
{
	struct lower *l = load_acquire(&rt_lower);
	struct guard g;
	int id;

	if (below)
		return rtarm_init(name, user);
	g = enter();
	id = l->init(name, user, r.flags, r.data, r.size);
	leave(g);
	return l->alone ? id : id_of(&l->apps, id, rtarm_init(name, user));
}

int lower_getid(int app, const char *name, const char *detail, struct rest r)
{
	struct lower *l = load_acquire(&rt_lower);
	int own = xref_find(&l->apps, app), id;
	struct guard g;

	if (below)
		return rtarm_getid(own, name, detail, r.data, r.size);
	g = enter();
	id = l->getid(app, name, detail, r.flags, r.data, r.size);
	leave(g);
	return l->alone ? id : id_of(&l->trans, id, rtarm_getid(own, name, detail, r.data, r.size));
}

/* If the program asks for a correlator, the lower library writes it over the parent's. Ours must see
 * the parent's, so the buffer is kept. */
struct kept {
	uint8_t bytes[sizeof(arm_data1_t)];
	int size; /* 0: nothing need be kept */
};

static void keep(struct kept *k, struct rest r)
{
	int format;

	k->size = 0;
	if (!r.data || r.size < 8)
		return;
	memcpy(&format, r.data, sizeof(format));
	if (format != ARM_FORMAT_DATA || !(r.data[4] & ARM_CORRELATOR_WANTED))
		return;
	k->size = r.size < (int)sizeof(k->bytes) ? r.size : (int)sizeof(k->bytes);
	memcpy(k->bytes, r.data, (size_t)k->size);
	r.data[4] &= (char)~ARM_CORRELATOR_GIVEN; /* nobody has given one yet */
}

/* The program gets the lower library's correlator, or else ours. */
static int start_own(int tran, struct kept *k, struct rest r, bool theirs)
{
	int own;

	if (!k->size)
		return rtarm_start(tran, r.data, r.size);
	own = rtarm_start(tran, (arm_data_t *)k->bytes, k->size);
	if (own > 0 && !(theirs && (r.data[4] & ARM_CORRELATOR_GIVEN)))
		memcpy(r.data, k->bytes, (size_t)k->size);
	return own;
}

/* If there is no room for the reference, ours is not started, because it could not be stopped. */
int lower_start(int tran, struct rest r)
{
	struct lower *l = load_acquire(&rt_lower);
	int own = xref_find(&l->trans, tran), handle;
	struct kept k;
	struct guard g;
	seg_u64 *word;

	if (below)
		return rtarm_start(own, r.data, r.size);
	if (!l->alone)
		keep(&k, r);
	g = enter();
	handle = l->start(tran, r.flags, r.data, r.size);
	leave(g);
	if (l->alone)
		return handle;
	if (handle <= 0)
		return start_own(own, &k, r, false);
	if ((word = xref_claim(&l->starts, handle)))
		xref_fill(word, handle, start_own(own, &k, r, true));
	return handle;
}

int lower_update(int handle, struct rest r)
{
	struct lower *l = load_acquire(&rt_lower);
	int own = xref_find(&l->starts, handle), status, answer;
	struct guard g;

	if (below)
		return rtarm_update(own, r.data, r.size);
	g = enter();
	status = l->update(handle, r.flags, r.data, r.size);
	leave(g);
	if (l->alone)
		return status;
	answer = rtarm_update(own, r.data, r.size);
	return status == 0 ? 0 : answer;
}

/* A status that ARM does not define ends nothing here: the transaction goes on. */
static int stop_handle(struct lower *l, int handle, int status)
{
	if ((unsigned int)status > ARM_FAILED)
		return xref_find(&l->starts, handle);
	return xref_take(&l->starts, handle);
}

int lower_stop(int handle, int status, struct rest r)
{
	struct lower *l = load_acquire(&rt_lower);
	int own = stop_handle(l, handle, status), theirs, answer;
	struct guard g;

	if (below)
		return rtarm_stop(own, status, r.data, r.size);
	g = enter();
	theirs = l->stop(handle, status, r.flags, r.data, r.size);
	leave(g);
	if (l->alone)
		return theirs;
	answer = rtarm_stop(own, status, r.data, r.size);
	return theirs == 0 ? 0 : answer;
}

int lower_end(int app, struct rest r)
{
	struct lower *l = load_acquire(&rt_lower);
	int own = xref_find(&l->apps, app), status, answer;
	struct guard g;

	if (below)
		return rtarm_end(own);
	g = enter();
	status = l->end(app, r.flags, r.data, r.size);
	leave(g);
	if (l->alone)
		return status;
	answer = rtarm_end(own);
	return status == 0 ? 0 : answer;
}
