/* Contexts that come and go. Nothing here takes longer because more of them exist. */
#include <string.h>

#include "barrier.h"
#include "internal.h"

struct cx *context_find(const struct supplier *s, const char *path, size_t len)
{
	const struct key k = { .kind = KEY_PATH, .text = path, .len = len };
	struct entry *e = table_find(&s->table, &k);

	return e ? e->owner : NULL;
}

/* A volatile context always comes before its subcontexts, so all of these are counted. */
static void count_child(struct supplier *s, const struct cx *c, uint32_t n)
{
	struct cx *parent = context_find(s, c->path, parent_len(c->path, strlen(c->path)));

	if (parent)
		parent->children += n;
}

/* Enters the context under its path and under its number, if it has one. */
int context_enter(struct supplier *s, struct cx *c, size_t len, uint32_t asn)
{
	c->by_path.key = (struct key){ .kind = KEY_PATH, .text = c->path, .len = len };
	c->by_asn.key = (struct key){ .kind = KEY_PATH_ASN, .text = c->path,
				      .len = parent_len(c->path, len), .number = asn };
	if (table_find(&s->table, &c->by_path.key))
		return spmi_fail(SiDuplicate, "context %s exists", c->path);
	if (asn && table_find(&s->table, &c->by_asn.key))
		return spmi_fail(SiDuplicate, "context %s: another at its level has the ASN.1 number %u",
				 c->path, (unsigned)asn);
	table_add(&s->table, &c->by_path, c);
	if (asn)
		table_add(&s->table, &c->by_asn, c);
	count_child(s, c, 1);
	return 0;
}

static void context_leave(struct supplier *s, struct cx *c)
{
	count_child(s, c, (uint32_t)-1);
	table_remove(&s->table, &c->by_path);
	if (c->by_asn.key.number)
		table_remove(&s->table, &c->by_asn);
}

/* Whether a statistic of the context's own parent has its name or number. */
int context_clashes(struct supplier *s, const struct cx *c, size_t len, uint32_t asn)
{
	size_t plen = parent_len(c->path, len);
	const struct cx *parent = context_find(s, c->path, plen);
	struct key k = { .kind = KEY_STAT, .text = c->path + plen + 1, .len = len - plen - 1 };
	struct key n = { .kind = KEY_STAT_ASN };

	if (!parent)
		return 0;
	k.number = parent->record;
	n.number = (uint64_t)parent->record << 16 | asn;
	if (table_find(&s->table, &k) || (asn && table_find(&s->table, &n)))
		return spmi_fail(SiDuplicate, "context %s: a statistic of its parent has its name or number",
				 c->path);
	return 0;
}

/* A deleted context of the same template, or a new one with a slot and a data area. */
static struct cx *take_cx(struct supplier *s, uint32_t record)
{
	struct record *r = &s->records[record];
	struct seg_slot *slot;
	struct cx *c = r->free;
	uint64_t off;

	if (c) {
		r->free = c->next_free;
		table_remove(&s->table, &c->by_area);
		return c;
	}
	c = arena_alloc(&s->arena, sizeof(*c));
	if (!c) {
		spmi_fail(SiCallocFailed, "out of memory");
		return NULL;
	}
	if (segment_slot(&s->segment, &s->place, s->slots_count, &slot) ||
	    segment_data(&s->segment, &s->place, r->data_len, &off))
		return NULL;
	c->number = s->slots_count++;
	c->slot = slot;
	c->data_off = off;
	c->record = record;
	c->by_area.key = (struct key){ .kind = KEY_AREA, .number = off };
	update_head(s->segment.base, off, (uint64_t)((char *)&slot->update - s->segment.base), 1);
	return c;
}

static void give_back(struct supplier *s, struct cx *c)
{
	c->next_free = s->records[c->record].free;
	s->records[c->record].free = c;
	table_add(&s->table, &c->by_area, c); /* to tell deleted areas from wrong ones */
}

/*
 * The parent must be DDS, a context of this supplier, or claimed by another supplier. Without
 * a directory there is no way to look for other suppliers; publish.c looks later.
 */
int context_parent(struct supplier *s, const char *path, size_t len)
{
	size_t plen = parent_len(path, len);
	struct place *p = &s->place;
	char parent[SI_MAXLNAME] = "";
	bool taken = p->claims.fd < 0;
	int err;

	memcpy(parent, path, plen);
	if (parent_len(parent, plen) == 0 || context_find(s, parent, plen))
		return 0;
	if (shared_path(parent, plen))
		taken = false;
	else if (!taken && (err = claims_taken(p, parent, &taken)))
		return err;
	return taken ? 0 : spmi_fail(SiInvalidCx, "context %s: its parent does not exist", path);
}

/* A context needs no claim if its parent is our own. A vendor's context belongs to nobody. */
static int check_parent(struct supplier *s, struct cx *c, size_t len, uint32_t asn)
{
	size_t plen = parent_len(c->path, len);
	bool own = context_find(s, c->path, plen) && !shared_path(c->path, plen);
	const char *path = c->path;
	int err;

	if ((err = context_clashes(s, c, len, asn)) || (err = context_parent(s, c->path, len)))
		return err;
	c->claimed = !own && !shared_path(c->path, len);
	return c->claimed && s->place.claims.fd >= 0 ? claims_take(&s->place, &path, 1) : 0;
}

/*
 * Tells readers that a slot has changed, and which one, so that they need not look at all
 * slots. A deleted context's area is not used again before this.
 */
static void count_change(struct supplier *s, const struct cx *c)
{
	struct seg_header *h = s->segment.header;

	store_u32(&h->recent[s->changes % SEG_RECENT], c->number + 1);
	store_u32(&h->changes, ++s->changes);
}

static void publish(struct supplier *s, struct cx *c, const char *descr, uint32_t asn)
{
	struct seg_slot *slot = c->slot;

	store_u32_first(&slot->seq, c->seq + 1);
	memcpy(slot->path, c->path, sizeof(slot->path));
	memset(slot->descr, 0, sizeof(slot->descr));
	memcpy(slot->descr, descr, strlen(descr));
	slot->asn = asn;
	slot->template = c->record;
	slot->data_off = c->data_off;
	slot->data_len = s->records[c->record].data_len;
	memset(s->segment.base + c->data_off, 0, s->records[c->record].data_len);
	if (slot->update % 2) /* the last context was deleted within an update */
		__atomic_fetch_add(&slot->update, 1, __ATOMIC_RELAXED);
	store_u32(&slot->active, 1);
	store_u32(&slot->seq, c->seq += 2);
	store_u32(&s->segment.header->slots_count, s->slots_count);
	count_change(s, c);
}

static int enter_new(struct supplier *s, struct cx *c, size_t len, uint32_t asn)
{
	int err = context_enter(s, c, len, asn);

	if (err)
		return err;
	err = check_parent(s, c, len, asn);
	if (err)
		context_leave(s, c);
	return err;
}

char *context_add(struct supplier *s, uint32_t ix, const char *path, const char *descr, uint32_t asn)
{
	size_t len = strlen(path);
	struct cx *c;

	if (shared_path(path, len) && (len == 3 || s->records[s->fixed + ix].stat_count)) {
		spmi_fail(SiBadArgument, "context %s is shared by suppliers and cannot have statistics", path);
		return NULL;
	}
	c = take_cx(s, s->fixed + ix);
	if (!c)
		return NULL;
	memset(c->path, 0, sizeof(c->path));
	memcpy(c->path, path, len);
	if (enter_new(s, c, len, asn)) {
		give_back(s, c);
		return NULL;
	}
	table_add(&s->table, &c->by_area, c);
	c->active = true;
	publish(s, c, descr, asn);
	return s->segment.base + c->data_off;
}

int context_del(struct supplier *s, char *area)
{
	uint64_t at = (uint64_t)((uintptr_t)area - (uintptr_t)s->segment.base);
	const struct key k = { .kind = KEY_AREA, .number = at };
	struct entry *e = table_find(&s->table, &k);
	struct cx *c = e ? e->owner : NULL;

	if (!c)
		return spmi_fail(SiNotFound, "not the data area of a context that SpmiDdsAddCx has added");
	if (!c->active)
		return spmi_fail(SiDeleted, "context %s is deleted already", c->path);
	if (c->children)
		return spmi_fail(SiInstBusy, "context %s has subcontexts: delete these first", c->path);
	store_u32_first(&c->slot->seq, c->seq + 1);
	store_u32(&c->slot->active, 0);
	store_u32(&c->slot->seq, c->seq += 2);
	count_change(s, c);
	context_leave(s, c);
	table_remove(&s->table, &c->by_area);
	if (c->claimed)
		claims_drop(&s->place, c->path);
	c->active = false;
	give_back(s, c);
	return 0;
}
