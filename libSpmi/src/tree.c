/*
 * The tree of contexts. A deleted node stays for a while, for programs that still have its
 * handle and for sets that read it. If its context comes back, the node is used again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reader.h"

enum {
	KEPT = 1024, /* number of deleted nodes that are kept */
	FRESH = 100  /* milliseconds in which a whole subtree is not asked for again */
};

int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Copies as much as fits. It does not cut a character of several bytes in two. */
void copy_text(char *to, size_t size, const char *from, size_t len)
{
	if (len >= size) {
		len = size - 1;
		while (len && ((unsigned char)from[len] & 0xc0) == 0x80)
			len--;
	}
	memset(to, 0, size);
	memcpy(to, from, len);
}

/* Handles: a pointer is looked up before it is followed. */

void register_object(struct entry *e, int kind, void *object)
{
	memset(&e->key, 0, sizeof(e->key));
	e->key.kind = (enum key_kind)kind;
	e->key.number = (uintptr_t)object;
	table_add(&reader.table, e, object);
}

void *object_of(int kind, const void *candidate)
{
	const struct key k = { .kind = (enum key_kind)kind, .number = (uintptr_t)candidate };
	struct entry *e = table_find(&reader.table, &k);

	return e ? e->owner : NULL;
}

struct node *node_of(SpmiCxHdl handle)
{
	struct node *n = handle ? object_of(KIND_CX, handle) : reader.top;

	if (!n)
		spmi_fail(SiInvalidCx, "no context has this handle, or it was deleted long ago");
	return n;
}

struct node *node_of_link(const struct SpmiCxLink *link)
{
	struct node *n = link ? object_of(KIND_CX, (const char *)link - offsetof(struct node, link)) : NULL;

	if (!n)
		spmi_fail(SiNotFound, "this SpmiCxLink is none that SpmiFirstCx or SpmiNextCx has returned");
	return n;
}

struct stat *stat_of(SpmiStatHdl handle)
{
	struct stat *s = handle ? object_of(KIND_STAT, handle) : NULL;

	if (!s)
		spmi_fail(SiNotFound, "no statistic has this handle");
	return s;
}

struct stat *stat_of_link(const struct SpmiStatLink *link)
{
	struct stat *s = link ? object_of(KIND_STAT, (const char *)link - offsetof(struct stat, link)) : NULL;

	if (!s)
		spmi_fail(SiNotFound, "this SpmiStatLink is none that SpmiFirstStat or SpmiNextStat has returned");
	return s;
}

/* Statistics */

struct stat *stat_new(const char *name, struct metric *m)
{
	struct stat *s = pool_alloc(&reader.pool, sizeof(*s));

	if (!s)
		return NULL;
	copy_text(s->pub.name, sizeof(s->pub.name), name, strlen(name));
	s->metric = m;
	s->scale = 1;
	s->inst = PCP_NO_INST;
	s->link.stat = s;
	register_object(&s->by_handle, KIND_STAT, s);
	return s;
}

bool stat_is(struct stat *s)
{
	return !s->gone && s->metric && metric_ready(s->metric);
}

struct stat *stat_first(struct stat *s)
{
	while (s && !stat_is(s))
		s = s->next;
	return s;
}

struct stat *node_stats(struct node *n)
{
	return n->class ? n->class->stats : n->stats;
}

/*
 * Finds or makes one of the node's own statistics. These are in the order of their ASN.1
 * numbers.
 */
struct stat *stat_ensure(struct node *n, const char *name, struct metric *m, unsigned short asn)
{
	struct stat *s, **at;

	for (s = n->stats; s && strcmp(s->pub.name, name) != 0; s = s->next)
		;
	if (!s) {
		s = stat_new(name, m);
		if (!s)
			return NULL;
		for (at = &n->stats; *at && (!asn || ((*at)->pub.asnno && (*at)->pub.asnno <= asn)); at = &(*at)->next)
			;
		s->next = *at;
		*at = s;
	}
	s->pub.asnno = asn;
	s->metric = m;
	s->gone = false;
	s->mark = reader.mark;
	return s;
}

void stat_sweep(struct node *n, uint32_t mark)
{
	struct stat *s;

	for (s = n->stats; s; s = s->next)
		s->gone = s->mark != mark;
}

/* Nodes */

bool node_is(const struct node *n)
{
	return !n->pub.deleted;
}

struct node *node_find(const struct node *parent, const char *name, size_t len)
{
	const struct key k = { .kind = (enum key_kind)KIND_NAME, .number = (uintptr_t)parent, .text = name, .len = len };
	struct entry *e = table_find(&reader.table, &k);

	return e ? e->owner : NULL;
}

static void from_deleted(struct node *n)
{
	*(n->older ? &n->older->younger : &reader.oldest) = n->younger;
	*(n->younger ? &n->younger->older : &reader.youngest) = n->older;
	n->older = n->younger = NULL;
	reader.deleted--;
}

static void to_deleted(struct node *n)
{
	n->older = reader.youngest;
	n->younger = NULL;
	*(n->older ? &n->older->younger : &reader.oldest) = n;
	reader.youngest = n;
	reader.deleted++;
}

static void node_free(struct node *n)
{
	struct node **at;
	struct stat *s;

	from_deleted(n);
	n->parent->last = NULL;
	for (at = &n->parent->child; *at; )
		if (*at == n)
			*at = n->next;
		else {
			n->parent->last = *at;
			at = &(*at)->next;
		}
	while ((s = n->stats)) {
		n->stats = s->next;
		table_remove(&reader.table, &s->by_handle);
		pool_free(&reader.pool, s, sizeof(*s));
	}
	table_remove(&reader.table, &n->by_handle);
	table_remove(&reader.table, &n->by_name);
	if (n->path)
		pool_free(&reader.pool, n->path, strlen(n->path) + 1);
	pool_free(&reader.pool, n, sizeof(*n));
}

static void forget_oldest(void)
{
	struct node *n = reader.oldest;

	while (n && (n->refs || n->child))
		n = n->younger;
	if (n)
		node_free(n);
}

static void node_delete(struct node *n)
{
	struct node *c;

	if (n->pub.deleted)
		return;
	for (c = n->child; c; c = c->next)
		node_delete(c);
	n->pub.deleted = 1;
	to_deleted(n);
}

/* Deletes the subcontexts that were not seen in this round. */
void node_sweep(struct node *n, uint32_t mark)
{
	struct node *c;

	for (c = n->child; c; c = c->next)
		if (c->mark != mark && !c->pub.deleted)
			node_delete(c);
	while (reader.deleted > KEPT) {
		int before = reader.deleted;

		forget_oldest();
		if (reader.deleted == before)
			break;
	}
}

static struct node *node_new(struct node *parent, const char *name)
{
	struct node *n = pool_alloc(&reader.pool, sizeof(*n));

	if (!n)
		return NULL;
	copy_text(n->pub.name, sizeof(n->pub.name), name, strlen(name));
	n->pub.parent = parent == reader.top ? NULL : parent;
	n->parent = parent;
	n->inst = PCP_NO_INST;
	n->link.context = n;
	register_object(&n->by_handle, KIND_CX, n);
	if (!parent)
		return n;
	n->by_name.key = (struct key){ .kind = (enum key_kind)KIND_NAME, .number = (uintptr_t)parent,
				       .text = n->pub.name, .len = strlen(n->pub.name) };
	table_add(&reader.table, &n->by_name, n);
	*(parent->last ? &parent->last->next : &parent->child) = n;
	parent->last = n;
	return n;
}

/*
 * Returns the subcontext of that name. It makes the subcontext or brings it back if
 * necessary.
 */
static struct node *node_take(struct node *parent, const char *name)
{
	struct node *n = node_find(parent, name, strlen(name));

	if (!n && !(n = node_new(parent, name)))
		return NULL;
	if (n->pub.deleted) {
		from_deleted(n);
		n->pub.deleted = 0;
		n->gen = 0;
	}
	n->mark = reader.mark;
	return n;
}

/* If the names of two instances come out alike, their numbers follow the names. */
struct node *node_ensure(struct node *parent, const char *name, int inst)
{
	struct node *n = node_find(parent, name, strlen(name));
	char other[SI_MAXNAME], number[16];
	size_t len;

	if (n && n->mark == reader.mark && n->inst != inst) {
		snprintf(number, sizeof(number), "~%d", inst);
		len = strlen(name) < sizeof(other) - 1 - strlen(number) ? strlen(name) : sizeof(other) - 1 - strlen(number);
		snprintf(other, sizeof(other), "%.*s%s", (int)len, name, number);
		name = other;
	}
	n = node_take(parent, name);
	if (n)
		n->inst = inst;
	return n;
}

struct node *node_next(const struct node *n)
{
	for (n = n->next; n; n = n->next)
		if (node_is(n) && !(n->parent == reader.top && n->origin == FROM_PCP))
			break;
	return (struct node *)n;
}

struct node *node_first(const struct node *n)
{
	const struct node before = { .next = n->child };

	return node_next(&before);
}

/* Contexts of the table */

/* Writes the description. The instance's name replaces a percent sign. */
static void describe(struct node *n, const char *instance)
{
	const char *from = n->class->description, *percent = n->class->star ? strchr(from, '%') : NULL;
	char text[400];

	if (percent)
		snprintf(text, sizeof(text), "%.*s%.250s%s", (int)(percent - from), from, instance, percent + 1);
	else
		snprintf(text, sizeof(text), "%s", from);
	copy_text(n->pub.description, sizeof(n->pub.description), text, strlen(text));
}

static struct node *class_node(struct node *parent, struct class *c, const char *name, int inst, const char *instance)
{
	struct node *n = node_ensure(parent, name, inst);

	if (!n)
		return NULL;
	n->class = c;
	n->origin = FROM_CLASS;
	n->pub.inst_freq = c->freq;
	n->pub.asnno = c->asnno;
	if (c->star)
		n->pub.asnno = inst >= 0 && inst < 65535 ? (unsigned short)(inst + 1) : 0;
	describe(n, instance);
	return n;
}

/* Makes a name fit for a path, without slashes and control characters. */
static void clean(char to[SI_MAXNAME], const char *from, size_t len)
{
	char *p;

	copy_text(to, SI_MAXNAME, from, len);
	for (p = to; *p; p++)
		if (*p == '/' || (unsigned char)*p < ' ' || *p == 0x7f)
			*p = '_';
	while (p > to && p[-1] == ' ')
		*--p = 0;
	if (!*to)
		strcpy(to, "_");
}

static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash && slash[1] ? slash + 1 : name;
}

static int add_instance(struct node *n, struct class *c, int inst, const char *instance)
{
	char name[SI_MAXNAME];
	size_t len = c->naming == NAME_WORD ? strcspn(instance, " ") : strlen(instance);
	const char *from = *instance == '/' && c->naming == NAME_WHOLE ? base_of(instance) : instance;

	clean(name, from, from == instance ? len : strlen(from));
	return class_node(n, c, name, inst, instance) ? 0 : SiCallocFailed;
}

/* Adds APPLICATION/TRANSACTION, or a file below the last name of its directory. */
static int add_grouped(struct node *n, struct class *group, struct class *c, int inst, const char *instance)
{
	char name[SI_MAXNAME], leaf[SI_MAXNAME], above[256];
	const char *slash = *instance == '/' ? strrchr(instance, '/') : strchr(instance, '/');
	struct node *g;

	snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - instance) : 0, instance);
	clean(name, *above ? base_of(above) : "other", strlen(*above ? base_of(above) : "other"));
	clean(leaf, slash ? slash + 1 : instance, strlen(slash ? slash + 1 : instance));
	g = class_node(n, group, name, PCP_NO_INST, *above ? above : "other");
	return g && class_node(g, c, leaf, inst, instance) ? 0 : SiCallocFailed;
}

/*
 * Finds the domain whose instances a class has. An archive may have only some of its
 * metrics.
 */
static bool domain_of(const struct class *c, unsigned int *indom)
{
	const struct stat *s = c->stats;
	struct metric *m = c->metric;

	for (; !metric_ready(m) || m->indom == PCP_NO_INDOM; s = s->next) {
		if (!s)
			return false;
		m = s->metric;
	}
	*indom = m->indom;
	return true;
}

static int add_instances(struct node *n, struct class *group, struct class *c)
{
	unsigned int indom;
	int i, count, err = 0, *insts = NULL;
	char **names = NULL;

	if (!domain_of(c, &indom))
		return 0;
	count = source_instances(indom, &insts, &names);
	for (i = 0; !err && i < count; i++)
		err = group ? add_grouped(n, group, c, insts[i], names[i]) : add_instance(n, c, insts[i], names[i]);
	if (count > 0) {
		free(insts);
		free(names);
	}
	return err;
}

bool is_group(const struct class *c)
{
	return c->star && !c->metric && c->child && c->child->star && c->child->metric;
}

static int class_instantiate(struct node *n)
{
	struct class *c;
	struct node *g;
	int err = 0;

	reader.mark++;
	for (c = n->class->child; !err && c; c = c->next)
		if (is_group(c))
			err = add_instances(n, c, c->child);
		else if (c->star)
			err = c->metric ? add_instances(n, NULL, c) : 0;
		else if (!class_node(n, c, c->name, PCP_NO_INST, c->name))
			err = SiCallocFailed;
	if (err || !source_gen())
		return err;
	for (g = n->child; g; g = g->next)
		if (g->origin != FROM_CLASS)
			g->mark = reader.mark;
		else if (g->class && is_group(g->class))
			node_sweep(g, reader.mark);
	node_sweep(n, reader.mark);
	return 0;
}

/* Parts of the names of PCP's metrics */

static struct node *pcp_node(struct node *parent, const char *name, const char *path)
{
	struct node *n = node_take(parent, name);

	if (!n)
		return NULL;
	n->origin = FROM_PCP;
	n->pub.inst_freq = SiNoInst;
	if (!n->path)
		n->path = pool_text(&reader.pool, path, strlen(path));
	return n->path ? n : NULL;
}

static void pcp_describe(char to[SI_MAXLNAME], unsigned int pmid)
{
	char *text = NULL;

	if (reader.pcp->pmLookupText(pmid, PCP_TEXT_ONELINE, &text) >= 0 && text)
		copy_text(to, SI_MAXLNAME, text, strcspn(text, "\n"));
	free(text);
}

static struct stat *pcp_stat(struct node *n, const char *name, struct metric *m, int inst)
{
	struct stat *s = stat_ensure(n, name, m, 0);

	if (!s)
		return NULL;
	if (!s->pub.description[0])
		pcp_describe(s->pub.description, m->pmid);
	s->pub.max = 100;
	s->pub.value_type = m->sem == PCP_SEM_COUNTER ? SiCounter : SiQuantity;
	s->pub.data_type = m->type == PCP_TYPE_FLOAT || m->type == PCP_TYPE_DOUBLE ? SiFloat : SiLong;
	s->inst = inst;
	return s;
}

static int pcp_leaf(struct node *n, const char *name, const char *path)
{
	struct metric *m = metric_get(path, strlen(path), NULL);
	struct node *c;

	if (!m)
		return SiCallocFailed;
	if (!metric_ready(m) || m->type > PCP_TYPE_DOUBLE || m->type < 0)
		return 0;
	if (m->indom == PCP_NO_INDOM)
		return pcp_stat(n, name, m, PCP_NO_INST) ? 0 : SiCallocFailed;
	c = pcp_node(n, name, path);
	if (!c)
		return SiCallocFailed;
	c->metric = m;
	c->pub.inst_freq = SiContInst;
	if (!c->pub.description[0])
		pcp_describe(c->pub.description, m->pmid);
	return 0;
}

static int pcp_instances(struct node *n)
{
	int i, count, err = 0, *insts = NULL;
	char **names = NULL, name[SI_MAXNAME];

	if (!metric_ready(n->metric))
		return 0;
	count = source_instances(n->metric->indom, &insts, &names);
	for (i = 0; !err && i < count; i++) {
		clean(name, names[i], strlen(names[i]));
		err = pcp_stat(n, name, n->metric, insts[i]) ? 0 : SiCallocFailed;
	}
	if (count > 0) {
		free(insts);
		free(names);
	}
	return err;
}

static int pcp_children(struct node *n)
{
	char **names = NULL, path[512];
	int i, count, err = 0, *leaf = NULL;

	count = reader.pcp->pmGetChildrenStatus(n->path, &names, &leaf);
	if (count < 0) {
		source_broken(count);
		return 0;
	}
	for (i = 0; !err && i < count; i++) {
		if (strlen(names[i]) >= SI_MAXNAME ||
		    (size_t)snprintf(path, sizeof(path), "%s.%s", n->path, names[i]) >= sizeof(path))
			continue;
		if (leaf[i] == 0)
			err = pcp_leaf(n, names[i], path);
		else
			err = pcp_node(n, names[i], path) ? 0 : SiCallocFailed;
	}
	if (count > 0) {
		free(names);
		free(leaf);
	}
	return err;
}

static int pcp_instantiate(struct node *n)
{
	int err;

	reader.mark++;
	err = n->metric ? pcp_instances(n) : pcp_children(n);
	if (!err && source_gen()) {
		stat_sweep(n, reader.mark);
		node_sweep(n, reader.mark);
	}
	return err;
}

/*
 * Returns a node if there are PCP metrics below that name. The name is not a context of the
 * table.
 */
static struct node *pcp_top(const char *name)
{
	char **names = NULL;
	int *leaf = NULL, count = reader.pcp->pmGetChildrenStatus(name, &names, &leaf);

	if (count < 0)
		source_broken(count);
	if (count <= 0)
		return NULL;
	free(names);
	free(leaf);
	return pcp_node(reader.top, name, name);
}

/* The whole tree */

/* Returns the node whose subcontexts are read together with those of this node. */
static struct node *whole(struct node *n)
{
	while (n->origin == FROM_DDS)
		n = n->parent;
	if (n->class && is_group(n->class))
		n = n->parent;
	return n;
}

static bool is_dds(const struct node *n)
{
	return n->parent == reader.top && strcmp(n->pub.name, "DDS") == 0;
}

/*
 * After a new connection, the instances of a context that is being read may have new
 * numbers.
 */
void refresh(struct node *n)
{
	if (n->parent && whole(n->parent)->gen != source_gen())
		instantiate(n->parent, false);
	if (n->origin == FROM_PCP && n->gen != source_gen())
		instantiate(n, false);
}

/* Finds the subcontexts that are there now. Without pmcd they do not change. */
int instantiate(struct node *n, bool always)
{
	struct node *w = whole(n);
	bool shared = w != n || w->origin == FROM_PCP || is_dds(w) ||
		      (w->class && w->class->child && is_group(w->class->child));
	int err;

	if (!source_gen())
		return 0;
	if (!always && w->gen == source_gen() && shared && clock_ms() - w->when < FRESH)
		return 0;
	w->gen = source_gen();
	w->when = clock_ms();
	err = w->origin == FROM_PCP ? pcp_instantiate(w) : class_instantiate(w);
	if (!err && is_dds(w))
		err = dds_instantiate(w);
	return err;
}

int tree_begin(void)
{
	reader.top = node_new(NULL, "");
	if (!reader.top)
		return SiCallocFailed;
	reader.top->class = reader.classes;
	copy_text(reader.top->pub.description, SI_MAXLNAME, reader.classes->description,
		  strlen(reader.classes->description));
	return instantiate(reader.top, true);
}

/* Names */

/* Finds an instance that its agent makes when it is looked up. */
static struct node *by_look_up(struct node *n, const char *name)
{
	unsigned int indom;
	struct class *c;
	int inst;

	for (c = n->class ? n->class->child : NULL; c; c = c->next)
		if (c->star && c->metric && c->naming == NAME_WHOLE && domain_of(c, &indom) &&
		    (inst = source_instance(indom, name)) >= 0)
			return class_node(n, c, name, inst, name);
	return NULL;
}

static struct node *child_of(struct node *n, const char *name, size_t len)
{
	char text[SI_MAXNAME];
	struct node *c;

	if (len == 0 || len >= SI_MAXNAME || instantiate(n, false))
		return NULL;
	c = node_find(n, name, len);
	if (c && node_is(c))
		return c;
	copy_text(text, sizeof(text), name, len);
	c = by_look_up(n, text);
	return c || n != reader.top ? c : pcp_top(text);
}

static int not_found(const char *what, const char *path)
{
	return spmi_fail(SiNotFound, "no %s %.63s%s%s", what, path, reader.refused[0] ? "; a line is refused: " : "",
			 reader.refused);
}

struct node *node_path(struct node *from, const char *path)
{
	const char *at = path;
	struct node *n = from;
	size_t len;

	while (n && *at) {
		len = strcspn(at, "/");
		n = child_of(n, at, len);
		at += len;
		if (*at == '/')
			at++;
	}
	if (!n && !spmi_collected())
		not_found("context", path);
	return n;
}

struct stat *node_stat(struct node *n, const char *name)
{
	struct stat *s;

	if ((n->origin != FROM_CLASS || n->metric) && instantiate(n, false))
		return NULL;
	for (s = stat_first(node_stats(n)); s; s = stat_first(s->next))
		if (strcmp(s->pub.name, name) == 0)
			return s;
	return NULL;
}

/*
 * Finds an instance by its whole name. The name may have slashes and be longer than a
 * statistic's name.
 */
static struct stat *instance_stat(struct node *n, const char *name)
{
	struct stat *s = node_stat(n, name);
	int inst;

	if (s || !metric_ready(n->metric))
		return s;
	inst = source_instance(n->metric->indom, name);
	for (s = stat_first(n->stats); s && inst >= 0; s = stat_first(s->next))
		if (s->inst == inst)
			return s;
	return NULL;
}

int stat_path(struct node *from, const char *path, struct node **node, struct stat **stat)
{
	const char *at = path;
	struct node *n = from;
	size_t len;

	for (; n; n = child_of(n, at, len), at += len + 1) {
		len = strcspn(at, "/");
		if (n->metric || !at[len])
			break;
	}
	*node = n;
	*stat = !n ? NULL : n->metric ? instance_stat(n, at) : node_stat(n, at);
	if (!*stat && !spmi_collected())
		not_found("statistic", path);
	return *stat ? 0 : SiNotFound;
}
