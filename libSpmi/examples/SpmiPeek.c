/*
 * SpmiPeek prints statistics by their paths, or lists contexts and statistics.
 *
 *	SpmiPeek [-i SECONDS] [-n SAMPLES] PATH...
 *	SpmiPeek -l [CONTEXT]
 *
 * See SpmiPeek(1).
 */
#define _DEFAULT_SOURCE 1 /* for getopt in strict dialects of C */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/Spmidef.h>

static void fail(const char *what)
{
	fprintf(stderr, "SpmiPeek: %s: %s (%d)\n", what, SpmiErrmsg, SpmiErrno);
	SpmiExit();
	exit(1);
}

/* Prints a context's statistics and, below them, its subcontexts. */
static void list(SpmiCxHdl cx, const char *path)
{
	struct SpmiCxLink *c;
	struct SpmiStatLink *s;
	char below[1024];

	for (s = SpmiFirstStat(cx); s; s = SpmiNextStat(s)) {
		struct SpmiStat *stat = SpmiGetStat(s->stat);

		printf("%s/%-20s %s\n", path, stat->name, stat->description);
	}
	for (c = SpmiFirstCx(cx); c; c = SpmiNextCx(c)) {
		struct SpmiCx *sub = SpmiGetCx(c->context);

		if (strlen(path) + strlen(sub->name) + 2 > sizeof(below))
			continue;
		strcpy(below, path);
		strcat(below, "/");
		strcat(below, sub->name);
		printf("%s/%-*s %s\n", below, (int)(20 - (strlen(sub->name) < 19 ? strlen(sub->name) : 19)), "",
		       sub->description);
		list(c->context, below);
	}
}

static void print(struct SpmiStatSet *set)
{
	struct SpmiStatVals *v;
	float value;
	char *path;

	for (v = SpmiNextValue(set, NULL, &value); v; v = SpmiNextValue(set, v, &value)) {
		int err = SpmiErrno;

		path = SpmiStatGetPath(v->context, v->stat, 0);
		if (err)
			printf("%s: no value (%d)\n", path ? path : "?", err);
		else
			printf("%s: %.9g\n", path ? path : "?", value);
	}
	fflush(stdout);
}

static int usage(void)
{
	fprintf(stderr, "usage: SpmiPeek [-i SECONDS] [-n SAMPLES] PATH...\n       SpmiPeek -l [CONTEXT]\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct SpmiStatSet *set;
	int i, seconds = 1, samples = 1, tree = 0;
	SpmiCxHdl cx;
	char path[1024] = "";

	while ((i = getopt(argc, argv, "i:n:l")) != -1)
		switch (i) {
		case 'i': seconds = atoi(optarg); break;
		case 'n': samples = atoi(optarg); break;
		case 'l': tree = 1; break;
		default: return usage();
		}
	if (seconds < 0 || samples < 1 || (tree ? argc - optind > 1 : argc == optind))
		return usage();
	if (SpmiInit(0))
		fail("SpmiInit");
	if (tree) {
		cx = SpmiPathGetCx(argv[optind], NULL);
		if (!cx)
			fail(argv[optind] ? argv[optind] : "Top");
		if (argv[optind] && *argv[optind])
			sprintf(path, "/%.1000s", argv[optind]);
		list(cx, path);
		SpmiExit();
		return 0;
	}
	set = SpmiCreateStatSet();
	if (!set)
		fail("SpmiCreateStatSet");
	for (i = argc - 1; i >= optind; i--) /* the statistic that is added last comes first */
		if (!SpmiPathAddSetStat(set, argv[i], NULL))
			fail(argv[i]);
	for (i = 0; i < samples; i++) {
		sleep((unsigned)seconds);
		if (SpmiGetStatSet(set, TRUE))
			fail("SpmiGetStatSet");
		print(set);
	}
	if (SpmiFreeStatSet(set))
		fail("SpmiFreeStatSet");
	SpmiExit();
	return 0;
}
