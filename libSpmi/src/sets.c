/* Sets of statistics, and the code that they share with hotsets. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "reader.h"

/* Sets */

struct set *set_new(bool hot)
{
	struct set *s = pool_alloc(&reader.pool, sizeof(*s));

	if (!s)
		return NULL;
	s->hot = hot;
	s->version = ++reader.versions;
	register_object(&s->by_set, hot ? KIND_HOTSET : KIND_SET, s);
	s->next = reader.sets;
	if (s->next)
		s->next->prev = s;
	reader.sets = s;
	return s;
}

/* A program knows a set by the address of one of its two stamps. */
void *set_pub(struct set *s, bool wide)
{
	return wide ? (void *)&s->wide : (void *)&s->pub;
}

struct set *set_of(const void *pub, bool hot)
{
	const char *at = pub;
	struct set *s = NULL;

	if (at && !(s = object_of(hot ? KIND_HOTSET : KIND_SET, at - offsetof(struct set, pub))))
		s = object_of(hot ? KIND_HOTSET : KIND_SET, at - offsetof(struct set, wide));
	if (!s)
		spmi_fail(at ? SiNotFound : SiBadArgument, "this is no %s", hot ? "hotset" : "set of statistics");
	return s;
}

void set_free(struct set *s)
{
	while (s->vals)
		vals_remove(s, s->vals);
	while (s->hots)
		hot_free(s, s->hots);
	*(s->prev ? &s->prev->next : &reader.sets) = s->next;
	if (s->next)
		s->next->prev = s->prev;
	table_remove(&reader.table, &s->by_set);
	pool_free(&reader.pool, s, sizeof(*s));
}

/* A forced reading makes the values of all sets obsolete. */
bool set_stale(struct set *s, bool force)
{
	if (force)
		reader.force++;
	return !s->read || s->changed || s->force != reader.force;
}

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

struct timespec now_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t;
}

/* Sets both stamps: the time, and the time since the last reading. */
void set_time(struct set *s, const struct timespec *at)
{
	int64_t us = s->time.tv_sec ? (int64_t)(at->tv_sec - s->time.tv_sec) * 1000000 +
					      (at->tv_nsec - s->time.tv_nsec) / 1000 : 0;

	s->time = *at;
	s->pub.time.tv_sec = at->tv_sec;
	s->pub.time.tv_usec = at->tv_nsec / 1000;
	s->pub.time_change.tv_sec = (time_t)(us / 1000000);
	s->pub.time_change.tv_usec = (suseconds_t)(us % 1000000);
	s->wide.t[0] = at->tv_sec;
	s->wide.t[1] = at->tv_nsec / 1000;
	s->wide.t[2] = us / 1000000;
	s->wide.t[3] = us % 1000000;
}

/* What is fetched */

/* Enters a metric once. Returns false if the metric is not there or there is no memory. */
bool want(struct wanted *w, struct metric *m)
{
	unsigned int *more;
	int room;

	if (!metric_ready(m))
		return false;
	if (m->stamp == reader.stamp)
		return true;
	if (w->count == w->room) {
		room = w->room ? 2 * w->room : 16;
		more = pool_alloc(&reader.pool, (size_t)room * sizeof(*more));
		if (!more)
			return false;
		if (w->room)
			memcpy(more, w->pmids, (size_t)w->count * sizeof(*more));
		pool_free(&reader.pool, w->pmids, (size_t)w->room * sizeof(*more));
		w->pmids = more;
		w->room = room;
	}
	m->stamp = reader.stamp;
	m->index = w->count;
	w->pmids[w->count++] = m->pmid;
	return true;
}

void want_free(struct wanted *w)
{
	pool_free(&reader.pool, w->pmids, (size_t)w->room * sizeof(*w->pmids));
}

/* Values */

static double number_of(const struct reading *r)
{
	return r->whole ? (double)r->l : r->d;
}

static long to_long(double d)
{
	const double top = -(double)(~0ul / 2 + 1) * -1;

	return d >= top ? (long)(~0ul / 2) : d <= -top ? (long)(~0ul / 2 + 1) : isnan(d) ? 0 : (long)d;
}

/* Finds the change of a counter and its rate per second. Returns false if they are unknown. */
bool take_reading(const struct stat *st, const struct reading *old, const struct reading *new, double *change,
		  double *rate)
{
	double seconds;

	*change = *rate = 0;
	if (!old->is || old->gen != new->gen || old->whole != new->whole)
		return false;
	seconds = seconds_between(&old->at, &new->at);
	*change = new->whole ? (double)(int64_t)((uint64_t)new->l - (uint64_t)old->l) : new->d - old->d;
	*change *= st->scale;
	if (!(seconds > 0) || *change < 0) { /* the counter has started again */
		*change = 0;
		return false;
	}
	*rate = *change / seconds;
	return true;
}

void show_value(const struct stat *st, const struct reading *r, union Value *val)
{
	memset(val, 0, sizeof(*val));
	if (st->pub.data_type == SiFloat)
		val->f = (float)(number_of(r) * st->scale);
	else if (r->whole && st->scale == 1 && sizeof(long) == sizeof(int64_t))
		val->l = (long)r->l;
	else
		val->l = to_long(number_of(r) * st->scale);
}

void show_change(const struct stat *st, double change, union Value *to)
{
	memset(to, 0, sizeof(*to));
	if (st->pub.data_type == SiFloat)
		to->f = (float)change;
	else
		to->l = to_long(change);
}

/* Statistics of a set */

struct vals *vals_of(struct set *s, const void *pub)
{
	struct vals *v = pub ? object_of(KIND_VALS, pub) : NULL;

	if (v && v->set == s)
		return v;
	spmi_fail(pub ? SiNotFound : SiBadArgument, "this SpmiStatVals is none of the set");
	return NULL;
}

static void vals_take(struct vals *v, const struct reading *new)
{
	const struct reading old = v->now;
	double change;

	v->now = *new;
	v->has_rate = false;
	if (!new->is) {
		v->pub.error = node_is(v->node) ? SiNoValue : SiDeleted;
		return;
	}
	v->pub.error = SiSuccess;
	show_value(v->stat, new, &v->pub.val);
	if (v->stat->pub.value_type != SiCounter)
		return;
	v->has_rate = take_reading(v->stat, &old, new, &change, &v->rate);
	show_change(v->stat, change, &v->pub.val_change);
}

static int inst_of(const struct vals *v)
{
	return v->stat->inst != PCP_NO_INST ? v->stat->inst : v->node->inst;
}

/* Reads a counter when it is added, so that the next reading has a rate. */
static void first_reading(struct set *s, struct vals *v)
{
	struct wanted w = { NULL, 0, 0 };
	struct pcp_result *r = NULL;
	int inst = inst_of(v);
	struct timespec at;

	reader.stamp++;
	if (!want(&w, v->stat->metric))
		return;
	if (v->stat->metric->indom != PCP_NO_INDOM) {
		s->version = ++reader.versions;
		profile_begin(s);
		profile_add(v->stat->metric->indom, 1, &inst);
		s->version = ++reader.versions;
	}
	r = source_fetch(w.pmids, w.count);
	if (r) {
		value_read(v->stat->metric, r, inst, &v->hint, &v->now);
		at = result_time(r);
		if (!s->read)
			set_time(s, &at);
		reader.pcp->pmFreeResult(r);
	}
	want_free(&w);
}

struct vals *vals_add(struct set *s, struct node *n, struct stat *st)
{
	struct vals *v;

	for (v = s->vals; v; v = v->next)
		if (v->node == n && v->stat == st) {
			v->pub.ref_count++;
			return v;
		}
	v = pool_alloc(&reader.pool, sizeof(*v));
	if (!v)
		return NULL;
	v->set = s;
	v->node = n;
	v->stat = st;
	v->pub.stat = st;
	v->pub.context = n;
	v->pub.ref_count = 1;
	v->pub.error = SiNoValue;
	n->refs++;
	register_object(&v->by_pub, KIND_VALS, v);
	v->next = s->vals;
	s->vals = v;
	s->changed = true;
	s->version = ++reader.versions;
	if (st->pub.value_type == SiCounter)
		first_reading(s, v);
	return v;
}

void vals_remove(struct set *s, struct vals *v)
{
	struct vals **at;

	for (at = &s->vals; *at && *at != v; at = &(*at)->next)
		;
	if (*at)
		*at = v->next;
	v->node->refs--;
	s->version = ++reader.versions;
	table_remove(&reader.table, &v->by_pub);
	pool_free(&reader.pool, v, sizeof(*v));
}

/* Asks for the instances that the set has, once for each domain. */
static void set_profile(struct set *s, int count)
{
	struct vals *v, *other;
	int n, *insts;

	if (profile_is(s))
		return;
	insts = pool_alloc(&reader.pool, (size_t)count * sizeof(*insts));
	if (!insts) {
		profile_all();
		return;
	}
	profile_begin(s);
	reader.stamp++;
	for (v = s->vals; v; v = v->next) {
		struct metric *m = v->stat->metric;

		if (!metric_ready(m) || m->indom == PCP_NO_INDOM || v->in_profile == reader.stamp)
			continue;
		for (n = 0, other = v; other; other = other->next)
			if (other->stat->metric->indom == m->indom && other->in_profile != reader.stamp) {
				other->in_profile = reader.stamp;
				insts[n++] = inst_of(other);
			}
		profile_add(m->indom, n, insts);
	}
	pool_free(&reader.pool, insts, (size_t)count * sizeof(*insts));
}

static struct pcp_result *set_fetch(struct set *s)
{
	struct wanted w = { NULL, 0, 0 };
	struct pcp_result *r = NULL;
	struct vals *v;
	int count = 0;

	for (v = s->vals; v; v = v->next, count++)
		refresh(v->node);
	if (count)
		set_profile(s, count);
	reader.stamp++;
	for (v = s->vals; v; v = v->next)
		want(&w, v->stat->metric);
	if (w.count)
		r = source_fetch(w.pmids, w.count);
	want_free(&w);
	return r;
}

/* Makes one fetch. If the connection has broken, it makes another over a new connection. */
void set_read(struct set *s)
{
	struct pcp_result *r = NULL;
	struct timespec at;
	struct vals *v;
	int tries;

	for (tries = 0; tries < 2 && !source_open(); tries++) {
		r = set_fetch(s);
		if (r || source_gen())
			break;
	}
	spmi_ok(); /* each value says that there is no pmcd */
	for (v = s->vals; v; v = v->next) {
		struct reading new;

		memset(&new, 0, sizeof(new));
		if (r && metric_ready(v->stat->metric) && v->stat->metric->stamp == reader.stamp)
			value_read(v->stat->metric, r, inst_of(v), &v->hint, &new);
		vals_take(v, &new);
	}
	at = r ? result_time(r) : now_time();
	if (r)
		reader.pcp->pmFreeResult(r);
	set_time(s, &at);
	s->read = true;
	s->changed = false;
	s->force = reader.force;
}
