/*
 * Calls with random arguments, in threads, also with buffers that end where their page does. All that
 * can be checked is that nothing breaks, and that what was stopped is counted. The seed is
 * the first argument, else the time; it is printed when a check fails.
 */
#include "seen.h"

enum { ROUNDS = 25000, KEPT = 64 };

static uint64_t seed;
static uint64_t good, aborted, failed;

static uint32_t next(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

static int number(uint64_t *r)
{
	static const int some[] = { 0, 1, 2, 3, -1, 64, 1023, 1024, 1025, 65535, 65536, 131072,
		2147483647, -2147483647 - 1 };

	return next(r, 3) ? (int)next(r, 20) : some[next(r, sizeof(some) / sizeof(*some))];
}

/* A buffer that ends at the end of its page: of any size up to 1100, likely to make some sense. */
static char *buffer(uint64_t *r, char *end, int *size)
{
	static const int formats[] = { 1, 1, 1, 2, 101, 101, 0, -1 };
	static const int sizes[] = { 256, 256, 344, 344, 88, 1024, 8, 0 };
	int i, n = next(r, 2) ? sizes[next(r, 8)] : (int)next(r, 1100);
	char *b = end - n;

	*size = n;
	for (i = 0; i < n; i++)
		b[i] = (char)(next(r, 4) ? 0 : next(r, 256));
	if (n >= 4)
		memcpy(b, &formats[next(r, 8)], 4);
	if (n >= 8) {
		b[4] = (char)(next(r, 2) ? 0 : next(r, 16) << 4);
		b[5] = (char)(next(r, 128) * 2);
		b[6] = b[7] = (char)(next(r, 8) == 0);
	}
	for (i = 8; i + 48 <= n && next(r, 3); i += 48)
		b[i] = (char)next(r, 11);
	if (n >= 110) {
		b[88] = 0;
		b[89] = (char)next(r, 180);
		b[90] = 1;
		b[108] = 0;
		b[109] = (char)next(r, 160);
	}
	if (next(r, 20) == 0)
		*size = number(r);
	if (*size > n)
		*size = n;
	return next(r, 30) ? b : (*size = *size < 0 ? *size : n, NULL);
}

static const char *name(uint64_t *r, char *room)
{
	int i, n = next(r, 4) ? (int)next(r, 6) : (int)next(r, 200);

	for (i = 0; i < n; i++)
		room[i] = next(r, 10) ? (char)('a' + next(r, 2)) : (char)(1 + next(r, 255));
	room[n] = 0;
	return next(r, 20) ? room : NULL;
}

static void count(int status)
{
	__atomic_fetch_add(status == 0 ? &good : status == 1 ? &aborted : &failed, 1, __ATOMIC_RELAXED);
}

static void one_call(uint64_t *r, int *kept, char *end)
{
	char a[201], b[201], *data;
	int size, h, status, which = (int)next(r, KEPT);

	data = buffer(r, end, &size);
	switch (next(r, 12)) {
	case 0:
		arm_init(name(r, a), name(r, b), number(r), data, size);
		break;
	case 1:
		arm_getid(number(r), name(r, a), name(r, b), number(r), data, size);
		break;
	case 2:
		if (next(r, 40) == 0)
			arm_end(number(r), number(r), data, size);
		break;
	case 3:
	case 4:
		arm_update(next(r, 2) ? kept[which] : number(r), number(r), data, size);
		break;
	case 5:
	case 6:
	case 7:
		h = next(r, 9) ? kept[which] : number(r);
		status = next(r, 9) ? (int)next(r, 3) : number(r);
		if (h != 0 && arm_stop(h, status, number(r), data, size) == 0)
			count(status);
		break;
	case 8:
		if (data && size >= 256)
			arm_correlator_to_traceparent((arm_correlator_t *)(void *)(data + 88), a);
		break;
	default:
		h = arm_start(number(r), number(r), data, size);
		if (h > 0 && kept[which] > 0 && arm_stop(kept[which], 0, 0, NULL, 0) == 0)
			count(0);
		if (h > 0)
			kept[which] = h;
	}
}

static void *calls(void *salt)
{
	uint64_t r = seed ^ (uint64_t)(uintptr_t)salt * 0x9e3779b97f4a7c15u;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *room = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int kept[KEPT], i;

	CHECK(room != MAP_FAILED && mprotect(room + page, page, PROT_NONE) == 0);
	memset(kept, 0, sizeof(kept));
	for (i = 0; i < ROUNDS; i++)
		one_call(&r, kept, room + page);
	munmap(room, 2 * page);
	return NULL;
}

static void check_counts(void)
{
	struct segment s = open_proc(getpid()), n = open_names();
	uint64_t have[3] = { 0, 0, 0 };
	uint32_t i;

	for (i = 1; i <= ((struct seg_names *)n.base)->tran_next; i++) {
		struct seen t = seen_in(&s, (int)i);

		have[0] += t.count;
		have[1] += t.aborted;
		have[2] += t.failed;
	}
	CHECK_EQ(have[0], good);
	CHECK_EQ(have[1], aborted);
	CHECK_EQ(have[2], failed);
	CHECK(good > 100 && aborted > 100 && failed > 100);
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	uintptr_t i;

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
	make_dir();
	for (i = 0; i < 8; i++) {
		char text[2] = { (char)('a' + i), 0 };

		register_one(text, text);
	}
	for (i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, calls, (void *)(i + 1)) == 0);
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	check_counts();
	return done();
}
