/*
 * The table of contexts. The lines of contexts.conf are built in. The lines of the site's file
 * add to them; a line with the same path replaces the built-in one. A line that is refused is
 * left out. Whenever a path is not found, the error names the file, the number and the reason of
 * the first line that was refused.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static const char *const built_in[] = {
#include "contexts.inc"
};

enum { LINE = 1024, WORDS = 8 };

struct line {
	const char *file;
	int number;
	char text[LINE];
	char *word[WORDS]; /* the words before the expression */
	int words;
	char *rest;
};

/* Keeps only the first refused line, because a site corrects that one first. */
static int refuse(const struct line *l, const char *reason, const char *name)
{
	if (!reader.refused[0])
		snprintf(reader.refused, sizeof(reader.refused), "%s:%d: %s%s%.40s", l->file, l->number, reason,
			 *name ? ": " : "", name);
	return SiBadArgument;
}

/* Cuts off the next word. A word in quotation marks may have blanks. Returns NULL at the end. */
static char *next_word(char **at)
{
	char *from = *at + strspn(*at, " \t"), *to;

	if (!*from || *from == '#')
		return NULL;
	if (*from == '"') {
		to = strchr(++from, '"');
		if (!to)
			return NULL;
	} else
		to = from + strcspn(from, " \t");
	*at = *to ? to + 1 : to;
	*to = 0;
	return from;
}

static void split(struct line *l, int words)
{
	char *at = l->text;

	while (l->words < words && (l->word[l->words] = next_word(&at)))
		l->words++;
	l->rest = at + strspn(at, " \t");
}

static bool number(const char *text, long min, long max, long *to)
{
	char *end;

	*to = strtol(text, &end, 10);
	return *text && !*end && *to >= min && *to <= max;
}

/* A metric's name or an expression, without blanks at its end. */
static struct metric *metric_of(const struct line *l)
{
	size_t len = strlen(l->rest);
	struct metric *m;

	while (len && isspace((unsigned char)l->rest[len - 1]))
		len--;
	l->rest[len] = 0;
	if (strspn(l->rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == len)
		return metric_get(l->rest, len, NULL);
	m = metric_get("", 0, l->rest);
	if (m && !m->where[0])
		snprintf(m->where, sizeof(m->where), "%s:%d", l->file, l->number);
	return m;
}

static struct class *class_find(const char *path, size_t len)
{
	const struct key k = { .kind = (enum key_kind)KIND_CLASS, .text = path, .len = len };
	struct entry *e = len ? table_find(&reader.table, &k) : NULL;

	return len ? (e ? e->owner : NULL) : reader.classes;
}

static struct class *class_add(struct class *parent, const char *path)
{
	struct class *c = pool_alloc(&reader.pool, sizeof(*c)), **at;

	if (!c || !(c->path = pool_text(&reader.pool, path, strlen(path))))
		return NULL;
	c->parent = parent;
	c->name = c->path + (strrchr(c->path, '/') ? strrchr(c->path, '/') + 1 - c->path : 0);
	c->star = strcmp(c->name, "*") == 0;
	c->by_path.key = (struct key){ .kind = (enum key_kind)KIND_CLASS, .text = c->path, .len = strlen(path) };
	table_add(&reader.table, &c->by_path, c);
	for (at = &parent->child; *at; at = &(*at)->next)
		;
	*at = c;
	return c;
}

static bool names_fit(const char *path)
{
	size_t len;

	if (strlen(path) >= SI_MAXLNAME)
		return false;
	for (;; path += len + 1) {
		len = strcspn(path, "/");
		if (len == 0 || len >= SI_MAXNAME)
			return false;
		if (!path[len])
			return true;
	}
}

static bool instantiability(const char *word, enum SiInstFreq *to)
{
	static const char *const words[] = { "SiNoInst", "SiCfgInst", "SiContInst" };
	int i;

	for (i = 0; i < 3; i++)
		if (strcmp(word, words[i]) == 0) {
			*to = (enum SiInstFreq)i;
			return true;
		}
	return false;
}

static int check_asn(const struct line *l, const struct class *parent, const char *path, long asn)
{
	const struct class *c;
	const struct stat *s;

	for (c = parent->child; asn && c; c = c->next)
		if (c->asnno == asn && strcmp(c->path, path) != 0)
			return refuse(l, "another context at its level has the ASN.1 number", l->word[2]);
	for (s = parent->stats; asn && s; s = s->next)
		if (s->pub.asnno == asn && strcmp(s->pub.name, strrchr(path, '/') ? strrchr(path, '/') + 1 : path) != 0)
			return refuse(l, "a statistic at its level has the ASN.1 number", l->word[2]);
	return 0;
}

static struct class *parent_of(const char *path)
{
	return class_find(path, parent_len(path, strlen(path)));
}

static int read_context(struct line *l)
{
	struct class *c, *parent;
	enum SiInstFreq freq;
	char *word;
	long asn;

	split(l, 5);
	if (l->words < 5)
		return refuse(l, "want: context PATH ASN SUBCONTEXTS \"DESCRIPTION\" [METRIC [word]]", "");
	if (!names_fit(l->word[1]))
		return refuse(l, "want a path of 63 bytes at most, of names of 1 to 31 bytes", l->word[1]);
	parent = parent_of(l->word[1]);
	if (!parent)
		return refuse(l, "no context above it in a line before", l->word[1]);
	if (!number(l->word[2], 0, 65535, &asn))
		return refuse(l, "want an ASN.1 number from 0 to 65535", l->word[2]);
	if (!instantiability(l->word[3], &freq))
		return refuse(l, "want SiNoInst, SiCfgInst or SiContInst", l->word[3]);
	if (strlen(l->word[4]) >= SI_MAXLNAME)
		return refuse(l, "description longer than 63 bytes", l->word[4]);
	if (check_asn(l, parent, l->word[1], asn))
		return SiBadArgument;
	c = class_find(l->word[1], strlen(l->word[1]));
	if (!c && !(c = class_add(parent, l->word[1])))
		return SiCallocFailed;
	strcpy(c->description, l->word[4]);
	c->asnno = (unsigned short)asn;
	c->freq = freq;
	word = next_word(&l->rest);
	c->metric = word && c->star ? metric_get(word, strlen(word), NULL) : NULL;
	word = word ? next_word(&l->rest) : NULL;
	c->naming = word && strcmp(word, "word") == 0 ? NAME_WORD : NAME_WHOLE;
	return 0;
}

static struct stat *stat_in(struct class *c, const char *name)
{
	struct stat *s, **at;

	for (at = &c->stats; *at; at = &(*at)->next)
		if (strcmp((*at)->pub.name, name) == 0)
			return *at;
	s = stat_new(name, NULL);
	*at = s;
	return s;
}

static int store_stat(struct line *l, struct class *c, const char *name, const struct SpmiStat *pub, double scale)
{
	struct metric *m = metric_of(l);
	struct stat *s = m ? stat_in(c, name) : NULL;

	if (!s)
		return SiCallocFailed;
	s->pub = *pub;
	copy_text(s->pub.name, sizeof(s->pub.name), name, strlen(name));
	s->metric = m;
	s->scale = scale;
	return 0;
}

static int read_stat(struct line *l)
{
	struct SpmiStat pub;
	struct class *c;
	long asn, min, max;
	double scale;
	char *end, *description;

	memset(&pub, 0, sizeof(pub));
	split(l, 8);
	description = l->words == 8 ? next_word(&l->rest) : NULL;
	l->rest += l->rest && description ? strspn(l->rest, " \t") : 0;
	if (!description || !*l->rest)
		return refuse(l, "want: stat PATH ASN VALUETYPE DATATYPE MIN MAX SCALE \"DESCRIPTION\" EXPRESSION", "");
	if (!names_fit(l->word[1]))
		return refuse(l, "want a path of 63 bytes at most, of names of 1 to 31 bytes", l->word[1]);
	c = parent_of(l->word[1]);
	if (!c || !c->parent)
		return refuse(l, "no context of it in a line before", l->word[1]);
	if (!number(l->word[2], 0, 65535, &asn))
		return refuse(l, "want an ASN.1 number from 0 to 65535", l->word[2]);
	if (strcmp(l->word[3], "SiCounter") != 0 && strcmp(l->word[3], "SiQuantity") != 0)
		return refuse(l, "want SiCounter or SiQuantity", l->word[3]);
	if (strcmp(l->word[4], "SiLong") != 0 && strcmp(l->word[4], "SiFloat") != 0)
		return refuse(l, "want SiLong or SiFloat", l->word[4]);
	if (!number(l->word[5], -2147483647, 2147483647, &min) || !number(l->word[6], -2147483647, 2147483647, &max))
		return refuse(l, "want two whole numbers for minimum and maximum", l->word[5]);
	scale = strtod(l->word[7], &end);
	if (*end || !(scale > 0 && scale < 1e12))
		return refuse(l, "want a scale above 0", l->word[7]);
	if (strlen(description) >= SI_MAXLNAME)
		return refuse(l, "description longer than 63 bytes", description);
	if (check_asn(l, c, l->word[1], asn))
		return SiBadArgument;
	strcpy(pub.description, description);
	pub.min = min;
	pub.max = max;
	pub.asnno = (unsigned short)asn;
	pub.value_type = strcmp(l->word[3], "SiCounter") == 0 ? SiCounter : SiQuantity;
	pub.data_type = strcmp(l->word[4], "SiLong") == 0 ? SiLong : SiFloat;
	return store_stat(l, c, strrchr(l->word[1], '/') + 1, &pub, scale);
}

/* Returns an error only if there is no memory. */
static int read_line(const char *file, int n, const char *text)
{
	struct line l;
	int err = 0;

	memset(&l, 0, sizeof(l));
	l.file = file;
	l.number = n;
	snprintf(l.text, sizeof(l.text), "%.*s", (int)strcspn(text, "\n"), text);
	text += strspn(text, " \t");
	if (strcspn(text, "\n") == 0 || *text == '#')
		return 0;
	if (strncmp(text, "context", 7) == 0 && isspace((unsigned char)text[7]))
		err = read_context(&l);
	else if (strncmp(text, "stat", 4) == 0 && isspace((unsigned char)text[4]))
		err = read_stat(&l);
	else
		refuse(&l, "want a line that begins with context or stat", "");
	return err == SiCallocFailed ? err : 0;
}

static int read_site(const char *file)
{
	FILE *f = fopen(file, "re");
	char text[LINE];
	struct line too_long;
	int n = 0, err = 0;

	if (!f)
		return 0; /* a site may have no such file */
	while (!err && fgets(text, sizeof(text), f)) {
		n++;
		if (strchr(text, '\n') || feof(f)) {
			err = read_line(file, n, text);
			continue;
		}
		too_long.file = file;
		too_long.number = n;
		refuse(&too_long, "line longer than 1022 bytes", "");
		while (fgets(text, sizeof(text), f) && !strchr(text, '\n'))
			;
	}
	fclose(f);
	return err;
}

int classes_load(void)
{
	const char *site = secure_getenv("SPMI_CONTEXTS");
	size_t i;
	int err = 0;

	reader.classes = pool_alloc(&reader.pool, sizeof(struct class));
	if (!reader.classes || !(reader.classes->path = pool_text(&reader.pool, "", 0)))
		return SiCallocFailed;
	reader.classes->name = reader.classes->path;
	strcpy(reader.classes->description, "Top of all contexts");
	for (i = 0; !err && i < sizeof(built_in) / sizeof(*built_in); i++)
		err = read_line("contexts.conf", (int)i + 1, built_in[i]);
	return err ? err : read_site(site && *site ? site : "/etc/pcp/spmi/contexts.conf");
}
