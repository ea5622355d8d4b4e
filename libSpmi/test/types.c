/*
 * A supplier of all thirteen data types, in the width that it is compiled for, and
 * of values that are all updated alike. Its argument is the supplier's file. It
 * prints the width on a line, and supplies until its input ends.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/Spmidef.h>

struct all {
	u_long ulong_;
	long long_;
	u_int uint_;
	int int_;
	u_short ushort_;
	short short_;
	char char_;
	char text[12];
	char *addr;
	struct timeval time;
	float float_;
	double double_;
	void *ptr;
	unsigned unsign;
};

struct alike { u_long v[8]; };

#define STAT(name, kind, asn, field, type) \
	{ name, "Type " #type, 0, 100, kind, type, asn, SZ_OFF(all, field, type), NULL }

static const struct SpmiRawStat stats[] = {
	STAT("ulong", SiCounter, 1, ulong_, SiULong), STAT("long", SiQuantity, 2, long_, SiLong),
	STAT("uint", SiQuantity, 3, uint_, SiUInt), STAT("int", SiQuantity, 4, int_, SiInt),
	STAT("ushort", SiQuantity, 5, ushort_, SiUShort), STAT("short", SiQuantity, 6, short_, SiShort),
	STAT("char", SiQuantity, 7, char_, SiChar), STAT("text", SiQuantity, 8, text, SiChar),
	STAT("addr", SiQuantity, 9, addr, SiAddr), STAT("time", SiQuantity, 10, time, SiTimeval),
	STAT("float", SiQuantity, 11, float_, SiFloat), STAT("double", SiQuantity, 12, double_, SiDouble),
	STAT("ptr", SiQuantity, 13, ptr, SiPtr), STAT("unsign", SiQuantity, 14, unsign, SiUnsign),
};

#define ALIKE(n) { "v" #n, "", 0, 0, SiCounter, SiULong, n + 1, SZ_OFF(alike, v[n], SiULong), NULL }
static const struct SpmiRawStat alike_stats[] = { ALIKE(0), ALIKE(1), ALIKE(2), ALIKE(3), ALIKE(4), ALIKE(5), ALIKE(6), ALIKE(7) };

#define CONTEXT(path, descr, asn, stats, n) { path, descr, asn, 0, stats, n, NULL, 0, NULL, SiNoInst, 0, NULL, 0 }
static const cx_create fixed[] = {
	CONTEXT("DDS/V", "A vendor", 9, NULL, 0), CONTEXT("DDS/V/Types", "All types", 1, stats, STAT_L(stats)),
	CONTEXT("DDS/V/Volatile", "What comes and goes", 2, NULL, 0),
};
static const cx_create volatiles[] = {
	CONTEXT("DDS/V/Volatile/X", "", 0, stats, STAT_L(stats)),
	CONTEXT("DDS/V/Volatile/Y", "", 0, alike_stats, STAT_L(alike_stats)),
};

/* The ends of the ranges: a value that is cut short or loses its sign is noticed. */
static void fill(struct all *a)
{
	a->ulong_ = ~0ul;
	a->long_ = (long)(~0ul >> 1) * -1 - 1;
	a->uint_ = ~0u;
	a->int_ = -2147483647 - 1;
	a->ushort_ = 65535;
	a->short_ = -32768;
	a->char_ = (char)200;
	strcpy(a->text, "up and away");
	a->addr = (char *)(uintptr_t)(~0ul - 1);
	a->time.tv_sec = 1234567;
	a->time.tv_usec = 654321;
	a->float_ = -1.5f;
	a->double_ = 1e300;
	a->ptr = (void *)(uintptr_t)0xfffffff0u;
	a->unsign = 4000000000u;
}

static SpmiShare *share;
static int stop;

static void *update(void *area)
{
	volatile u_long *v = ((struct alike *)area)->v;
	u_long n;
	int i;

	for (n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++) {
		if (SpmiDdsUpdateBegin((char *)area))
			abort();
		for (i = 0; i < 8; i++)
			v[i] = n;
		if (SpmiDdsUpdateEnd((char *)area))
			abort();
		if (n % 64 == 0) {
			gettimeofday(&share->SiShT, NULL);
			usleep(10);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char *types, *alike, byte;
	pthread_t thread;

	share = SpmiDdsInit(fixed, CX_L(fixed), volatiles, CX_L(volatiles), argc > 1 ? argv[1] : NULL);
	if (!share || !(types = SpmiDdsAddCx(0, "DDS/V/Volatile/Types", "All types again", 1)) ||
	    !(alike = SpmiDdsAddCx(1, "DDS/V/Volatile/Alike", "Updated as one", 2)) || pthread_create(&thread, NULL, update, alike)) {
		printf("%s (%d)\n", SpmiErrmsg, SpmiErrno);
		return 1;
	}
	fill((struct all *)(void *)share->SiShArea);
	fill((struct all *)(void *)types);
	printf("word %d\n", (int)sizeof(void *));
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	SpmiExit();
	return 0;
}
