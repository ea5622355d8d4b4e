/*
 * The connection to pmcd, or the archive. The process has one. The first call that needs it
 * makes it; when it has broken, the next call makes a new one. Everything that was learnt
 * about metrics belongs to one connection. source_gen tells connections apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reader.h"

static int context = -1; /* of libpcp */
static int outside = -1; /* the context that the program itself was using in this thread */
static bool inside;
static bool is_archive;
static bool stale;       /* the context was made before SpmiExit */
static uint32_t gen, connections;
static const struct set *profile; /* the set whose instances are asked for; NULL: all */
static uint32_t profile_version;
static int64_t archive_start, opened, wait_until; /* ns */
static unsigned derived;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint32_t source_gen(void)
{
	return gen;
}

void source_forget(void)
{
	context = outside = -1;
	inside = false;
	gen = 0;
}

/* SpmiExit may run in a signal handler, in which libpcp cannot be called. */
void source_park(void)
{
	stale = true;
	gen = 0;
}

static void close_context(void)
{
	if (context >= 0)
		reader.pcp->pmDestroyContext(context);
	context = -1;
	gen = 0;
	stale = false;
}

bool source_broken(int code)
{
	if (code >= 0 || context < 0)
		return context < 0;
	if (code > PCP_ERR_BASE || code == PCP_ERR_TIMEOUT || code == PCP_ERR_IPC || code == PCP_ERR_NOTCONN ||
	    (code == PCP_ERR_EOF && !is_archive))
		close_context();
	return context < 0;
}

static int fail(const char *what, const char *name, int code, const char *advice)
{
	char text[120] = "";

	reader.pcp->pmErrStr_r(code, text, sizeof(text));
	return spmi_fail(SiInitFailed, "%s %.60s: %s; %s", what, name, text, advice);
}

/*
 * In each version of libpcp, the second field of 8 bytes in the label is the time when the
 * archive begins.
 */
static int rewind_archive(const char *name)
{
	union {
		struct { int magic, pid; long sec, fraction; } label;
		char room[2048];
	} u;
	int code;

	memset(&u, 0, sizeof(u));
	code = reader.pcp->pmGetArchiveLabel(&u);
	if (code < 0)
		return fail("archive", name, code, "set SPMI_ARCHIVE to an archive of pmlogger");
	archive_start = (int64_t)u.label.sec * 1000000000 +
			(int64_t)u.label.fraction * (reader.pcp->nanoseconds ? 1 : 1000);
	opened = now();
	return 0;
}

/* An archive is read at the pace at which it was written. */
static void move_on(void)
{
	int64_t at = archive_start + now() - opened;
	long stamp[2];

	stamp[0] = (long)(at / 1000000000);
	stamp[1] = (long)(at % 1000000000 / (reader.pcp->nanoseconds ? 1 : 1000));
	reader.pcp->pmSetMode(PCP_MODE_INTERP, stamp, 0);
}

static int new_context(const char *archive, const char *host)
{
	int64_t began = now();

	is_archive = archive != NULL;
	context = is_archive ? reader.pcp->pmNewContext(PCP_CONTEXT_ARCHIVE, archive) :
			       reader.pcp->pmNewContext(PCP_CONTEXT_HOST, host);
	if (context >= 0)
		return is_archive ? rewind_archive(archive) : 0;
	wait_until = 2 * now() - began;
	return is_archive ? fail("archive", archive, context, "set SPMI_ARCHIVE to an archive of pmlogger") :
			    fail("no pmcd at", host, context, "start pmcd there, or set SPMI_HOST to a host that runs it");
}

/* If an attempt took long, calls fail at once for as long as it took. */
static int connect_source(void)
{
	const char *host = secure_getenv("SPMI_HOST");
	int err;

	close_context();
	if (now() < wait_until)
		return spmi_fail(SiInitFailed, "pmcd has just not answered: start pmcd where it does not run, or try again later");
	err = new_context(secure_getenv("SPMI_ARCHIVE"), host && *host ? host : "local:");
	if (err) {
		if (context >= 0)
			close_context();
		context = -1;
		return err;
	}
	profile = NULL;
	derived = 0;
	gen = ++connections;
	return 0;
}

/* Makes ours the current context of this thread, until source_leave. */
int source_open(void)
{
	if (!inside)
		outside = reader.pcp->pmWhichContext();
	inside = true;
	if (outside == context)
		outside = -1;
	if (context >= 0 && !stale && reader.pcp->pmUseContext(context) >= 0)
		return 0;
	return connect_source();
}

/* A program may use libpcp itself. This gives the context that it was using back to it. */
void source_leave(void)
{
	if (inside && outside >= 0)
		reader.pcp->pmUseContext(outside);
	inside = false;
}

/* Metrics */

struct metric *metric_get(const char *name, size_t len, const char *expression)
{
	const struct key k = { .kind = (enum key_kind)KIND_METRIC, .text = expression ? expression : name,
			       .len = expression ? strlen(expression) : len };
	struct entry *e = table_find(&reader.table, &k);
	struct metric *m;

	if (e)
		return e->owner;
	m = pool_alloc(&reader.pool, sizeof(*m));
	if (!m)
		return NULL;
	if (expression)
		m->expression = pool_text(&reader.pool, expression, strlen(expression));
	else
		m->name = pool_text(&reader.pool, name, len);
	if (!m->expression && !m->name) {
		pool_free(&reader.pool, m, sizeof(*m));
		return NULL;
	}
	m->by_name.key = k;
	m->by_name.key.text = expression ? m->expression : m->name;
	table_add(&reader.table, &m->by_name, m);
	return m;
}

/* libpcp's message has several lines. The last one says what is wrong. */
static void note_refused(const struct metric *m, char *message)
{
	char *last;

	while (*message && message[strlen(message) - 1] == '\n')
		message[strlen(message) - 1] = 0;
	last = strrchr(message, '\n');
	if (!reader.refused[0])
		snprintf(reader.refused, sizeof(reader.refused), "%s: %.80s", m->where, last ? last + 1 : message);
}

/*
 * libpcp keeps derived metrics with the context. If an expression names a metric that is not
 * there, the look-up refuses it. What is refused here is not a valid expression.
 */
static int define(struct metric *m, char *name, size_t size)
{
	char *message = NULL;
	int code;

	snprintf(name, size, "spmi.m%u", derived++);
	code = reader.pcp->pmAddDerivedMetric(name, m->expression, &message);
	if (code < 0 && message)
		note_refused(m, message);
	free(message);
	return code;
}

static int look_up(struct metric *m)
{
	char name[32];
	const char *text = m->name;
	struct pcp_desc d;
	int code;

	if (m->expression) {
		text = name;
		code = define(m, name, sizeof(name));
		if (code < 0)
			return code;
	}
	m->pmid = PCP_NO_PMID;
	code = reader.pcp->pmLookupName(1, &text, &m->pmid);
	if (code < 0 || m->pmid == PCP_NO_PMID)
		return code < 0 ? code : PCP_ERR_BASE;
	memset(&d, 0, sizeof(d));
	code = reader.pcp->pmLookupDesc(m->pmid, &d);
	if (code < 0)
		return code;
	m->type = d.type;
	m->indom = d.indom;
	m->sem = d.sem;
	return 0;
}

/* Whether the metric is there, and can be asked for. */
bool metric_ready(struct metric *m)
{
	uint32_t g = gen;

	if (!g)
		return false;
	if (m->gen == g)
		return m->status == 0;
	m->status = look_up(m);
	if (m->status < 0 && source_broken(m->status))
		return false;
	m->gen = g;
	return m->status == 0;
}

int source_instances(unsigned int indom, int **insts, char ***names)
{
	int n = is_archive ? reader.pcp->pmGetInDomArchive(indom, insts, names) :
			     reader.pcp->pmGetInDom(indom, insts, names);

	if (n < 0)
		source_broken(n);
	return n;
}

/*
 * Looks an instance up. Some agents, such as rtlan, make an instance when they are asked for
 * it.
 */
int source_instance(unsigned int indom, const char *name)
{
	int n = is_archive ? reader.pcp->pmLookupInDomArchive(indom, name) : reader.pcp->pmLookupInDom(indom, name);

	if (n < 0)
		source_broken(n);
	return n;
}

/* Profiles: which instances are asked for. */

void profile_all(void)
{
	if (profile)
		reader.pcp->pmAddProfile(PCP_NO_INDOM, 0, NULL);
	profile = NULL;
}

bool profile_is(const struct set *s)
{
	return profile == s && profile_version == s->version;
}

void profile_begin(const struct set *s)
{
	reader.pcp->pmDelProfile(PCP_NO_INDOM, 0, NULL);
	profile = s;
	profile_version = s->version;
}

void profile_add(unsigned int indom, int count, int *insts)
{
	reader.pcp->pmAddProfile(indom, count, insts);
}

/* Values */

struct pcp_result *source_fetch(unsigned int *pmids, int n)
{
	struct pcp_result *r = NULL;
	int code;

	if (is_archive)
		move_on();
	code = reader.pcp->pmFetch(n, pmids, &r);
	if (code >= 0)
		return r;
	source_broken(code);
	return NULL;
}

struct timespec result_time(const struct pcp_result *r)
{
	struct timespec t;

	t.tv_sec = (time_t)r->stamp.sec;
	t.tv_nsec = reader.pcp->nanoseconds ? r->stamp.fraction : r->stamp.fraction * 1000;
	return t;
}

static bool extract(const struct metric *m, const struct pcp_valueset *v, const struct pcp_value *at, struct reading *to)
{
	union pcp_atom a;
	int as;

	to->whole = m->type != PCP_TYPE_FLOAT && m->type != PCP_TYPE_DOUBLE;
	as = !to->whole ? PCP_TYPE_DOUBLE : m->type == PCP_TYPE_U64 ? PCP_TYPE_U64 : PCP_TYPE_64;
	if (m->type > PCP_TYPE_DOUBLE || reader.pcp->pmExtractValue(v->valfmt, at, m->type, &a, as) < 0)
		return false;
	to->l = to->whole ? a.ll : 0;
	to->d = to->whole ? (m->type == PCP_TYPE_U64 ? (double)a.ull : (double)a.ll) : a.d;
	return true;
}

/* The value of an instance; hint is where it was the last time. */
bool value_read(const struct metric *m, const struct pcp_result *r, int inst, int *hint, struct reading *to)
{
	const struct pcp_valueset *v = m->index < r->numpmid ? r->vset[m->index] : NULL;
	int i = *hint;

	to->is = false;
	if (!v || v->pmid != m->pmid || v->numval <= 0)
		return false;
	if (m->indom == PCP_NO_INDOM)
		i = 0;
	else if (i >= v->numval || v->vlist[i].inst != inst)
		for (i = 0; i < v->numval && v->vlist[i].inst != inst; i++)
			;
	if (i == v->numval)
		return false;
	*hint = i;
	to->at = result_time(r);
	to->gen = gen;
	return to->is = extract(m, v, &v->vlist[i], to);
}
