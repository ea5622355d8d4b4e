/*
 * Numbers of names, which are the same in all processes of a user. There is no lock: a record is filled,
 * and then becomes the head of its chain by compare-and-swap.
 */
#include <string.h>

#include "internal.h"

/* One of the two kinds of records. */
struct table {
	uint64_t hash, records;
	uint32_t heads, max, len;
	size_t next, key; /* offsets: of the count in the header, of the key in a record */
};

static const struct table apps = { NAMES_APP_HASH, NAMES_APPS, APP_HASH_LEN, APP_MAX,
	sizeof(struct seg_app), offsetof(struct seg_names, app_next), offsetof(struct seg_app, key) };
static const struct table trans = { NAMES_TRAN_HASH, NAMES_TRANS, TRAN_HASH_LEN, TRAN_MAX,
	sizeof(struct seg_tran), offsetof(struct seg_names, tran_next), offsetof(struct seg_tran, key) };

/* A name to look up, and to add if it is not there. */
struct entry {
	const struct table *t;
	char *base;
	const struct key *key;
	uint32_t app; /* a transaction's; 0 for applications */
	const char *name, *more;
	const struct described *described; /* a transaction's metrics */
};

static uint32_t hash(const struct entry *e)
{
	uint32_t h = 2166136261u, i;

	for (i = 0; e->app && i < 4; i++)
		h = (h ^ (e->app >> 8 * i & 255)) * 16777619u;
	for (i = 0; i < e->key->len; i++)
		h = (h ^ (unsigned char)e->key->text[i]) * 16777619u;
	return h;
}

static char *record(const struct entry *e, uint32_t id)
{
	return e->base + e->t->records + (uint64_t)(id - 1) * e->t->len;
}

/* A transaction whose metrics are described in another way is another transaction. */
static bool same_metrics(const struct described *d, const struct seg_tran *t)
{
	uint32_t meta = load_acquire(&t->meta);

	if (!d->flags)
		return meta == RECORD_EMPTY;
	return meta == RECORD_PUBLISHED && t->meta_flags == d->flags && memcmp(t->descs, d->of, sizeof(t->descs)) == 0;
}

/* An application that another user uses is another application. */
static bool same_user(const char *user, const struct seg_app *a)
{
	size_t len = user ? bounded_len(user, sizeof(a->user) - 1) : 0;

	return bounded_len(a->user, sizeof(a->user)) == len && (!len || memcmp(a->user, user, len) == 0);
}

static bool is_it(const struct entry *e, char *r)
{
	const struct seg_tran *t = (struct seg_tran *)r;

	/* Both kinds begin with next and state. */
	if (load_acquire(&t->state) != RECORD_PUBLISHED || memcmp(r + e->t->key, e->key->text, e->key->len + 1) != 0)
		return false;
	return e->app ? t->app == e->app && same_metrics(e->described, t) : same_user(e->more, (struct seg_app *)r);
}

/* Searches a chain from one record up to another, which it leaves out. The search ends even if somebody has
 * bent the chain into a ring. */
static uint32_t find(const struct entry *e, uint32_t from, uint32_t to)
{
	uint32_t steps;

	for (steps = 0; from != to && from && from <= e->t->max && steps < e->t->max; steps++) {
		char *r = record(e, from);

		if (is_it(e, r))
			return from;
		from = load_acquire(&((struct seg_tran *)r)->next);
	}
	return 0;
}

static void put_text(char *to, size_t size, const char *text)
{
	if (text)
		memcpy(to, text, bounded_len(text, size - 1));
}

static void fill(const struct entry *e, char *r)
{
	struct seg_app *a = (struct seg_app *)r;
	struct seg_tran *t = (struct seg_tran *)r;

	memcpy(r + e->t->key, e->key->text, e->key->len + 1);
	if (e->app) {
		store(&t->app, e->app); /* arm_start may read it, with an id that no arm_getid has returned */
		put_text(t->descr, sizeof(t->descr), e->name);
		put_text(t->detail, sizeof(t->detail), e->more);
		memcpy(t->descs, e->described->of, sizeof(t->descs));
		t->meta_flags = e->described->flags;
		store_release(&t->meta, e->described->flags ? RECORD_PUBLISHED : RECORD_EMPTY);
	} else {
		put_text(a->descr, sizeof(a->descr), e->name);
		put_text(a->user, sizeof(a->user), e->more);
	}
	store_release(&t->state, RECORD_PUBLISHED);
}

/* Takes a record. It makes room first, so that the record can be stored in. If the record is not empty, the
 * header is damaged and the record belongs to another name. */
static uint32_t take(const struct entry *e)
{
	uint32_t *next = (uint32_t *)(e->base + e->t->next), n = load_acquire(next);

	for (;;) {
		if (n >= e->t->max ||
		    names_back(&rt_names_file, rt_proc_file.dir, e->t->records + (uint64_t)n * e->t->len, e->t->len))
			return 0;
		if (!cas(next, &n, n + 1))
			continue;
		/* Both kinds begin with next and state. */
		if (load(&((struct seg_tran *)record(e, n + 1))->state) == RECORD_EMPTY)
			break;
		n++;
	}
	fill(e, record(e, n + 1));
	return n + 1;
}

static uint32_t number(const struct entry *e)
{
	uint32_t *head = (uint32_t *)(e->base + e->t->hash) + hash(e) % e->t->heads;
	uint32_t first = load_acquire(head), id = find(e, first, 0), looked, other;
	struct seg_tran *r;

	if (id || !(id = take(e)))
		return id;
	r = (struct seg_tran *)record(e, id);
	for (;;) {
		store_release(&r->next, first);
		looked = first;
		if (cas(head, &first, id))
			return id;
		/* Records that were added meanwhile stand in front of those that were searched before. */
		if ((other = find(e, first, looked))) {
			store_release(&r->state, RECORD_DEAD);
			return other;
		}
	}
}

/* Waits while memory becomes files, so that no name is added meanwhile. */
static uint32_t number_in(struct process *p, const struct entry *e)
{
	uint32_t id;

	while (!publish_enter(p))
		publish_wait(p);
	id = number(e);
	publish_leave(p);
	return id;
}

uint32_t lookup_app(struct process *p, const struct key *k, const char *name, const char *user)
{
	struct entry e = { &apps, (char *)p->names, k, 0, name, user, NULL };

	return number_in(p, &e);
}

uint32_t lookup_tran(struct process *p, uint32_t app, const struct key *k, const char *name,
		     const char *detail, const struct described *d)
{
	struct entry e = { &trans, (char *)p->names, k, app, name, detail, d };
	uint32_t id = number_in(p, &e);

	if (id)
		tran_refresh(p, id);
	return id;
}

/* Looks how many transactions there are now, and reports whether this number is one of theirs. */
bool tran_refresh(struct process *p, uint32_t id)
{
	uint32_t n = load_acquire(&p->names->tran_next);

	if (n > TRAN_MAX)
		n = TRAN_MAX;
	if (n > load(&p->trans_known))
		store_release(&p->trans_known, n);
	return id <= n;
}

/* The application of this number, or NULL. */
struct seg_app *app_of(struct process *p, int id)
{
	struct seg_app *a;
	uint32_t n = load_acquire(&p->names->app_next);

	if (id <= 0 || (uint32_t)id > n || id > APP_MAX)
		return NULL;
	a = &p->apps[id - 1];
	return load_acquire(&a->state) == RECORD_PUBLISHED ? a : NULL;
}
