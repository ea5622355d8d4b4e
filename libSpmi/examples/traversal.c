/*
 * The guide's data traversal: it prints all contexts and their statistics. What is mended here,
 * because printing broke it:
 *
 *	- three braces and an fprintf in findstats
 *	- the body of lststats
 *	- the two strings of blanks, which are printed with only one blank
 *	- strcmp and strcpy with NULL, which should have an empty text
 *	- main without a type, so that it compiles as C89 to C23, and the includes
 *
 * Two things are changed: the texts have room for the longest paths, and the number of
 * blanks before a description is never less than one. The guide leaves out the statistics of
 * the second and further instances. It does not reset the count for that on the way back, and
 * neither does this program.
 */
#include <sys/types.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/Spmidef.h>

char stats[1024];  /* statistic name info */
char cxt[1024];    /* context name info */
char subcxt[1024]; /* text holder */
const char *blanks = "                                        "; /* blanks for text */
const char *blank2 = "     ";
int instantiable = 0;

/* findstats is a function that traverses recursively down a
 * context link.  When the end of the context link is found,
 * findstats traverses down the statistics links and writes the
 * statistic name to stdout.  findstats is originally passed the
 * context handle for the TOP context. */
void findstats(SpmiCxHdl cxhdl)
{
	struct SpmiCxLink *cxlink;
	struct SpmiStatLink *statlink;
	struct SpmiCx *spmicx, *spmicxparent;
	struct SpmiStat *spmistat;
	char *statname;
	int cxtlen1, cxtlen2, descplace;

	/* Get first context */
	if ((cxlink = SpmiFirstCx(cxhdl))) {
		while (cxlink) {
			/* output context name */
			spmicx = SpmiGetCx(cxlink->context);
			/* if the subcxt is a child of another context */
			if (strcmp(subcxt, "")) {
				strcat(subcxt, "/");
				strcat(subcxt, spmicx->name);
			} else
				strcpy(subcxt, spmicx->name);
			cxtlen1 = (int)strlen(spmicx->name);
			cxtlen2 = (int)strlen(subcxt);
			/* determine if the context's parent is instantiable */
			/* because we don't want to have to print stats twice */
			spmicxparent = SpmiGetCx(spmicx->parent);
			if (spmicxparent->inst_freq == SiContInst)
				instantiable++;
			else
				instantiable = 0;
			/* only want to print out the stats for any contexts */
			/* whose parents aren't instantiable.  If the parent */
			/* is instantiable then you only want to print out   */
			/* the stats for the first instance of that parent. */
			if (instantiable <= 1) {
				strcpy(cxt, subcxt);
				if (!instantiable) {
					if (cxtlen1 == cxtlen2)
						descplace = 30 - cxtlen2;
					else
						descplace = 35 - cxtlen2;
					strncat(cxt, blanks, (size_t)(descplace > 0 ? descplace : 1));
					strcat(cxt, spmicx->description);
				}
				fprintf(stdout, "%s\n", cxt);
				/* Traverse the stats list for the context */
				if ((statlink = SpmiFirstStat(cxlink->context))) {
					while (statlink) {
						spmistat = SpmiGetStat(statlink->stat);
						statname = SpmiStatGetPath(cxlink->context,
									   statlink->stat, 10);
						/* output statistic name */
						strcpy(stats, statname);
						descplace = (int)strlen(stats);
						descplace = 40 - descplace;
						strncat(stats, blanks, (size_t)(descplace > 0 ? descplace : 1));
						strcat(stats, spmistat->description);
						fprintf(stdout, "%s\n", stats);
						/* output stat info */
						strcpy(stats, "Data Type(");
						if (spmistat->data_type == SiLong)
							strcat(stats, "Long) ");
						else
							strcat(stats, "Float)");
						strcat(stats, "  Value Type(");
						if (spmistat->value_type == SiCounter)
							strcat(stats, "Counter)");
						else
							strcat(stats, "Quantity)");
						fprintf(stdout, "%s%s\n", blank2, stats);
						statlink = SpmiNextStat(statlink);
					} /* end while (statlink) */
				}
			}
			/* recursive call to function */
			/* this gets the next context link */
			findstats(cxlink->context);
			if (cxtlen2 == cxtlen1)
				strcpy(subcxt, "");
			else
				subcxt[cxtlen2 - cxtlen1 - 1] = 0;
			/* Go to next context */
			cxlink = SpmiNextCx(cxlink);
		} /* end while(cxlink) */
	} /* end if (cxlink) */
	return;
}

/* lststats gets the TOP context handle.  This handle is then
 * passed to the findstats routine */
void lststats(void)
{
	SpmiCxHdl cxhdl;

	if (!(cxhdl = SpmiPathGetCx(NULL, NULL))) {
		fprintf(stderr, "%s", SpmiErrmsg);
		return;
	}
	findstats(cxhdl);
	return;
}

int main(int argc, char **argv)
{
	int spmierr = 0;

	(void)argc;
	(void)argv;
	/* Initialize SPMI interface */
	if ((spmierr = SpmiInit(15)) != 0) {
		fprintf(stderr, "Unable to initialize SPMI interface\n");
		fprintf(stderr, "%s", SpmiErrmsg);
		exit(-98);
	}
	/* Traversal routine. */
	lststats();

	/* Exit SPMI Interface */
	SpmiExit();
	if (strlen(SpmiErrmsg))
		fprintf(stderr, "%s", SpmiErrmsg);
	exit(0);
}
