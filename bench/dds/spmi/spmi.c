/*
 * What supplying by libSpmi costs a program, in nanoseconds of CPU, one figure a line:
 *	spmi DIR	a store, an atomic addition, an update of ten values, and adding
 *			and deleting one context among 10, among 1,000, among 100,000
 * DIR is where a file may be written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sys/Spmidef.h>

struct ten {
	unsigned long v[10];
};
struct inst {
	unsigned long problems, solutions;
};

static struct SpmiRawStat ten_stats[10];
static struct SpmiRawStat inst_stats[] = {
	{ "problems", "", 0, 0, SiCounter, SiULong, 1, SZ_OFF(inst, problems, SiULong), NULL },
	{ "solutions", "", 0, 0, SiCounter, SiULong, 2, SZ_OFF(inst, solutions, SiULong), NULL },
};
static cx_create fixed[] = {
	{ "DDS/Bench", "", 1, 0, NULL, 0, NULL, 0, NULL, SiNoInst },
	{ "DDS/Bench/Ten", "", 2, 0, ten_stats, 10, NULL, 0, NULL, SiNoInst },
	{ "DDS/Bench/A", "", 3, 0, NULL, 0, NULL, 0, NULL, SiNoInst },
	{ "DDS/Bench/B", "", 4, 0, NULL, 0, NULL, 0, NULL, SiNoInst },
};
static cx_create volatiles[] = {
	{ "DDS/Bench/A/Any", "", 1, 0, inst_stats, STAT_L(inst_stats), NULL, 0, NULL, SiNoInst },
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void die(void)
{
	fprintf(stderr, "spmi: %s\n", SpmiErrmsg);
	exit(1);
}

static SpmiShare *start(const char *dir)
{
	SpmiShare *share;
	char file[256];

	for (int i = 0; i < 10; i++) {
		struct SpmiRawStat *s = &ten_stats[i];

		snprintf(s->name, sizeof(s->name), "v%d", i);
		s->value_type = SiQuantity;
		s->data_type = s->type = SiULong;
		s->asnno = i + 1;
		s->size = sizeof(unsigned long);
		s->offset = i * sizeof(unsigned long);
	}
	snprintf(file, sizeof(file), "%s/spmi", dir);
	share = SpmiDdsInit(fixed, CX_L(fixed), volatiles, CX_L(volatiles), file);
	if (share == NULL)
		die();
	return share;
}

static void stores(SpmiShare *share)
{
	enum { N = 10000000 };
	volatile struct ten *ten = (volatile struct ten *)share->SiShArea;
	double t = now();

	for (int i = 0; i < N; i++)
		ten->v[0] = i;
	printf("%.3f\n", (now() - t) / N);
	t = now();
	for (int i = 0; i < N; i++)
		__atomic_fetch_add(&ten->v[0], 1, __ATOMIC_RELAXED);
	printf("%.3f\n", (now() - t) / N);
	t = now();
	for (int i = 0; i < N / 10; i++) {
		if (SpmiDdsUpdateBegin(share->SiShArea) != 0)
			die();
		for (int j = 0; j < 10; j++)
			ten->v[j] = i;
		if (SpmiDdsUpdateEnd(share->SiShArea) != 0)
			die();
	}
	printf("%.3f\n", (now() - t) / (N / 10));
}

/* A level has no more than 65,536 contexts, since each has its ASN.1 number there. */
static void changes(void)
{
	enum { N = 20000 };
	static const int sizes[] = { 10, 1000, 100000 };
	int there = 0;

	for (int k = 0; k < 3; k++) {
		double t;

		for (char path[64]; there < sizes[k]; there++) {
			snprintf(path, sizeof(path), "DDS/Bench/%c/c%d", there % 2 ? 'B' : 'A', there);
			if (SpmiDdsAddCx(0, path, "", there / 2) == NULL)
				die();
		}
		t = now();
		for (int i = 0; i < N; i++) {
			char *area = SpmiDdsAddCx(0, "DDS/Bench/A/one", "", 65535);

			if (area == NULL || SpmiDdsDelCx(area) != 0)
				die();
		}
		printf("%.0f\n", (now() - t) / N);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	stores(start(argv[1]));
	changes();
	SpmiExit();
	return 0;
}
