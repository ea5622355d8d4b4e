/* Threads: counts are exact, blocks are used again, and of two stops one wins. */
#include "seen.h"

enum { THREADS = 8, EACH = 80000, MANY = 1100 };

static int tran, bad_tran;

static void *works(void *unused)
{
	int i, open[3];

	for (i = 0; i < EACH; i++) {
		CHECK_EQ(finish(begin(tran)), 0);
		if (i % 8)
			continue;
		open[0] = begin(tran);
		open[1] = begin(bad_tran);
		open[2] = begin(tran);
		CHECK_EQ(arm_stop(open[1], ARM_ABORT, 0, NULL, 0), 0);
		CHECK_EQ(arm_stop(open[0], ARM_FAILED, 0, NULL, 0), 0);
		CHECK_EQ(arm_update(open[2], 0, NULL, 0), 0);
		CHECK_EQ(finish(open[2]), 0);
	}
	return unused;
}

static void run(int n, void *(*f)(void *))
{
	pthread_t t[MANY];
	pthread_attr_t small; /* else there is no room for so many with 32 bits */
	int i;

	CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 256 << 10) == 0);
	for (i = 0; i < n; i++)
		CHECK(pthread_create(&t[i], &small, f, NULL) == 0);
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static void counts(void)
{
	struct seen s, b;

	run(THREADS, works);
	s = seen(getpid(), tran);
	b = seen(getpid(), bad_tran);
	CHECK_EQ(s.count, (long)THREADS * EACH + THREADS * EACH / 8);
	CHECK_EQ(s.n, s.count);
	CHECK(s.failed == THREADS * EACH / 8 && s.updates == THREADS * EACH / 8);
	CHECK(b.aborted == THREADS * EACH / 8 && b.count == 0);
}

/* Started in one thread, stopped in another. */
static int handed[4096];

static void *stops(void *unused)
{
	int i, h;

	for (i = 0; i < EACH; i++) {
		while (!(h = __atomic_exchange_n(&handed[i % 4096], 0, __ATOMIC_ACQUIRE)))
			sched_yield();
		CHECK_EQ(finish(h), 0);
	}
	return unused;
}

static void handing_over(void)
{
	int t = register_one("handed", "t"), i, h;
	struct segment s;
	pthread_t other;

	CHECK(pthread_create(&other, NULL, stops, NULL) == 0);
	for (i = 0; i < EACH; i++) {
		CHECK((h = begin(t)) > 0);
		while (__atomic_load_n(&handed[i % 4096], __ATOMIC_RELAXED))
			sched_yield();
		__atomic_store_n(&handed[i % 4096], h, __ATOMIC_RELEASE);
	}
	pthread_join(other, NULL);
	s = open_proc(getpid());
	CHECK_EQ(seen_in(&s, t).count, EACH);
	CHECK_EQ(slots_in(&s, SLOT_ACTIVE), 0);
	close_segment(&s);
}

/* Two threads stop the same handles. Each handle is stopped once. */
static int contested[EACH / 4], won;
static pthread_barrier_t gate;

static void *contests(void *unused)
{
	int i, mine = 0;

	pthread_barrier_wait(&gate);
	for (i = 0; i < EACH / 4; i++)
		mine += finish(contested[i]) == 0;
	__atomic_fetch_add(&won, mine, __ATOMIC_RELAXED);
	return unused;
}

static void double_stops(void)
{
	int t = register_one("contested", "t"), i;

	for (i = 0; i < EACH / 4; i++)
		CHECK((contested[i] = begin(t)) > 0);
	pthread_barrier_init(&gate, NULL, 2);
	run(2, contests);
	CHECK_EQ(won, EACH / 4);
	CHECK_EQ(seen(getpid(), t).count, EACH / 4);
}

static uint32_t blocks(void)
{
	struct segment s = open_proc(getpid());
	uint32_t n = proc_of(&s)->block_next;

	close_segment(&s);
	return n;
}

static void *works_once(void *unused)
{
	CHECK_EQ(finish(begin(tran)), 0);
	return unused;
}

/* Threads that run one after the other use the same block. */
static void one_by_one(void)
{
	uint64_t before = seen(getpid(), tran).count;
	uint32_t had = blocks();
	int i;

	for (i = 0; i < 300; i++)
		run(1, works_once);
	CHECK_EQ(seen(getpid(), tran).count, before + 300);
	CHECK_EQ(blocks(), had);
}

/* If more threads run at once than there are blocks, the others share one. */
static void *works_together(void *unused)
{
	CHECK_EQ(finish(begin(tran)), 0);
	pthread_barrier_wait(&gate);
	CHECK_EQ(finish(begin(tran)), 0);
	pthread_barrier_wait(&gate);
	return unused;
}

static void too_many(void)
{
	uint64_t before = seen(getpid(), tran).count;

	pthread_barrier_destroy(&gate);
	pthread_barrier_init(&gate, NULL, MANY);
	run(MANY, works_together);
	CHECK_EQ(seen(getpid(), tran).count, before + 2 * MANY);
	CHECK_EQ(blocks(), BLOCK_MAX);
}

/* A thread that ends still counts in the destructors of its keys. */
static pthread_key_t late_key;

static void late(void *tries)
{
	CHECK_EQ(finish(begin(tran)), 0);
	if (tries > (void *)1)
		pthread_setspecific(late_key, (char *)tries - 1);
}

static void *counts_late(void *unused)
{
	pthread_setspecific(late_key, (void *)4);
	CHECK_EQ(finish(begin(tran)), 0);
	return unused;
}

static void in_destructors(void)
{
	uint64_t before = seen(getpid(), tran).count;

	CHECK(pthread_key_create(&late_key, late) == 0);
	run(1, counts_late);
	CHECK_EQ(seen(getpid(), tran).count, before + 5);
}

int main(void)
{
	make_dir();
	tran = register_one("threads", "t");
	bad_tran = register_one("threads", "bad");
	counts();
	one_by_one();
	in_destructors();
	handing_over();
	double_stops();
	if (!getenv("FEW_THREADS"))
		too_many();
	return done();
}
