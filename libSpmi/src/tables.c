/* Checks the program's tables and enters them in the hash table. */
#include <string.h>

#include "internal.h"

enum { MAX_STATS = 1 << 20, MAX_CONTEXTS = 1 << 20, MAX_AREA = 16 << 20, MAX_TEXT = 1024 };

static int no_memory(void)
{
	return spmi_fail(SiCallocFailed, "out of memory");
}

static bool size_fits(enum DataType type, unsigned size)
{
	switch (type) {
	case SiFloat:
	case SiDouble: return size == sizeof(float) || size == sizeof(double);
	case SiTimeval: return size == 8 || size == 16;
	case SiChar: return size >= 1 && size <= MAX_TEXT;
	default: return size == 1 || size == 2 || size == 4 || size == 8;
	}
}

/* name is the checked name of r. */
static int check_stat_numbers(const struct SpmiRawStat *r, const char *name)
{
	if ((unsigned)r->value_type > SiQuantity)
		return spmi_fail(SiBadArgument, "statistic %s: value type %d", name, (int)r->value_type);
	if ((unsigned)r->data_type > SiUnsign)
		return spmi_fail(SiBadArgument, "statistic %s: data type %d", name, (int)r->data_type);
	if ((unsigned)r->type > SiUnsign)
		return spmi_fail(SiBadArgument, "statistic %s: type %d", name, (int)r->type);
	if (r->get_fun)
		return spmi_fail(SiBadArgument, "statistic %s: get_fun must be NULL, as values are read from the data area", name);
	if (!size_fits(r->type, r->size))
		return spmi_fail(SiBadArgument, "statistic %s: size %u does not fit its type", name, r->size);
	if (r->offset < 0 || r->offset > MAX_AREA - (int)r->size)
		return spmi_fail(SiBadArgument, "statistic %s: offset %d", name, r->offset);
	return 0;
}

static int check_stat(const struct SpmiRawStat *r, struct raw *raw)
{
	size_t len = bounded_len(r->name, sizeof(r->name));
	int err = check_name(r->name, len);

	if (err)
		return err;
	memcpy(raw->name, r->name, len);
	raw->asn = r->asnno;
	if (bounded_len(r->description, SI_MAXLNAME) == SI_MAXLNAME)
		return spmi_fail(SiBadArgument, "statistic %s: description is longer than %d bytes",
				 raw->name, SI_MAXLNAME - 1);
	return check_stat_numbers(r, raw->name);
}

/* Enters a statistic. Its name, and its number if it has one, must be unique in its record. */
static int enter_stat(struct supplier *s, uint32_t record, struct raw *raw)
{
	struct key *k = &raw->by_name.key, *n = &raw->by_asn.key;

	k->kind = KEY_STAT;
	k->text = raw->name;
	k->len = strlen(raw->name);
	k->number = record;
	n->kind = KEY_STAT_ASN;
	n->number = (uint64_t)record << 16 | raw->asn;
	if (table_find(&s->table, k))
		return spmi_fail(SiDuplicate, "statistic %s appears twice in one context", raw->name);
	if (raw->asn && table_find(&s->table, n))
		return spmi_fail(SiDuplicate, "statistic %s: ASN.1 number %u appears twice in one context",
				 raw->name, raw->asn);
	table_add(&s->table, &raw->by_name, raw);
	if (raw->asn)
		table_add(&s->table, &raw->by_asn, raw);
	return 0;
}

static int check_record(const cx_create *c)
{
	if (bounded_len(c->descr, SI_MAXLNAME) == SI_MAXLNAME)
		return spmi_fail(SiBadArgument, "context %.63s: description is longer than %d bytes",
				 c->path, SI_MAXLNAME - 1);
	if (c->num_stats < 0 || c->num_stats > MAX_STATS || (c->num_stats && !c->stats))
		return spmi_fail(SiBadArgument, "context %.63s: %d statistics", c->path, c->num_stats);
	if (c->inst_subs)
		return spmi_fail(SiBadArgument, "context %.63s: inst_subs must be NULL; add contexts with SpmiDdsAddCx",
				 c->path);
	if (c->inst_freq < SiNoInst || c->inst_freq > SiContInst)
		return spmi_fail(SiBadArgument, "context %.63s: inst_freq %d", c->path, c->inst_freq);
	if (c->inst_stats || c->num_inst_stats)
		return spmi_fail(SiBadArgument, "context %.63s: inst_stats must be NULL and num_inst_stats 0",
				 c->path);
	return 0;
}

/* Takes the statistics of a context into the next record. */
static int take_record(struct supplier *s, const cx_create *c)
{
	uint32_t index = s->fixed + s->inst, i, end;
	struct record *r = &s->records[index];
	int err;

	r->source = c;
	r->first_stat = s->stats_count;
	r->stat_count = (uint32_t)c->num_stats;
	for (i = 0; i < r->stat_count; i++) {
		struct raw *raw = &s->stats[s->stats_count++];

		if ((err = check_stat(&c->stats[i], raw)) || (err = enter_stat(s, index, raw)))
			return err;
		end = (uint32_t)c->stats[i].offset + c->stats[i].size;
		if (r->data_len < end)
			r->data_len = end;
	}
	return 0;
}

/*
 * DDS and a vendor's context may exist already. Adding them again does nothing. DDS belongs
 * to the SPMI and needs no record.
 */
static bool ignored(const struct supplier *s, const char *path, size_t len)
{
	return parent_len(path, len) == 0 ||
	       (shared_path(path, len) && context_find(s, path, len));
}

static int take_fixed(struct supplier *s, const cx_create *c)
{
	size_t len = bounded_len(c->path, sizeof(c->path));
	struct cx *cx = &s->contexts[s->fixed];
	int err;

	if ((err = check_path(c->path, len)) || (err = check_record(c)))
		return err;
	if (shared_path(c->path, len) && c->num_stats > 0)
		return spmi_fail(SiBadArgument, "context %s is shared by suppliers and cannot have statistics",
				 c->path);
	if (ignored(s, c->path, len))
		return 0;
	memcpy(cx->path, c->path, len);
	cx->record = s->fixed;
	cx->active = true;
	if ((err = context_enter(s, cx, len, c->asnno)) || (err = take_record(s, c)))
		return err;
	if (s->area_len < s->records[s->fixed].data_len)
		s->area_len = s->records[s->fixed].data_len;
	s->fixed++;
	return 0;
}

static int take_template(struct supplier *s, const cx_create *c)
{
	int err;

	if (bounded_len(c->path, SI_MAXLNAME) == SI_MAXLNAME)
		return spmi_fail(SiBadArgument, "path \"%.63s...\" is longer than %d bytes", c->path,
				 SI_MAXLNAME - 1);
	if ((err = check_record(c)) || (err = take_record(s, c)))
		return err;
	s->inst++;
	return 0;
}

/* Allocates records for all contexts, and names for all statistics. */
static int make_room(struct supplier *s, const struct request *r)
{
	uint32_t n = r->fixed_count + r->inst_count, i;
	uint64_t stats = 0;

	for (i = 0; i < n && n <= MAX_CONTEXTS; i++) {
		const cx_create *c = i < r->fixed_count ? &r->fixed[i] : &r->inst[i - r->fixed_count];

		if (c->num_stats > 0)
			stats += (uint64_t)c->num_stats;
	}
	if (stats > MAX_STATS || n > MAX_CONTEXTS)
		return spmi_fail(SiBadArgument, "more than %d statistics or contexts", MAX_STATS);
	s->records = arena_alloc(&s->arena, n * sizeof(*s->records));
	s->contexts = arena_alloc(&s->arena, r->fixed_count * sizeof(*s->contexts));
	s->stats = arena_alloc(&s->arena, (size_t)stats * sizeof(*s->stats));
	return s->records && s->contexts && s->stats ? 0 : no_memory();
}

int tables_check(struct supplier *s, const struct request *r)
{
	uint32_t i;
	int err = make_room(s, r);

	for (i = 0; !err && i < r->fixed_count; i++)
		err = take_fixed(s, &r->fixed[i]);
	for (i = 0; !err && i < r->inst_count; i++)
		err = take_template(s, &r->inst[i]);
	return err;
}

/* A parent may be anywhere in the table. */
static int check_parent(struct supplier *s, const struct cx *c)
{
	size_t len = strlen(c->path);
	int err = context_clashes(s, c, len, s->records[c->record].source->asnno);

	return err ? err : context_parent(s, c->path, len);
}

/* Checks the fixed contexts against each other and looks for their parents. */
int tables_parents(struct supplier *s)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < s->fixed; i++)
		err = check_parent(s, &s->contexts[i]);
	return err;
}

int tables_claim(struct supplier *s)
{
	struct arena room = { NULL };
	const char **paths = arena_alloc(&room, (s->fixed + s->slots_count + 1) * sizeof(*paths));
	size_t n = 0;
	uint32_t i;
	int err;

	if (!paths)
		return no_memory();
	for (i = 0; i < s->fixed; i++)
		if (!shared_path(s->contexts[i].path, strlen(s->contexts[i].path)))
			paths[n++] = s->contexts[i].path;
	for (i = 0; i < s->slots_count; i++) {
		const struct seg_slot *slot = segment_slot_at(&s->segment, i);
		const struct cx *c = slot->active ? context_find(s, slot->path, strlen(slot->path)) : NULL;

		if (c && c->claimed)
			paths[n++] = c->path;
	}
	err = claims_take(&s->place, paths, n);
	arena_free(&room);
	return err;
}
