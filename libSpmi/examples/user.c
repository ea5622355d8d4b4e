/*
 * The guide's data user: it adds six statistics to a set, in every possible way, and prints
 * them every two seconds. What is mended here, because printing broke it:
 *
 *	- Spmivalue, which is spmivalue
 *	- strings that were broken over two lines
 *	- main and the functions without a type, and signal handlers without a parameter, so that
 *	  it compiles as C89 to C23
 *	- the includes, which the guide has for AIX
 *
 * -DTIME_DELAY=1 samples faster; -DSAMPLES=3 ends after three samples.
 */
#include <sys/types.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/Spmidef.h>

#ifndef TIME_DELAY
#define TIME_DELAY 2                 /* time between samplings */
#endif

struct SpmiStatSet *statset = NULL;  /* statistics set */

/* This subroutine is called when the program is ready to exit. It frees any statsets that
 * were defined and exits the interface. */
void must_exit(int sig)
{
	(void)sig;
	/* free statsets */
	if (statset)
		if (SpmiFreeStatSet(statset))
			if (SpmiErrno)
				printf("%s", SpmiErrmsg);
	/* exit SPMI */
	SpmiExit();
	if (SpmiErrno)
		printf("%s", SpmiErrmsg);
	exit(0);
}

/* getstats() traverses the set of statistics and outputs the statistics values. */
void getstats(void)
{
	int counter = 20; /* every 20 lines output the header */
	struct SpmiStatVals *statval1;
	float spmivalue;
#ifdef SAMPLES
	int samples = SAMPLES;
#endif

	/* loop until a stop signal is received. */
	while (1) {
		if (counter == 20) {
			/* output header info */
			/* The statistics are displayed in reverse order of how
			 * they were entered into the set of statistics. */
			printf("\nCPU/cpu0   CPU/cpu0  Mem/Real   PagSp     ");
			printf("Proc       Proc\n");
			printf("    kern       idle    %%free     %%free    ");
			printf("runque     swpque\n");
			printf("============================================");
			printf("===============\n");
			counter = 0;
		}
		/* retrieve set of statistics */
		if (SpmiGetStatSet(statset, TRUE) != 0) {
			printf("SpmiGetStatSet failed.\n");
			if (SpmiErrno)
				printf("%s", SpmiErrmsg);
			must_exit(0);
		}
		/* retrieve first statistic */
		statval1 = SpmiFirstVals(statset);
		if (statval1 == NULL) {
			printf("SpmiFirstVals Failed\n");
			if (SpmiErrno)
				printf("%s", SpmiErrmsg);
			must_exit(0);
		}
		/* traverse the set of statistics */
		while (statval1 != NULL) {
			/* value to be displayed */
			spmivalue = SpmiGetValue(statset, statval1);
			if (spmivalue < 0.0) {
				printf("SpmiGetValue Failed\n");
				if (SpmiErrno)
					printf("%s", SpmiErrmsg);
				must_exit(0);
			}
			printf("  %6.2f   ", spmivalue);
			statval1 = SpmiNextVals(statset, statval1);
		} /* end while (statval1) */
		printf("\n");

		counter++;
#ifdef SAMPLES
		if (--samples == 0)
			return;
#endif
		sleep(TIME_DELAY);
	}
}

/* addstats() adds statistics to the statistics set. */
/* addstats() also takes advantage of the different ways a
 * statistic may be added to the set. */
void addstats(void)
{
	SpmiCxHdl cxhdl, parenthdl;

	/* initialize the statistics set */
	statset = SpmiCreateStatSet();
	if (statset == NULL) {
		printf("SpmiCreateStatSet Failed\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	/* Pass SpmiPathGetCx the fully qualified path name of the
	 * context */
	if (!(cxhdl = SpmiPathGetCx("Proc", NULL))) {
		printf("SpmiPathGetCx failed for Proc context.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	/* Pass SpmiPathAddSetStat the name of the statistic */
	/* & the handle of the parent */
	if (!SpmiPathAddSetStat(statset, "swpque", cxhdl)) {
		printf("SpmiPathAddSetStat failed for Proc/swpque statistic.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	if (!SpmiPathAddSetStat(statset, "runque", cxhdl)) {
		printf("SpmiPathAddSetStat failed for Proc/runque statistic.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	/* Pass SpmiPathAddSetStat the fully qualified name of the
	 * statistic */
	if (!SpmiPathAddSetStat(statset, "PagSp/%free", NULL)) {
		printf("SpmiPathAddSetStat failed for PagSp/%%free statistic.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	if (!(parenthdl = SpmiPathGetCx("Mem", NULL))) {
		printf("SpmiPathGetCx failed for Mem context.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	/* Pass SpmiPathGetCx the name of the context */
	/* & the handle of the parent context */
	if (!(cxhdl = SpmiPathGetCx("Real", parenthdl))) {
		printf("SpmiPathGetCx failed for Mem/Real context.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	if (!SpmiPathAddSetStat(statset, "%free", cxhdl)) {
		printf("SpmiPathAddSetStat failed for Mem/Real/%%free statistic.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	/* Pass SpmiPathGetCx the fully qualified path name of the
	 * context */
	if (!(cxhdl = SpmiPathGetCx("CPU/cpu0", NULL))) {
		printf("SpmiPathGetCx failed for CPU/cpu0 context.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	if (!SpmiPathAddSetStat(statset, "idle", cxhdl)) {
		printf("SpmiPathAddSetStat failed for CPU/cpu0/idle statistic.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	if (!SpmiPathAddSetStat(statset, "kern", cxhdl)) {
		printf("SpmiPathAddSetStat failed for CPU/cpu0/kern statistic.\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		must_exit(0);
	}
	return;
}

int main(int argc, char **argv)
{
	int spmierr = 0;

	(void)argc;
	(void)argv;
	/* Initialize SPMI */
	if ((spmierr = SpmiInit(15)) != 0) {
		printf("Unable to initialize SPMI interface\n");
		if (SpmiErrno)
			printf("%s", SpmiErrmsg);
		exit(-98);
	}
	/* set up interrupt signals */
	signal(SIGINT, must_exit);
	signal(SIGTERM, must_exit);
	signal(SIGSEGV, must_exit);
	signal(SIGQUIT, must_exit);

	/* Go to statistics routines. */
	addstats();
	getstats();

	/* Exit SPMI */
	must_exit(0);
	return 0;
}
