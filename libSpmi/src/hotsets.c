/*
 * Hotsets. A hotset finds the subcontexts of a context, the grandparent, whose statistic is
 * highest or lowest. In FS and RTime/ARM the peers are one level further down. There, what
 * the program adds stands for a set of peers below each subcontext; these are made and
 * removed with the subcontexts.
 */
#include <stdlib.h>
#include <string.h>

#include "reader.h"

enum { MOST = 32767 }; /* avail_resp and count are short */

struct hot *hot_of(struct set *s, const void *pub)
{
	struct hot *h = pub ? object_of(KIND_HOT, pub) : NULL;

	if (h && h->set == s)
		return h;
	spmi_fail(pub ? SiNotFound : SiBadArgument, "this SpmiHotVals is none of the hotset");
	return NULL;
}

struct hot *hot_shown(struct hot *h)
{
	while (h && h->group)
		h = h->next;
	return h;
}

/* Arguments */

static int check_exceptions(const struct SpmiHotVals *a, int maxresp, int frequency, int severity, int trap_no)
{
	bool exceptions = a->except_type == SiHotException || a->except_type == SiHotBoth;
	bool traps = a->except_type == SiHotTrap || a->except_type == SiHotBoth;

	if (exceptions ? severity <= 0 || severity > MOST : severity != 0)
		return spmi_fail(SiBadArgument, "severity %d: want 1 to %d with exceptions, and 0 without", severity, MOST);
	if (traps ? trap_no <= 0 || trap_no > MOST : trap_no != 0)
		return spmi_fail(SiBadArgument, "trap number %d: want 1 to %d with traps, and 0 without", trap_no, MOST);
	if (!exceptions && !traps)
		return 0;
	if (maxresp == 0 || a->threshold == 0)
		return spmi_fail(SiBadArgument, "exceptions and traps want maxresp and threshold, neither of them 0");
	if (frequency < 5 || frequency > MOST)
		return spmi_fail(SiBadArgument, "frequency %d: want 5 to %d minutes between two exceptions", frequency, MOST);
	return 0;
}

int hot_check(const struct SpmiHotVals *a, int maxresp, int frequency, int severity, int trap_no)
{
	if (maxresp < 0 || maxresp > MOST)
		return spmi_fail(SiBadArgument, "maxresp %d: want 0 to %d", maxresp, MOST);
	if ((int)a->feed_type < SiHotNoFeed || a->feed_type > SiHotAlways)
		return spmi_fail(SiBadArgument, "feed_type %d: want SiHotNoFeed, SiHotThreshold or SiHotAlways", (int)a->feed_type);
	if ((int)a->except_type < SiHotNoException || a->except_type > SiHotBoth)
		return spmi_fail(SiBadArgument, "excp_type %d: want SiHotNoException, SiHotException, SiHotTrap or SiHotBoth",
				 (int)a->except_type);
	return check_exceptions(a, maxresp, frequency, severity, trap_no);
}

static struct class *group_class(const struct node *n)
{
	struct class *c;

	for (c = n->class ? n->class->child : NULL; c; c = c->next)
		if (is_group(c))
			return c;
	return NULL;
}

static struct stat *in_peers(struct node *n, const char *name)
{
	struct stat *s = NULL;
	struct node *c;

	if (instantiate(n, false))
		return NULL;
	for (c = node_first(n); c && !s; c = node_next(c))
		s = node_stat(c, name);
	return s;
}

/* The statistics of contexts in RTime are known before there are any such contexts. */
static struct stat *in_class(const struct class *c, const char *name)
{
	struct stat *s = NULL;

	if (!c || strncmp(c->path, "RTime/", 6) != 0)
		return NULL;
	for (c = c->child; c && !s; c = c->next) {
		for (s = c->stats; s && strcmp(s->pub.name, name) != 0; s = s->next)
			;
		if (!s && is_group(c))
			s = in_class(c, name);
	}
	return s;
}

static struct stat *stat_for(struct node *n, const char *name)
{
	struct stat *s = NULL;
	struct node *c;

	if (group_class(n) && !instantiate(n, false))
		for (c = node_first(n); c && !s; c = node_next(c))
			s = in_peers(c, name);
	else
		s = in_peers(n, name);
	if (!s)
		s = in_class(n->class, name);
	if (!s && !spmi_collected())
		spmi_fail(SiNotFound, "no context below %s has a statistic %.31s", n == reader.top ? "Top" : n->pub.name, name);
	return s;
}

/* Sets of peers */

static char *grandpa_path(const struct node *n)
{
	const struct node *up;
	size_t len = 0;
	char *path, *at;

	for (up = n; up->parent; up = up->parent)
		len += strlen(up->pub.name) + 1;
	path = pool_alloc(&reader.pool, len + 1);
	if (!path)
		return NULL;
	at = path + (len ? len - 1 : 0);
	*at = 0;
	for (up = n; up->parent; up = up->parent) {
		at -= strlen(up->pub.name);
		memcpy(at, up->pub.name, strlen(up->pub.name));
		if (at > path)
			*--at = '/';
	}
	return path;
}

static void free_path(struct hot *h)
{
	const struct node *up;
	size_t len = 0;

	for (up = h->node; up->parent; up = up->parent)
		len += strlen(up->pub.name) + 1;
	if (h->pub.path)
		pool_free(&reader.pool, h->pub.path, len + 1);
}

static struct hot *hot_new(struct set *s, struct node *n, const char *name, struct stat *st,
			   const struct SpmiHotVals *arguments, struct hot **at)
{
	struct hot *h = pool_alloc(&reader.pool, sizeof(*h));

	if (!h)
		return NULL;
	h->pub = *arguments;
	h->pub.stat = st;
	h->pub.grandpa = n;
	h->pub.ref_count = 1;
	h->pub.error = SiNoValue;
	h->pub.path = grandpa_path(n);
	if (!h->pub.path) {
		pool_free(&reader.pool, h, sizeof(*h));
		return NULL;
	}
	h->set = s;
	h->node = n;
	n->refs++;
	copy_text(h->name, sizeof(h->name), name, strlen(name));
	register_object(&h->by_pub, KIND_HOT, h);
	h->next = *at;
	*at = h;
	return h;
}

static void peer_free(struct peer **at)
{
	struct peer *p = *at;

	*at = p->next;
	p->node->refs--;
	pool_free(&reader.pool, p, sizeof(*p));
}

static void free_room(struct hot *h)
{
	size_t room = (size_t)h->room;

	pool_free(&reader.pool, h->pub.items, room * sizeof(*h->pub.items));
	pool_free(&reader.pool, h->values, room * sizeof(*h->values));
	pool_free(&reader.pool, h->order, room * sizeof(*h->order));
	h->pub.items = NULL;
	h->values = NULL;
	h->order = NULL;
	h->room = 0;
}

static void free_one(struct set *s, struct hot *h)
{
	struct hot **at;

	while (h->peers)
		peer_free(&h->peers);
	for (at = &s->hots; *at && *at != h; at = &(*at)->next)
		;
	if (*at)
		*at = h->next;
	free_room(h);
	free_path(h);
	h->node->refs--;
	table_remove(&reader.table, &h->by_pub);
	pool_free(&reader.pool, h, sizeof(*h));
}

void hot_free(struct set *s, struct hot *h)
{
	while (h->next && h->next->owner == h)
		free_one(s, h->next);
	free_one(s, h);
}

static bool same_arguments(const struct SpmiHotVals *a, const struct SpmiHotVals *b)
{
	return a->except_type == b->except_type && a->trap_no == b->trap_no && a->severity == b->severity &&
	       a->feed_type == b->feed_type && a->threshold == b->threshold && a->frequency == b->frequency &&
	       a->max_responses == b->max_responses;
}

static void read_hots(struct set *s, struct hot *only);

struct hot *hot_add(struct set *s, struct node *n, const char *name, const struct SpmiHotVals *arguments)
{
	struct stat *st = stat_for(n, name);
	struct hot *h, **at;

	if (!st)
		return NULL;
	for (at = &s->hots; *at; at = &(*at)->next)
		if (!(*at)->owner && (*at)->node == n && strcmp((*at)->name, name) == 0 &&
		    same_arguments(&(*at)->pub, arguments)) {
			(*at)->pub.ref_count++;
			return *at;
		}
	h = hot_new(s, n, name, st, arguments, at);
	if (!h)
		return NULL;
	h->group = group_class(n) != NULL;
	s->changed = true;
	read_hots(s, h); /* the first reading of counters, so that the next has rates */
	return h;
}

/*
 * Makes a set of peers for each subcontext that is there, and removes those of subcontexts
 * that are gone.
 */
static void expand(struct hot *h)
{
	struct hot **at = &h->next, *member, **found;
	struct node *c;

	while (*at && (*at)->owner == h)
		if (node_is((*at)->node))
			at = &(*at)->next;
		else
			free_one(h->set, *at);
	for (c = node_first(h->node); c; c = node_next(c)) {
		for (found = &h->next; *found && (*found)->owner == h && (*found)->node != c; found = &(*found)->next)
			;
		if (*found && (*found)->owner == h)
			continue;
		member = hot_new(h->set, c, h->name, h->pub.stat, &h->pub, found);
		if (!member)
			return;
		member->owner = h;
	}
}

/* Peers */

/* Makes the list of peers match the subcontexts, in their order. */
static void match_peers(struct hot *h)
{
	struct peer **at = &h->peers, *p;
	struct node *c;
	struct stat *s;

	for (c = h->node->child; c; c = c->next) {
		s = node_is(c) ? node_stat(c, h->name) : NULL;
		if (*at && (*at)->node == c) {
			if (s) {
				(*at)->stat = s;
				at = &(*at)->next;
			} else
				peer_free(at);
			continue;
		}
		if (!s)
			continue;
		p = pool_alloc(&reader.pool, sizeof(*p));
		if (!p)
			return;
		p->node = c;
		c->refs++;
		p->stat = s;
		p->next = *at;
		*at = p;
		at = &p->next;
	}
}

static bool taken_part(const struct hot *h, const struct hot *only)
{
	return !h->group && (!only || h == only || h->owner == only);
}

static struct pcp_result *fetch(struct set *s, struct hot *only)
{
	struct wanted w = { NULL, 0, 0 };
	struct pcp_result *r = NULL;
	struct hot *h;
	struct peer *p;

	for (h = s->hots; h; h = h->next) {
		if (only && h != only && h->owner != only)
			continue;
		if (node_is(h->node))
			instantiate(h->node, false);
		if (h->group)
			expand(h);
		else
			match_peers(h);
	}
	reader.stamp++;
	for (h = s->hots; h; h = h->next)
		for (p = taken_part(h, only) ? h->peers : NULL; p; p = p->next)
			want(&w, p->stat->metric);
	profile_all();
	if (w.count)
		r = source_fetch(w.pmids, w.count);
	want_free(&w);
	return r;
}

static void read_peer(struct peer *p, const struct pcp_result *r)
{
	const struct reading old = p->now;
	const struct metric *m = p->stat->metric;

	memset(&p->now, 0, sizeof(p->now));
	p->has_rate = false;
	if (!r || m->stamp != reader.stamp ||
	    !value_read(m, r, p->stat->inst != PCP_NO_INST ? p->stat->inst : p->node->inst, &p->hint, &p->now))
		return;
	p->value = (p->now.whole ? (double)p->now.l : p->now.d) * p->stat->scale;
	if (p->stat->pub.value_type == SiCounter)
		p->has_rate = take_reading(p->stat, &old, &p->now, &p->change, &p->value);
}

static bool has_value(const struct peer *p)
{
	return p->now.is && (p->stat->pub.value_type != SiCounter || p->has_rate);
}

static bool qualifies(const struct hot *h, const struct peer *p)
{
	if (!has_value(p))
		return false;
	if (h->pub.feed_type == SiHotAlways || h->pub.threshold == 0)
		return true;
	return h->pub.threshold > 0 ? p->value > h->pub.threshold : p->value < -(double)h->pub.threshold;
}

static int descending(const void *a, const void *b)
{
	const struct peer *x = *(struct peer *const *)a, *y = *(struct peer *const *)b;

	return x->value != y->value ? (x->value < y->value) - (x->value > y->value) : strcmp(x->node->pub.name, y->node->pub.name);
}

static int ascending(const void *a, const void *b)
{
	const struct peer *x = *(struct peer *const *)a, *y = *(struct peer *const *)b;

	return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : strcmp(x->node->pub.name, y->node->pub.name);
}

static bool make_room(struct hot *h, int n)
{
	int room = h->room ? h->room : 8;

	if (n <= h->room)
		return true;
	while (room < n)
		room *= 2;
	free_room(h);
	h->pub.items = pool_alloc(&reader.pool, (size_t)room * sizeof(*h->pub.items));
	h->values = pool_alloc(&reader.pool, (size_t)room * sizeof(*h->values));
	h->order = pool_alloc(&reader.pool, (size_t)room * sizeof(*h->order));
	h->room = room;
	if (h->pub.items && h->values && h->order)
		return true;
	free_room(h);
	return false;
}

static void choose(struct hot *h)
{
	struct peer *p;
	int i, n = 0, all = 0, with = 0;

	h->pub.count = h->pub.avail_resp = 0;
	for (p = h->peers; p; p = p->next)
		all++;
	if (!make_room(h, all)) {
		h->pub.error = SiCallocFailed;
		return;
	}
	for (p = h->peers; p; p = p->next) {
		with += p->now.is;
		if (qualifies(h, p))
			h->order[n++] = p;
	}
	h->pub.error = with || !all ? SiSuccess : SiNoValue;
	if (!node_is(h->node))
		h->pub.error = SiDeleted;
	if (n)
		qsort(h->order, (size_t)n, sizeof(*h->order), h->pub.threshold < 0 ? ascending : descending);
	h->pub.avail_resp = (short)(n < MOST ? n : MOST);
	h->pub.count = h->pub.avail_resp;
	if (h->pub.max_responses && h->pub.count > h->pub.max_responses)
		h->pub.count = h->pub.max_responses;
	if (h->pub.feed_type == SiHotNoFeed)
		h->pub.count = 0;
	for (i = 0; i < h->pub.count; i++) {
		struct SpmiHotItems *item = &h->pub.items[i];

		p = h->order[i];
		copy_text(item->name, sizeof(item->name), p->node->pub.name, strlen(p->node->pub.name));
		show_value(p->stat, &p->now, &item->val);
		show_change(p->stat, p->has_rate ? p->change : 0, &item->val_change);
		h->values[i] = (float)p->value;
	}
}

/* Reads all of the hotset, or only one of its entries, in one fetch. */
static void read_hots(struct set *s, struct hot *only)
{
	struct pcp_result *r = NULL;
	struct timespec at;
	struct peer *p;
	struct hot *h;
	int tries;

	for (tries = 0; tries < 2 && !source_open(); tries++) {
		r = fetch(s, only);
		if (r || source_gen())
			break;
	}
	spmi_ok();
	for (h = s->hots; h; h = h->next) {
		if (h->group && !only)
			h->pub.error = node_is(h->node) ? SiSuccess : SiDeleted;
		if (!taken_part(h, only))
			continue;
		for (p = h->peers; p; p = p->next)
			read_peer(p, r);
		if (!only)
			choose(h);
	}
	at = r ? result_time(r) : now_time();
	if (r)
		reader.pcp->pmFreeResult(r);
	if (!only || !s->read)
		set_time(s, &at);
}

void hot_read(struct set *s)
{
	read_hots(s, NULL);
	s->read = true;
	s->changed = false;
	s->force = reader.force;
}
