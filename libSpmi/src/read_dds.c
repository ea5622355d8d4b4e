/*
 * The contexts of suppliers, which the agent dds exports. rtime.dds.context has the
 * contexts. The metrics below dds are their statistics, and the label path says of which
 * context. For volatile contexts the path has an asterisk, and each instance has a path of
 * its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

struct dds_stat { /* what the labels of a metric below dds say */
	struct dds_stat *next;
	struct metric *metric;
	uint32_t gen;
	char path[2 * SI_MAXLNAME];
	char description[SI_MAXLNAME];
	long min, max;
	unsigned short asnno;
	enum ValType value_type;
	enum DataType data_type;
	int hint;
};

/* Labels are JSON: a string has quotation marks and may have escapes. */
static bool label(const struct pcp_labelset *s, const char *name, char *to, size_t size)
{
	size_t n = 0, from, end;
	int i;

	for (i = 0; i < s->nlabels; i++)
		if (s->labels[i].namelen == strlen(name) &&
		    memcmp(s->json + s->labels[i].name, name, strlen(name)) == 0)
			break;
	if (i >= s->nlabels)
		return false;
	from = s->labels[i].value;
	end = from + s->labels[i].valuelen;
	if (from < end && s->json[from] == '"') {
		from++;
		end--;
	}
	for (; from < end && n + 1 < size; from++) {
		if (s->json[from] == '\\' && from + 1 < end)
			from++;
		to[n++] = s->json[from];
	}
	to[n] = 0;
	return from >= end;
}

static void read_labels(struct dds_stat *d)
{
	struct pcp_labelset *sets = NULL;
	char text[32], *line = NULL;
	int n = reader.pcp->pmGetItemLabels(d->metric->pmid, &sets);

	d->path[0] = 0;
	d->max = 100;
	d->value_type = d->metric->sem == PCP_SEM_COUNTER ? SiCounter : SiQuantity;
	d->data_type = d->metric->type == PCP_TYPE_FLOAT || d->metric->type == PCP_TYPE_DOUBLE ? SiFloat : SiLong;
	if (n < 0)
		source_broken(n);
	if (n <= 0)
		return;
	if (!label(sets, "path", d->path, sizeof(d->path)))
		d->path[0] = 0;
	if (label(sets, "asn", text, sizeof(text)))
		d->asnno = (unsigned short)strtol(text, NULL, 10);
	if (label(sets, "min", text, sizeof(text)))
		d->min = strtol(text, NULL, 10);
	if (label(sets, "max", text, sizeof(text)))
		d->max = strtol(text, NULL, 10);
	if (label(sets, "type", text, sizeof(text)))
		d->data_type = strcmp(text, "SiFloat") == 0 || strcmp(text, "SiDouble") == 0 ? SiFloat : SiLong;
	if (label(sets, "valuetype", text, sizeof(text)))
		d->value_type = strcmp(text, "SiCounter") == 0 ? SiCounter : SiQuantity;
	reader.pcp->pmFreeLabelSets(sets, n);
	if (reader.pcp->pmLookupText(d->metric->pmid, PCP_TEXT_ONELINE, &line) >= 0 && line)
		copy_text(d->description, sizeof(d->description), line, strcspn(line, "\n"));
	free(line);
}

/* The names below dds, as libpcp lists them. */
static void add_name(const char *name, void *closure)
{
	struct metric *m = metric_get(name, strlen(name), NULL);
	struct dds_stat *d;

	(void)closure;
	if (!m || m->listed)
		return;
	d = pool_alloc(&reader.pool, sizeof(*d));
	if (!d)
		return;
	m->listed = true;
	d->metric = m;
	d->next = reader.dds;
	reader.dds = d;
}

static bool is_volatile(const struct dds_stat *d)
{
	return d->metric->indom != PCP_NO_INDOM;
}

static bool is_number(const struct dds_stat *d)
{
	return metric_ready(d->metric) && d->metric->type >= 0 && d->metric->type <= PCP_TYPE_DOUBLE;
}

/*
 * Finds the context at the first len bytes of path, below Top. If make is set, it makes a
 * missing one.
 */
static struct node *dds_node(const char *path, size_t len, bool make)
{
	struct node *n = reader.top, *parent;
	char name[SI_MAXNAME];
	size_t from = 0, to;

	for (; n && from < len; from = to + 1) {
		to = from + strcspn(path + from, "/");
		if (to > len)
			to = len;
		if (to == from || to - from >= SI_MAXNAME)
			return NULL;
		copy_text(name, sizeof(name), path + from, to - from);
		parent = n;
		n = node_find(parent, name, strlen(name));
		if (make && parent != reader.top && !(n && n->mark == reader.mark)) {
			n = node_ensure(parent, name, PCP_NO_INST);
			if (n)
				n->origin = FROM_DDS;
		}
		if (n && !node_is(n))
			return NULL;
	}
	return n && n->origin == FROM_DDS ? n : NULL;
}

static bool string_of(const struct metric *m, const struct pcp_result *r, int inst, int at, char *to, size_t size)
{
	const struct pcp_valueset *v = m->index < r->numpmid ? r->vset[m->index] : NULL;
	union pcp_atom a;

	if (!v || v->pmid != m->pmid || v->numval <= 0 || m->type != PCP_TYPE_STRING)
		return false;
	if (at >= v->numval || v->vlist[at].inst != inst)
		for (at = 0; at < v->numval && v->vlist[at].inst != inst; at++)
			;
	if (at == v->numval || reader.pcp->pmExtractValue(v->valfmt, &v->vlist[at], m->type, &a, PCP_TYPE_STRING) < 0)
		return false;
	copy_text(to, size, a.cp, strlen(a.cp));
	free(a.cp);
	return true;
}

static void read_contexts(struct metric *m[4], const struct pcp_result *r)
{
	const struct pcp_valueset *v = m[0]->index < r->numpmid ? r->vset[m[0]->index] : NULL;
	char path[2 * SI_MAXLNAME], text[SI_MAXLNAME];
	struct reading asn;
	struct node *n;
	int i, hint = 0;

	for (i = 0; v && i < v->numval; i++) {
		int inst = v->vlist[i].inst;

		if (!string_of(m[0], r, inst, i, path, sizeof(path)) || !(n = dds_node(path, strlen(path), true)))
			continue;
		n->pub.inst_freq = SiNoInst;
		if (metric_ready(m[1]) && string_of(m[1], r, inst, i, text, sizeof(text)))
			copy_text(n->pub.description, sizeof(n->pub.description), text, strlen(text));
		if (metric_ready(m[3]) && string_of(m[3], r, inst, i, text, sizeof(text)) && strcmp(text, "SiContInst") == 0)
			n->pub.inst_freq = SiContInst;
		n->pub.asnno = metric_ready(m[2]) && value_read(m[2], r, inst, &hint, &asn) ? (unsigned short)asn.l : 0;
	}
}

static void store(struct node *n, const struct dds_stat *d, int inst)
{
	struct stat *s = stat_ensure(n, strrchr(d->path, '/') + 1, d->metric, d->asnno);

	if (!s)
		return;
	memcpy(s->pub.description, d->description, sizeof(s->pub.description));
	s->pub.min = d->min;
	s->pub.max = d->max;
	s->pub.value_type = d->value_type;
	s->pub.data_type = d->data_type;
	s->inst = inst;
}

/* The paths of a domain's instances, and the statistics that have values for them. */
static void read_instances(unsigned int indom, const struct pcp_result *r)
{
	struct pcp_labelset *sets = NULL;
	char path[2 * SI_MAXLNAME];
	struct dds_stat *d;
	struct reading v;
	struct node *n;
	int i, count = reader.pcp->pmGetInstancesLabels(indom, &sets);

	if (count < 0)
		source_broken(count);
	for (i = 0; i < count; i++) {
		if (!label(&sets[i], "path", path, sizeof(path)) || !(n = dds_node(path, strlen(path), false)))
			continue;
		for (d = reader.dds; d; d = d->next)
			if (d->metric->stamp == reader.stamp && d->metric->indom == indom &&
			    value_read(d->metric, r, (int)sets[i].inst, &d->hint, &v))
				store(n, d, (int)sets[i].inst);
	}
	if (count > 0)
		reader.pcp->pmFreeLabelSets(sets, count);
}

static void read_stats(struct wanted *w)
{
	struct dds_stat *d, *other;
	struct pcp_result *r = NULL;
	struct node *n;

	reader.pcp->pmTraversePMNS_r("dds", add_name, NULL);
	reader.stamp++;
	w->count = 0;
	for (d = reader.dds; d; d = d->next) {
		if (!is_number(d))
			continue;
		if (d->gen != source_gen()) {
			read_labels(d);
			d->gen = source_gen();
		}
		if (!strrchr(d->path, '/'))
			continue;
		if (is_volatile(d))
			want(w, d->metric);
		else if ((n = dds_node(d->path, (size_t)(strrchr(d->path, '/') - d->path), false)))
			store(n, d, PCP_NO_INST);
	}
	if (w->count)
		r = source_fetch(w->pmids, w->count);
	for (d = reader.dds; r && d; d = d->next) {
		if (d->metric->stamp != reader.stamp)
			continue;
		for (other = reader.dds; other != d; other = other->next)
			if (other->metric->stamp == reader.stamp && other->metric->indom == d->metric->indom)
				break;
		if (other == d)
			read_instances(d->metric->indom, r);
	}
	if (r)
		reader.pcp->pmFreeResult(r);
}

static void sweep(struct node *n, uint32_t mark)
{
	struct node *c;

	stat_sweep(n, mark);
	for (c = n->child; c; c = c->next)
		sweep(c, mark);
	node_sweep(n, mark);
}

int dds_instantiate(struct node *dds)
{
	static const char *const names[] = { "rtime.dds.context.path", "rtime.dds.context.description",
					     "rtime.dds.context.asn", "rtime.dds.context.instantiability" };
	struct wanted w = { NULL, 0, 0 };
	struct pcp_result *r = NULL;
	struct metric *m[4];
	struct node *c;
	size_t i;

	reader.mark++;
	reader.stamp++;
	for (i = 0; i < 4; i++) {
		m[i] = metric_get(names[i], strlen(names[i]), NULL);
		if (!m[i])
			return SiCallocFailed;
		want(&w, m[i]);
	}
	profile_all();
	if (metric_ready(m[0]))
		r = source_fetch(w.pmids, w.count);
	if (r) {
		read_contexts(m, r);
		reader.pcp->pmFreeResult(r);
		read_stats(&w);
	}
	want_free(&w);
	if (!source_gen())
		return 0;
	for (c = dds->child; c; c = c->next)
		sweep(c, reader.mark);
	node_sweep(dds, reader.mark);
	return 0;
}
