/*
 * Somebody writes over every file of a running program: a million words in all, at random, with values
 * that look like offsets, sizes and states. One cell for each thread is spared. The program lives, and
 * the counts in these cells are right. The directory belongs to another user, as it does to the
 * agent's. That user can write nothing into a program's files and cannot cut them, but may do anything
 * with files of its own.
 */
#include <grp.h>

#include "seen.h"

enum { THREADS = 3, OTHERS = 40, WORDS = 1000000, AGENT = 65534 };

static int kept, others[OTHERS];
static uint32_t stop, all_began;
static uint64_t counted[THREADS];
static struct segment proc, names;
static const char *spared[2 * (THREADS + 3)]; /* records that are not written over, and their ends */

static void describe(int app)
{
	struct {
		int32_t format;
		char flags[4];
		struct {
			int32_t type;
			char name[44];
		} of[6];
	} meta;
	char name[24];
	int i, k;

	for (i = 0; i < OTHERS; i++) {
		memset(&meta, 0, sizeof(meta));
		meta.format = ARM_FORMAT_META;
		meta.flags[1] = (char)0xfc;
		for (k = 0; k < 6; k++)
			meta.of[k].type = 1 + (i + k) % 9;
		snprintf(name, sizeof(name), "other %d", i);
		CHECK((others[i] = arm_getid(app, name, NULL, 0, (arm_data_t *)&meta, sizeof(meta))) > 0);
	}
}

/* Makes calls of all kinds: metrics, parents, traces, updates, all ways to end, and handles that are
 * none. */
static void one_of_others(uint64_t *r)
{
	struct {
		int32_t format;
		unsigned char flags[4];
		char rest[336];
	} data;
	int h, i;

	*r = *r * 6364136223846793005u + 1442695040888963407u;
	memset(&data, 0, sizeof(data));
	data.format = 1;
	data.flags[0] = (unsigned char)(*r >> 40 & 0x70);
	data.flags[1] = 0xfc;
	memcpy(data.rest, r, sizeof(*r));
	data.rest[80 + 1] = 28;
	if (*r >> 50 & 1) { /* a parent */
		data.flags[0] |= 0x80;
		data.rest[82] = 1;
		data.rest[80 + 19] = (char)(1 + (*r >> 33) % 99);
	}
	h = arm_start(others[(*r >> 33) % OTHERS], 0, (arm_data_t *)&data, sizeof(data));
	for (i = 0; i < 3; i++) {
		arm_update(h, 0, (arm_data_t *)&data, sizeof(data));
		data.rest[0]++;
	}
	arm_stop(h, (int)(*r >> 45) & 1, 0, (arm_data_t *)&data, 80);
	arm_stop((int)(*r >> 33 & 0x7fffffff), 0, 0, NULL, 0);
}

static void *work(void *n)
{
	uint64_t r = (uintptr_t)n;
	bool first = true;

	while (!load(&stop)) {
		if (finish(begin(kept)) == 0)
			counted[(uintptr_t)n]++;
		one_of_others(&r);
		if (first)
			add(&all_began, 1);
		first = false;
	}
	return NULL;
}

static void spare(int i, const void *from, size_t len)
{
	spared[2 * i] = from;
	spared[2 * i + 1] = (const char *)from + len;
}

static bool is_spared(const char *at)
{
	unsigned int i;

	for (i = 0; i < sizeof(spared) / sizeof(*spared); i += 2)
		if (at >= spared[i] && at < spared[i + 1])
			return true;
	return false;
}

/* The words that lead programs astray: offsets within and beyond the file, states, all bits. */
static uint64_t evil(uint64_t *r)
{
	*r = *r * 6364136223846793005u + 1442695040888963407u;
	switch (*r >> 60 & 7) {
	case 0:
		return *r >> 33;
	case 1:
		return UINT64_MAX;
	case 2:
		return 0;
	case 3:
		return (*r >> 40) << 32 | (*r >> 33 & 0xff);
	case 4:
		return (*r & 0xffff00000000) | (*r >> 20 & 0x3fff) << 3 | SLOT_ACTIVE;
	default:
		return *r ^ *r << 17;
	}
}

static void scribble(struct segment *s, size_t len, uint64_t *r, int words)
{
	while (words) {
		seg_u64 *at = (seg_u64 *)(s->base + (*r >> 20) % (len / 8) * 8);
		uint64_t word = evil(r);

		if (is_spared((const char *)at))
			continue;
		store(at, word);
		words--;
	}
}

/* Makes the calls that may be slow. They may fail, but do no harm. */
static void name_something(int i)
{
	char name[24];
	int app;

	snprintf(name, sizeof(name), "named %d", i);
	app = arm_init(name, "*", 0, NULL, 0);
	arm_getid(app > 0 ? app : 1, name, name, 0, NULL, 0);
	arm_end(app, 0, NULL, 0);
}

static void spare_kept(void)
{
	struct seg_tran *t = tran_of(&names, kept);
	uint32_t b;

	spare(0, t, sizeof(*t));
	spare(1, app_at(&names, (int)t->app), sizeof(struct seg_app));
	for (b = 0; b <= THREADS; b++)
		spare(2 + (int)b, cell_in(&proc, b, kept), sizeof(struct seg_cell));
}

/* The sum over the spared cells. The file no longer leads to them, because it has been written
 * over. */
static uint64_t in_cells(void)
{
	uint64_t n = 0;
	int b, i;

	for (b = 0; b <= THREADS; b++)
		for (i = 0; spared[4 + 2 * b] && i < HIST_LEN; i++)
			n += load(&((struct seg_cell *)(void *)(uintptr_t)spared[4 + 2 * b])->hist[i]);
	return n;
}

static void written_over(void)
{
	uint64_t r = (uint64_t)time(NULL), sum = 0;
	size_t names_len;
	pthread_t t[THREADS];
	uintptr_t i;
	int app;

	fprintf(stderr, "seed %llu\n", (unsigned long long)r);
	app = arm_init("damaged", NULL, 0, NULL, 0);
	CHECK(app > 0 && (kept = arm_getid(app, "kept", NULL, 0, NULL, 0)) > 0);
	describe(app);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, work, (void *)i) == 0);
	while (load(&all_began) < THREADS)
		nap(1);
	proc = open_proc(getpid());
	names = open_names();
	spare_kept();
	names_len = (size_t)((struct seg_names *)names.base)->trans_off + 64 * sizeof(struct seg_tran);
	for (i = 0; i < WORDS; i += 2000) {
		scribble(&proc, proc.len, &r, 1000);
		scribble(&names, names_len, &r, 1000);
		if (i % 20000 == 0)
			name_something((int)i);
	}
	store(&stop, 1);
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += counted[i];
	}
	CHECK(sum > 0);
	CHECK_EQ(in_cells(), sum);
}

/* Does to another user's file what the agent's user can do. */
static void attack(const char *path)
{
	char aside[200];
	int fd;

	CHECK(open(path, O_WRONLY) < 0 && errno == EACCES);
	CHECK(open(path, O_RDWR) < 0 && errno == EACCES);
	CHECK(truncate(path, 0) < 0 && errno == EACCES);
	snprintf(aside, sizeof(aside), "%s.taken", path);
	CHECK(rename(path, aside) == 0); /* the directory is its own */
	fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0666);
	CHECK(fd >= 0 && write(fd, "garbage", 7) == 7);
	close(fd);
}

/* Writes random words as the agent's file. Now and then the header is good, so that the rest is
 * used. */
static void write_words(const char *path, uint64_t nonce, uint64_t *r)
{
	static struct seg_switches w;
	uint32_t i;
	int fd;

	for (i = 0; i < sizeof(w) / 8; i++)
		((seg_u64 *)(void *)&w)[i] = evil(r);
	if (*r >> 40 & 1) {
		memcpy(w.magic, SEG_MAGIC_SWITCHES, sizeof(w.magic));
		w.order = SEG_ORDER;
		w.major = SEG_MAJOR;
		w.nonce = nonce;
	}
	fd = open(path, O_CREAT | O_RDWR, 0644);
	CHECK(fd >= 0 && write(fd, &w, sizeof(w)) == (ssize_t)sizeof(w));
	if (*r >> 41 & 1)
		CHECK(ftruncate(fd, (off_t)((*r >> 42) % sizeof(w))) == 0);
	close(fd);
}

static void as_agent(void)
{
	char path[2][80], words[160];
	int n = 0, i;
	struct dirent *e;
	uint64_t r = 1;
	DIR *d;

	CHECK(setgroups(0, NULL) == 0 && setresgid(AGENT, AGENT, AGENT) == 0 && setresuid(AGENT, AGENT, AGENT) == 0);
	switches_path(&names, words);
	CHECK((d = opendir(test_dir)));
	while ((e = readdir(d)))
		if (e->d_name[0] != '.') {
			CHECK(n < 2 && strlen(e->d_name) < 50);
			strcat(strcat(strcpy(path[n++], test_dir), "/"), e->d_name);
		}
	closedir(d);
	CHECK_EQ(n, 2);
	for (i = 0; i < WORDS * 8; i += (int)sizeof(struct seg_switches))
		write_words(words, ((struct seg_names *)names.base)->nonce, &r);
	for (i = 0; i < n; i++)
		attack(path[i]);
}

/* Starts and stops for a little more than the second after which the agent's words are read again. */
static void *work_on(void *unused)
{
	while (!load(&stop)) {
		CHECK_EQ(finish(begin(kept)), 0);
		counted[0]++;
	}
	return unused;
}

static void attacked(void)
{
	pthread_t t;
	int i;

	CHECK(chown(test_dir, AGENT, AGENT) == 0 && chmod(test_dir, 03773) == 0);
	kept = register_one("attacked", "kept");
	proc = open_proc(getpid());
	names = open_names();
	CHECK(pthread_create(&t, NULL, work_on, NULL) == 0);
	for (i = 0; i < 3; i++) {
		if (i == 1)
			in_child(as_agent);
		nap(600);
	}
	store(&stop, 1);
	pthread_join(t, NULL);
	CHECK(counted[0] > 0);
	CHECK_EQ(seen_in(&proc, kept).count, counted[0]);
	name_something(1);
}

int main(void)
{
	make_dir();
	in_child(written_over);
	empty_dir(test_dir);
	in_child(attacked);
	return done();
}
