/*
 * A program in C without prototypes: -D_NO_PROTO, functions declared again, five or six
 * arguments.
 */
#include <stdio.h>
#include <string.h>
#include <sys/Spmidef.h>

extern SpmiShare *SpmiDdsInit();
extern char *SpmiDdsAddCx();
extern int SpmiDdsDelCx();
extern void SpmiExit();
extern char SpmiErrmsg[];
extern int SpmiErrno;

struct dat { unsigned long a; };

static CONST struct SpmiRawStat stats[] = {
{ "a", "A", 0, 100, SiCounter, SiLong, 1, SZ_OFF(dat, a, SiULong)},
};
static CONST cx_create table[] = {
{ "DDS/V", "vendor", 1, 0, NULL, 0, NULL, 0, NULL, SiNoInst},
{ "DDS/V/C", "context", 1, 0, stats, STAT_L(stats), NULL, 0, NULL, SiNoInst},
};
static CONST cx_create inst[] = {
{ "DDS/V/I", "context", 1, 0, stats, STAT_L(stats), NULL, 0, NULL, SiNoInst},
};

int main(argc, argv)
int argc;
char **argv;
{
	unsigned short ix = 0;
	SpmiShare *share;
	char *area;

	if (argc != 2)
		return 2;
	if (!(share = SpmiDdsInit(table, CX_L(table), NULL, 0, argv[1]))) {
		printf("%s\n", SpmiErrmsg);
		return 1;
	}
	SpmiExit();
	if (!(share = SpmiDdsInit(table, CX_L(table), inst, CX_L(inst), argv[1], 65536)) ||
	    !(area = SpmiDdsAddCx(ix, "DDS/V/C/D", "d", 9)) || SpmiDdsDelCx(area)) {
		printf("%s\n", SpmiErrmsg);
		return 1;
	}
	SpmiExit();
	return SpmiErrno;
}
