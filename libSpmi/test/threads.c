/* Threads that add and delete at the same time. */
#include <pthread.h>
#include <sched.h>

#include "helpers.h"

enum { THREADS = 6, ROUNDS = 1500, EACH = 8 };

static void *work(void *arg)
{
	int me = (int)(intptr_t)arg, i, k;
	struct inst *at[EACH];
	char path[64];

	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < EACH; k++) {
			snprintf(path, sizeof(path), "DDS/IBM/Moretest/t%d-%d", me, k);
			at[k] = (struct inst *)SpmiDdsAddCx(0, path, "x", 1000 + me * EACH + k);
			CHECK(at[k] && at[k]->b == 0);
			at[k]->b = (unsigned long)(me * 1000 + k);
		}
		for (k = 0; k < EACH; k++) {
			CHECK(at[k]->b == (unsigned long)(me * 1000 + k));
			CHECK(SpmiDdsDelCx((char *)at[k]) == 0);
		}
	}
	return NULL;
}

/* Calls functions that open files. A thread could be cancelled there. */
static void *cancelled(void *arg)
{
	for (;;) {
		char *area = SpmiDdsAddCx(0, "DDS/IBM/Cancelled", "x", 9);

		CHECK(area && SpmiDdsDelCx(area) == 0);
		__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
		pthread_testcancel();
	}
	return NULL;
}

/*
 * A thread that is cancelled leaves neither the lock held nor a context half
 * made.
 */
static void cancel(void)
{
	int i, going;
	pthread_t t;

	for (i = 0; i < 100; i++) {
		going = 0;
		CHECK(pthread_create(&t, NULL, cancelled, &going) == 0);
		while (!__atomic_load_n(&going, __ATOMIC_ACQUIRE))
			sched_yield();
		CHECK(pthread_cancel(t) == 0 && pthread_join(t, NULL) == 0);
		CHECK(SpmiInit(0) == 0);
	}
}

int main(void)
{
	pthread_t t[THREADS];
	struct view v;
	intptr_t i;

	make_dir();
	CHECK(guide_init());
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, work, (void *)i) == 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	v = view_segment();
	CHECK(v.h->slots_count <= THREADS * EACH);
	CHECK(v.h->changes == 2u * THREADS * ROUNDS * EACH);
	cancel();
	SpmiExit();
	CHECK(v.h->state == SEG_ENDED);
	return done();
}
