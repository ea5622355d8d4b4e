/* The functions that programs read with. */
#include <string.h>

#include "reader.h"

#define EXPORT __attribute__((visibility("default")))

struct reader reader;

/* Prepares for the first call that reads. */
static int reader_begin(void)
{
	int err;

	memset(&reader, 0, sizeof(reader));
	reader.pcp = pcp_load();
	if (!reader.pcp)
		return SiInitFailed;
	err = table_init(&reader.table, &reader.pool.arena, random_u64());
	if (!err)
		err = source_open();
	if (!err)
		err = classes_load();
	if (!err)
		err = tree_begin();
	if (err)
		reader_end();
	else
		reader.up = true;
	return err;
}

/* Questions about what the program already knows need no pmcd. */
int reader_ready(void)
{
	return reader.up ? 0 : reader_begin();
}

/* For calls that look things up. If there is no pmcd, they go on with what is known. */
static int ready_to_look(void)
{
	int err = reader_ready();

	if (!err && source_open())
		spmi_ok();
	return err;
}

int reader_ready_to_ask(void)
{
	int err = reader_ready();

	return err ? err : source_open();
}

/*
 * Frees all that belongs to the program. The connection is closed by the next call that
 * reads.
 */
void reader_end(void)
{
	if (reader.pcp)
		source_park();
	arena_free(&reader.pool.arena);
	memset(&reader, 0, sizeof(reader));
}

/* Contexts */

EXPORT SpmiCxHdl SpmiPathGetCx(const char *CxPath, SpmiCxHdl Parent)
{
	struct read_entry st;
	struct node *n = NULL;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready_to_ask() && (n = node_of(Parent))) {
		if (!node_is(n)) {
			spmi_fail(SiDeleted, "context %s is deleted", n->pub.name);
			n = NULL;
		} else {
			n = node_path(n, CxPath ? CxPath : "");
			if (n && instantiate(n, false))
				n = NULL;
		}
	}
	read_leave(&st);
	return n;
}

EXPORT int SpmiInstantiate(SpmiCxHdl CxHandle)
{
	struct read_entry st;
	struct node *n;
	int err = read_enter(&st);

	if (err)
		return err;
	err = reader_ready_to_ask();
	if (!err && !(n = node_of(CxHandle)))
		err = SiInvalidCx;
	else if (!err && !node_is(n))
		err = spmi_fail(SiDeleted, "context %s is deleted", n->pub.name);
	else if (!err && n->pub.inst_freq == SiNoInst)
		err = spmi_fail(SiNotInst, "context %s is not instantiable", n == reader.top ? "Top" : n->pub.name);
	else if (!err)
		err = instantiate(n, true);
	read_leave(&st);
	return err;
}

EXPORT struct SpmiCxLink *SpmiFirstCx(SpmiCxHdl CxHandle)
{
	struct read_entry st;
	struct node *n, *first = NULL;

	if (read_enter(&st))
		return NULL;
	if (!ready_to_look() && (n = node_of(CxHandle))) {
		if (!node_is(n))
			spmi_fail(SiDeleted, "context %s is deleted", n->pub.name);
		else if (!instantiate(n, false))
			first = node_first(n);
	}
	read_leave(&st);
	return first ? &first->link : NULL;
}

EXPORT struct SpmiCxLink *SpmiNextCx(struct SpmiCxLink *CxLink)
{
	struct read_entry st;
	struct node *n = NULL;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready() && (n = node_of_link(CxLink)))
		n = node_next(n);
	read_leave(&st);
	return n ? &n->link : NULL;
}

EXPORT struct SpmiCx *SpmiGetCx(SpmiCxHdl CxHandle)
{
	struct read_entry st;
	struct node *n = NULL;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready())
		n = node_of(CxHandle);
	read_leave(&st);
	return n ? &n->pub : NULL;
}

/* Statistics */

EXPORT struct SpmiStatLink *SpmiFirstStat(SpmiCxHdl CxHandle)
{
	struct read_entry st;
	struct stat *s = NULL;
	struct node *n;

	if (read_enter(&st))
		return NULL;
	if (!ready_to_look() && (n = node_of(CxHandle))) {
		if (!node_is(n))
			spmi_fail(SiDeleted, "context %s is deleted", n->pub.name);
		else if (n->origin == FROM_CLASS || !instantiate(n, false))
			s = stat_first(node_stats(n));
	}
	read_leave(&st);
	return s ? &s->link : NULL;
}

EXPORT struct SpmiStatLink *SpmiNextStat(struct SpmiStatLink *StatLink)
{
	struct read_entry st;
	struct stat *s = NULL;

	if (read_enter(&st))
		return NULL;
	if (!ready_to_look() && (s = stat_of_link(StatLink)))
		s = stat_first(s->next);
	read_leave(&st);
	return s ? &s->link : NULL;
}

EXPORT struct SpmiStat *SpmiGetStat(SpmiStatHdl StatHandle)
{
	struct read_entry st;
	struct stat *s = NULL;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready())
		s = stat_of(StatHandle);
	read_leave(&st);
	return s ? &s->pub : NULL;
}

static bool belongs(struct node *n, const struct stat *s)
{
	const struct stat *other = node_stats(n);

	while (other && other != s)
		other = other->next;
	return other != NULL;
}

/*
 * Writes the names of contexts from the end, the nearest context first, before the text
 * that is there.
 */
static char *path_of(const struct node *n, const struct stat *s, int levels)
{
	const struct node *up;
	size_t len = strlen(s->pub.name) + 1;
	int i;
	char *at;

	for (up = n, i = 0; up->parent && (levels <= 0 || i < levels); up = up->parent, i++)
		len += strlen(up->pub.name) + 1;
	if (reader.path)
		pool_free(&reader.pool, reader.path, reader.path_len);
	reader.path_len = len;
	reader.path = pool_alloc(&reader.pool, len);
	if (!reader.path)
		return NULL;
	at = reader.path + len - 1 - strlen(s->pub.name);
	memcpy(at, s->pub.name, strlen(s->pub.name));
	for (up = n, i = 0; up->parent && (levels <= 0 || i < levels); up = up->parent, i++) {
		*--at = '/';
		at -= strlen(up->pub.name);
		memcpy(at, up->pub.name, strlen(up->pub.name));
	}
	return reader.path;
}

EXPORT char *SpmiStatGetPath(SpmiCxHdl Parent, SpmiStatHdl StatHandle, int MaxLevels)
{
	struct read_entry st;
	struct node *n;
	struct stat *s;
	char *path = NULL;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready() && (n = node_of(Parent)) && (s = stat_of(StatHandle))) {
		if (MaxLevels < 0)
			spmi_fail(SiBadArgument, "MaxLevels %d: want 0 or more", MaxLevels);
		else if (!belongs(n, s))
			spmi_fail(SiNotFound, "statistic %s is none of context %s", s->pub.name, n->pub.name);
		else
			path = path_of(n, s, MaxLevels);
	}
	read_leave(&st);
	return path;
}

/* Sets of statistics */

void *set_create(bool hot, bool wide)
{
	struct read_entry st;
	struct set *s = NULL;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready())
		s = set_new(hot);
	read_leave(&st);
	return s ? set_pub(s, wide) : NULL;
}

int set_end(const void *pub, bool hot)
{
	struct read_entry st;
	struct set *s;
	int err = read_enter(&st);

	if (err)
		return err;
	err = reader_ready();
	if (!err && !(s = set_of(pub, hot)))
		err = pub ? SiNotFound : SiBadArgument;
	else if (!err)
		set_free(s);
	read_leave(&st);
	return err;
}

EXPORT struct SpmiStatSet *SpmiCreateStatSet(void)
{
	return set_create(false, false);
}

struct SpmiStatSet *SpmiCreateStatSet_time64(void);

/* The function that Spmidef.h substitutes where struct timeval is wider than here. */
EXPORT struct SpmiStatSet *SpmiCreateStatSet_time64(void)
{
	return set_create(false, true);
}

EXPORT int SpmiFreeStatSet(struct SpmiStatSet *StatSet)
{
	return set_end(StatSet, false);
}

EXPORT struct SpmiStatVals *SpmiPathAddSetStat(struct SpmiStatSet *StatSet, const char *StatName, SpmiCxHdl Parent)
{
	struct read_entry st;
	struct vals *v = NULL;
	struct set *s;
	struct node *n;
	struct stat *found;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready_to_ask() && (s = set_of(StatSet, false)) && (n = node_of(Parent))) {
		if (!StatName || !*StatName)
			spmi_fail(SiBadArgument, "the statistic has no name");
		else if (!node_is(n))
			spmi_fail(SiDeleted, "context %s is deleted", n->pub.name);
		else if (!stat_path(n, StatName, &n, &found))
			v = vals_add(s, n, found);
	}
	read_leave(&st);
	return v ? &v->pub : NULL;
}

EXPORT int SpmiDelSetStat(struct SpmiStatSet *StatSet, struct SpmiStatVals *StatVal)
{
	struct read_entry st;
	struct vals *v = NULL;
	struct set *s;
	int err = read_enter(&st);

	if (err)
		return err;
	err = reader_ready();
	if (!err && (s = set_of(StatSet, false)) && (v = vals_of(s, StatVal)) && --v->pub.ref_count == 0)
		vals_remove(s, v);
	err = spmi_collected();
	read_leave(&st);
	return err;
}

EXPORT int SpmiGetStatSet(struct SpmiStatSet *StatSet, int Force)
{
	struct read_entry st;
	struct set *s;
	int err = read_enter(&st);

	if (err)
		return err;
	err = reader_ready();
	if (!err && (s = set_of(StatSet, false)) && set_stale(s, Force != 0))
		set_read(s);
	err = spmi_collected();
	read_leave(&st);
	return err;
}

EXPORT struct SpmiStatVals *SpmiFirstVals(struct SpmiStatSet *StatSet)
{
	struct read_entry st;
	struct vals *v = NULL;
	struct set *s;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready() && (s = set_of(StatSet, false)))
		v = s->vals;
	read_leave(&st);
	return v ? &v->pub : NULL;
}

EXPORT struct SpmiStatVals *SpmiNextVals(struct SpmiStatSet *StatSet, struct SpmiStatVals *StatVal)
{
	struct read_entry st;
	struct vals *v = NULL;
	struct set *s;

	if (read_enter(&st))
		return NULL;
	if (!reader_ready() && (s = set_of(StatSet, false)) && (v = vals_of(s, StatVal)))
		v = v->next;
	read_leave(&st);
	return v ? &v->pub : NULL;
}

enum { NEGATIVE = -2 }; /* stands for the value if there is an error */

static float value_of(const struct vals *v)
{
	const struct SpmiStat *s = &v->stat->pub;

	if (v->pub.error)
		spmi_fail(v->pub.error, "statistic %s has no value%s", s->name,
			  v->pub.error == SiDeleted ? ": its context is deleted" : "");
	else if (s->value_type == SiQuantity)
		return s->data_type == SiFloat ? v->pub.val.f : (float)v->pub.val.l;
	else if (v->has_rate)
		return (float)v->rate;
	else
		spmi_fail(SiNoValue, "counter %s was read once only, or has begun anew", s->name);
	return NEGATIVE;
}

EXPORT float SpmiGetValue(struct SpmiStatSet *StatSet, struct SpmiStatVals *StatVal)
{
	struct read_entry st;
	float value = NEGATIVE;
	struct vals *v;
	struct set *s;

	if (read_enter(&st))
		return value;
	if (!reader_ready() && (s = set_of(StatSet, false)) && (v = vals_of(s, StatVal)))
		value = value_of(v);
	read_leave(&st);
	return value;
}

EXPORT struct SpmiStatVals *SpmiNextValue(struct SpmiStatSet *StatSet, struct SpmiStatVals *StatVal, float *value)
{
	struct read_entry st;
	struct vals *v = NULL, *before;
	struct set *s;

	if (read_enter(&st))
		return NULL;
	if (!value)
		spmi_fail(SiBadArgument, "there is no place for the value");
	else if (!reader_ready() && (s = set_of(StatSet, false))) {
		if (!StatVal)
			v = s->vals;
		else if ((before = vals_of(s, StatVal)))
			v = before->next;
		if (v)
			*value = value_of(v);
	}
	read_leave(&st);
	return v ? &v->pub : NULL;
}
