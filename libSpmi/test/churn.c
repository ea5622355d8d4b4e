/*
 * A supplier that makes no updates. It replaces its one volatile context all the
 * time; only the room stays the same. The values are the last digit of the path.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/Spmidef.h>

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

struct pair { unsigned long a, b; };

static struct SpmiRawStat stats[2] = {
	{ .name = "a", .value_type = SiQuantity, .data_type = SiULong, .type = SiULong, .asnno = 1,
	  .size = sizeof(unsigned long), .offset = 0 },
	{ .name = "b", .value_type = SiQuantity, .data_type = SiULong, .type = SiULong, .asnno = 2,
	  .size = sizeof(unsigned long), .offset = sizeof(unsigned long) },
};

int main(int argc, char **argv)
{
	static cx_create fixed[] = { { .path = "DDS/IBM", .descr = "", .asnno = 2 },
				     { .path = "DDS/IBM/Many", .descr = "", .asnno = 3 } };
	static cx_create volatiles[] = { { .path = "DDS/IBM/Any", .descr = "", .asnno = 1, .stats = stats, .num_stats = 2 } };
	unsigned n, i;

	signal(SIGTERM, end);
	if (argc != 2 || !SpmiDdsInit(fixed, 2, volatiles, 1, argv[1])) {
		fprintf(stderr, "%s", SpmiErrmsg);
		return 1;
	}
	for (n = 0; !ended; n++) {
		unsigned v = n % 9 + 1;
		char path[] = "DDS/IBM/Many/i0";
		volatile struct pair *p;

		path[sizeof(path) - 2] = (char)('0' + v);
		p = (struct pair *)SpmiDdsAddCx(0, path, "", (int)v);
		if (!p)
			break;
		for (i = n % 1000 * 50 + 1; i > 0; i--) /* sometimes long enough for a reader to find it quiet */
			p->a = p->b = v;
		if (SpmiDdsDelCx((char *)p))
			break;
	}
	if (!ended)
		fprintf(stderr, "%s", SpmiErrmsg);
	SpmiExit();
	return !ended;
}
