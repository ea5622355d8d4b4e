/* Compiles in every version of C and C++; see the script run. */
#include <sys/Spmidef.h>
#include <sys/Spmidef.h>

struct dat {
	u_long a;
	float f;
};

static const struct SpmiRawStat stats[] = {
	{ "a", "A", 0, 100, SiCounter, SiLong, 1, SZ_OFF(dat, a, SiULong), NULL },
	{ "f", "F", 0, 100, SiQuantity, SiFloat, 2, SZ_OFF(dat, f, SiFloat), NULL }
};

static CONST cx_create table[] = {
	{ "DDS/V", "vendor", 1, 0, NULL, 0, NULL, 0, NULL, SiNoInst, 0, NULL, 0 },
	{ "DDS/V/C", "context", 1, 0, stats, STAT_L(stats), NULL, 0, NULL, SiNoInst, 0, NULL, 0 }
};

extern char SpmiErrmsg[];
extern int SpmiErrno;

int main(void)
{
	boolean ok = 0;
	SpmiShare *share = SpmiDdsInit(table, CX_L(table), NULL, 0, "/dev/null");

	if (share)
		share = SpmiDdsInit(table, CX_L(table), NULL, 0, "/dev/null", 100000);
	ok = share != NULL && SpmiInit(15) == 0 && SpmiErrno == SiSuccess && SpmiErrmsg[0] == 0;
	if (ok)
		SpmiDdsDelCx(SpmiDdsAddCx(0, "DDS/V/D", "d", 2));
	SpmiExit();
	return 0;
}
