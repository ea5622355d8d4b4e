/*
 * A program that does what a test in Go reads from test/cases.txt, a line at a time. It
 * answers each line that has a code with the code that it got.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/Spmidef.h>

enum { MOST = 16 };


static cx_create fixed[MOST], kinds[MOST];
static struct { char path[256], *area; } added[MOST * MOST];
static int fixed_count, kinds_count, added_count;
static const char *file;

static char *word(void)
{
	char *w = strtok(NULL, " \n");

	if (!w)
		exit(2);
	return strcmp(w, "\"\"") == 0 ? w + 2 : w;
}

/* Reads the rest of the line: statistics, with their numbers after a colon. */
static void declare(cx_create *c)
{
	struct SpmiRawStat *stats = calloc(MOST, sizeof(*stats));
	char *w, *number;

	while ((w = strtok(NULL, " \n")) && c->num_stats < MOST) {
		struct SpmiRawStat *s = &stats[c->num_stats];

		if ((number = strchr(w, ':'))) {
			*number = 0;
			s->asnno = (unsigned short)atoi(number + 1);
		}
		memcpy(s->name, w, strnlen(w, sizeof(s->name)));
		s->type = s->data_type = SiLong;
		s->size = sizeof(long);
		s->offset = c->num_stats++ * (int)sizeof(long);
	}
	c->stats = stats;
}

static void declare_fixed(void)
{
	cx_create *c = &fixed[fixed_count++];
	const char *path = word();

	memcpy(c->path, path, strnlen(path, sizeof(c->path)));
	c->asnno = (unsigned short)atoi(word());
	declare(c);
}

static void declare_kind(void)
{
	strcpy(kinds[kinds_count].path, "DDS");
	declare(&kinds[kinds_count++]);
}

static void add(void)
{
	int kind = atoi(word()), n = added_count;
	const char *path = word();
	char *area = SpmiDdsAddCx(kind, path, "", atoi(word()));

	if (!area)
		return;
	added[n].area = area;
	snprintf(added[n].path, sizeof(added[n].path), "%s", path);
	added_count++;
}

static void del(void)
{
	const char *path = word();
	int i = added_count;

	while (--i >= 0 && strcmp(added[i].path, path) != 0)
		;
	if (i < 0)
		exit(2);
	SpmiDdsDelCx(added[i].area);
}

static int obeyed(const char *op)
{
	if (strcmp(op, "open") == 0)
		SpmiDdsInit(fixed, fixed_count, kinds_count ? kinds : NULL, kinds_count, file);
	else if (strcmp(op, "add") == 0)
		add();
	else if (strcmp(op, "del") == 0)
		del();
	else if (strcmp(op, "init") == 0)
		SpmiInit(atoi(word()));
	else if (strcmp(op, "exit") == 0)
		SpmiExit();
	else
		return 0;
	printf("%d\n", SpmiErrno);
	return 1;
}

int main(int argc, char **argv)
{
	char line[1024], *op;

	file = argc > 1 ? argv[1] : "";
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin) && (op = strtok(line, " \n")))
		if (strcmp(op, "fixed") == 0 && fixed_count < MOST)
			declare_fixed();
		else if (strcmp(op, "kind") == 0 && kinds_count < MOST)
			declare_kind();
		else if (added_count == MOST * MOST || !obeyed(op))
			return 2;
	return 0;
}
