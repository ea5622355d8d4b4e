/* All handles in use: start answers negative, and works again as soon as one is free. */
#include "seen.h"

enum { ALL = CHUNK_MAX * CHUNK_SLOTS };

static int tran, all[ALL];

static void fill(int *handles)
{
	int i;

	for (i = 0; i < ALL; i++)
		CHECK((handles[i] = begin(tran)) > 0);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(begin(tran), -1);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void all_different(void)
{
	static int sorted[ALL];
	int i;

	memcpy(sorted, all, sizeof(all));
	qsort(sorted, ALL, sizeof(int), by_number);
	for (i = 1; i < ALL; i++)
		CHECK(sorted[i] != sorted[i - 1]);
}

static void *stop_some(void *unused)
{
	int i;

	for (i = 100; i < 200; i++)
		CHECK_EQ(finish(all[i]), 0);
	return unused;
}

int main(void)
{
	struct segment s;
	pthread_t t;
	int i;

	make_dir();
	tran = register_one("handles", "t");
	fill(all);
	all_different();
	s = open_proc(getpid());
	CHECK_EQ(slots_in(&s, SLOT_ACTIVE), ALL);
	CHECK(proc_of(&s)->no_room >= 1000);
	for (i = 0; i < 100; i++)
		CHECK_EQ(finish(all[i]), 0);
	for (i = 0; i < 100; i++)
		CHECK((all[i] = begin(tran)) > 0);
	CHECK_EQ(begin(tran), -1);
	/* This thread can use slots again that another thread has freed. */
	CHECK(pthread_create(&t, NULL, stop_some, NULL) == 0);
	pthread_join(t, NULL);
	for (i = 100; i < 200; i++)
		CHECK((all[i] = begin(tran)) > 0);
	CHECK_EQ(begin(tran), -1);
	for (i = 0; i < ALL; i++)
		CHECK_EQ(finish(all[i]), 0);
	for (i = 0; i < ALL; i++)
		CHECK_EQ(finish(all[i]), -1);
	fill(all);
	for (i = ALL; i--;)
		CHECK_EQ(finish(all[i]), 0);
	CHECK_EQ(seen_in(&s, tran).count, 2 * ALL + 200);
	CHECK_EQ(slots_in(&s, SLOT_ACTIVE), 0);
	close_segment(&s);
	return done();
}
