/* Threads that add and delete at the same time. */
#include <pthread.h>

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
	SpmiExit();
	CHECK(v.h->state == SEG_ENDED);
	return done();
}
