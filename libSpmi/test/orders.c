/*
 * A supplier that carries out orders, one on a line of its input, and says when each
 * is done. Its argument is the supplier's file.
 *
 *	count N    adds 1 to its statistic, N times
 *	look       reads what the agent tells it
 *	add PATH   adds a volatile context, in which the statistic is 7
 *	end        ends properly
 */
#include <stdio.h>
#include <string.h>
#include <sys/Spmidef.h>

struct one { u_long n; };

static const struct SpmiRawStat stats[] = {
	{ "n", "What was counted", 0, 0, SiCounter, SiULong, 1, SZ_OFF(one, n, SiULong), NULL },
};

#define CONTEXT(path, asn, stats, n) { path, "", asn, 0, stats, n, NULL, 0, NULL, SiNoInst, 0, NULL, 0 }
static const cx_create fixed[] = {
	CONTEXT("DDS/V", 9, NULL, 0), CONTEXT("DDS/V/Count", 1, stats, 1), CONTEXT("DDS/V/Parts", 2, NULL, 0),
};
static const cx_create volatiles[] = { CONTEXT("DDS/V/Parts/X", 0, stats, 1) };

static int order(SpmiShare *share, char *line)
{
	struct one *d = (struct one *)share->SiShArea, *part;
	unsigned long n;
	char path[SI_MAXLNAME];

	if (sscanf(line, "count %lu", &n) == 1) {
		for (; n; n--) {
			if (SpmiDdsUpdateBegin((char *)d) != 0)
				return 0;
			d->n++;
			if (SpmiDdsUpdateEnd((char *)d) != 0)
				return 0;
			gettimeofday(&share->SiShT, NULL);
		}
		return 1;
	}
	if (strcmp(line, "look\n") == 0) {
		volatile int sum = share->SiShGoAway | share->SiShInterval | share->SiShSubscrib;

		(void)sum;
		return 1;
	}
	if (sscanf(line, "add %63s", path) == 1) {
		part = (struct one *)SpmiDdsAddCx(0, path, "", 0);
		if (part)
			part->n = 7;
		return part != NULL;
	}
	return strcmp(line, "end\n") == 0;
}

int main(int argc, char **argv)
{
	SpmiShare *share = argc == 2 ? SpmiDdsInit(fixed, CX_L(fixed), volatiles, CX_L(volatiles), argv[1]) : NULL;
	char line[128];

	if (!share) {
		printf("%s\n", SpmiErrmsg);
		return 1;
	}
	gettimeofday(&share->SiShT, NULL);
	do {
		puts("<nil>");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 1;
		if (!order(share, line)) {
			printf("%s: %s (%d)\n", line, SpmiErrmsg, SpmiErrno);
			return 1;
		}
	} while (strcmp(line, "end\n") != 0);
	SpmiExit();
	puts("<nil>");
	return 0;
}
