/* SpmiDdsUpdateBegin and SpmiDdsUpdateEnd: readers see all of an update or none of it. */
#include <pthread.h>
#include <sched.h>

#include "helpers.h"

enum { VALUES = 16, READS = 20000, STATES = 100 };

struct many { unsigned long v[VALUES]; };

static struct SpmiRawStat many_stats[VALUES];
static cx_create fixed[] = { VENDOR, CONTEXT("DDS/IBM/Many", "", 3, many_stats, VALUES),
			     CONTEXT("DDS/IBM/Again", "", 4, many_stats, VALUES) };
static cx_create volatiles[] = { CONTEXT("DDS/IBM/V", "", 1, many_stats, VALUES) };

static SpmiShare *init(void)
{
	int i;

	for (i = 0; i < VALUES; i++) {
		struct SpmiRawStat *s = &many_stats[i];

		snprintf(s->name, sizeof(s->name), "v%d", i);
		s->value_type = SiCounter;
		s->data_type = s->type = SiULong;
		s->asnno = (unsigned short)(i + 1);
		s->size = sizeof(unsigned long);
		s->offset = (int)(i * (int)sizeof(unsigned long));
	}
	return SpmiDdsInit(fixed, CX_L(fixed), volatiles, 1, test_file);
}

static void update(char *area, unsigned long n)
{
	volatile struct many *m = (struct many *)area;
	int i;

	CHECK(SpmiDdsUpdateBegin(area) == SiSuccess);
	for (i = 0; i < VALUES; i++)
		m->v[i] = n;
	CHECK(SpmiDdsUpdateEnd(area) == SiSuccess);
}

static int stop;

static void *updater(void *area)
{
	unsigned long n;

	for (n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++)
		update(area, n);
	return NULL;
}

/* Updates an area in each of two threads. */
static void supplier(int from, int to)
{
	SpmiShare *share = init();
	char *area;
	pthread_t a, b;

	CHECK(share && (area = SpmiDdsAddCx(0, "DDS/IBM/Many/V", "x", 99)));
	CHECK(pthread_create(&a, NULL, updater, share->SiShArea) == 0);
	CHECK(pthread_create(&b, NULL, updater, area) == 0);
	tell(to, 'y');
	CHECK(hear(from) == 'e');
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	SpmiExit();
	CHECK(SpmiDdsUpdateBegin(area) == SiNotFound && SpmiDdsUpdateEnd(area) == SiNotFound);
}

/* Reads as readers do. Returns false if the context was in the middle of an update. */
static bool read_all(const uint32_t *word, const volatile struct many *m, unsigned long *v)
{
	uint32_t before = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	int i;

	if (before % 2)
		return false;
	for (i = 0; i < VALUES; i++)
		v[i] = m->v[i];
#ifndef __SANITIZE_THREAD__ /* the thread sanitizer does not know fences */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
	return __atomic_load_n(word, __ATOMIC_RELAXED) == before;
}

static void watch(const uint32_t *word, const char *area)
{
	unsigned long v[VALUES], last = ~0ul;
	int reads = 0, states = 0, i;

	while (reads < READS || states < STATES) {
		if (!read_all(word, (const struct many *)area, v)) {
			sched_yield();
			continue;
		}
		reads++;
		states += v[0] != last;
		last = v[0];
		for (i = 1; i < VALUES; i++)
			CHECK(v[i] == v[0]);
	}
}

static void all_or_none(void)
{
	struct child c = spawn(supplier);
	struct view v;
	struct seg_slot *s;

	CHECK(hear(c.from) == 'y');
	v = view_segment();
	s = slot_at(&v, 0);
	watch(&v.cx[1].update, v.base + v.cx[1].data_off);
	watch(&v.cx[2].update, v.base + v.cx[2].data_off);
	watch(&s->update, v.base + s->data_off);
	tell(c.to, 'e');
	CHECK(reap(c) == 0);
}

static void child(int from, int to)
{
	(void)from;
	CHECK(SpmiDdsUpdateBegin(fixed[0].area) == SiNotFound);
	tell(to, 'y');
}

/* Mistakes return errors and have no other effect. */
static void errors(int from, int to)
{
	SpmiShare *share;
	char *area, *other;
	struct child c;

	CHECK(SpmiDdsUpdateBegin(NULL) == SiNotFound && SpmiDdsUpdateBegin((char *)&share) == SiNotFound);
	CHECK((share = init()) && (area = SpmiDdsAddCx(0, "DDS/IBM/Many/V", "x", 99)));
	CHECK(SpmiDdsUpdateEnd(area) == SiBadArgument);
	CHECK(SpmiDdsUpdateBegin(area + 1) == SiNotFound && SpmiDdsUpdateBegin((char *)share) == SiNotFound);
	CHECK(SpmiDdsUpdateBegin(area) == SiSuccess && SpmiDdsUpdateBegin(area) == SiInstBusy);
	CHECK(SpmiDdsUpdateBegin(share->SiShArea) == SiSuccess); /* an update of another area */
	CHECK(SpmiDdsDelCx(area) == 0 && (other = SpmiDdsAddCx(0, "DDS/IBM/Many/W", "x", 99)));
	CHECK(other == area && SpmiDdsUpdateBegin(other) == SiSuccess);
	CHECK(SpmiErrno == 0 && !SpmiErrmsg[0]);
	fixed[0].area = area;
	c = spawn(child);
	CHECK(hear(c.from) == 'y' && reap(c) == 0);
	tell(to, 'y');
	hear(from);
}

/*
 * Killed in the middle of an update: the words stay odd, and the next start still
 * works.
 */
static void killed(void)
{
	struct child c = spawn(errors);
	struct view v;

	CHECK(hear(c.from) == 'y');
	v = view_segment();
	CHECK(v.h->updates == 1 && v.cx[1].update == 1 && v.cx[2].update == 1 && slot_at(&v, 0)->update == 3);
	CHECK(kill(c.pid, SIGKILL) == 0);
	reap(c);
	empty_dir(test_dir);
	all_or_none();
}

int main(void)
{
	make_dir();
	all_or_none();
	killed();
	return done();
}
