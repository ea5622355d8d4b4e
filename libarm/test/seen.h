/* What the library wrote into its segments, for test programs. */
#ifndef SEEN_H
#define SEEN_H

#include "helpers.h"
#include "layout.h"

struct segment {
	char *base;
	size_t len;
};

/* Maps a file of the directory whose name begins with one text and ends with another. */
static inline struct segment open_like(const char *from, const char *to)
{
	struct segment s = { NULL, 0 };
	DIR *d = opendir(test_dir);
	struct dirent *e;
	struct stat st;
	int fd;

	CHECK(d);
	while (!s.base && (e = readdir(d))) {
		size_t len = strlen(e->d_name), end = strlen(to);

		if (strncmp(e->d_name, from, strlen(from)) || len < end || strcmp(e->d_name + len - end, to))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDWR);
		CHECK(fd >= 0 && fstat(fd, &st) == 0);
		s.len = (size_t)st.st_size;
		s.base = mmap(NULL, s.len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(s.base != MAP_FAILED);
		close(fd);
	}
	closedir(d);
	return s;
}

static inline struct segment open_proc(pid_t pid)
{
	char from[48];

	snprintf(from, sizeof(from), "%d-%d-", (int)geteuid(), (int)pid);
	return open_like(from, ".arm");
}

static inline struct segment open_names(void)
{
	char from[24];

	snprintf(from, sizeof(from), "%d.", (int)geteuid());
	return open_like(from, "names");
}

/* Where the agent says what is to be traced. */
static inline void switches_path(struct segment *names, char path[160])
{
	struct seg_names *n = (struct seg_names *)names->base;

	snprintf(path, 160, "%s/.agent", test_dir);
	mkdir(path, 0755);
	snprintf(path, 160, "%s/.agent/%u-%016llx", test_dir, (unsigned int)n->uid, (unsigned long long)n->nonce);
}

static inline void read_switches(const char *path, struct seg_switches *w)
{
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0 && read(fd, w, sizeof(*w)) == (ssize_t)sizeof(*w));
	close(fd);
}

static inline void write_switches(const char *path, const struct seg_switches *w)
{
	char beside[180];
	int fd;

	snprintf(beside, sizeof(beside), "%s.new", path);
	fd = open(beside, O_CREAT | O_TRUNC | O_WRONLY, 0644);
	CHECK(fd >= 0 && write(fd, w, sizeof(*w)) == (ssize_t)sizeof(*w));
	close(fd);
	CHECK(rename(beside, path) == 0);
}

/* Asks for traces of a transaction, as the agent does. 0 ends all traces. */
static inline void agent_asks(struct segment *names, int tran)
{
	struct seg_switches w;
	char path[160];

	memset(&w, 0, sizeof(w));
	memcpy(w.magic, SEG_MAGIC_SWITCHES, sizeof(w.magic));
	w.order = SEG_ORDER;
	w.major = SEG_MAJOR;
	w.nonce = ((struct seg_names *)names->base)->nonce;
	if (tran)
		w.trace[(tran - 1) / 32] |= 1u << (tran - 1) % 32;
	switches_path(names, path);
	write_switches(path, &w);
}

static inline void close_segment(struct segment *s)
{
	munmap(s->base, s->len);
	s->base = NULL;
}

static inline struct seg_proc *proc_of(struct segment *s)
{
	return (struct seg_proc *)s->base;
}

static inline struct seg_tran *tran_of(struct segment *s, int id)
{
	struct seg_names *n = (struct seg_names *)s->base;

	return (struct seg_tran *)(s->base + n->trans_off) + id - 1;
}

static inline struct seg_app *app_at(struct segment *s, int id)
{
	struct seg_names *n = (struct seg_names *)s->base;

	return (struct seg_app *)(s->base + n->apps_off) + id - 1;
}

static inline uint32_t table(struct segment *s, uint64_t off, uint32_t i)
{
	return load_acquire((uint32_t *)(s->base + off) + i);
}

/* The cell of a transaction in block b, or NULL. */
static inline struct seg_cell *cell_in(struct segment *s, uint32_t b, int tran)
{
	uint32_t at = table(s, proc_of(s)->blocks_off, b), page, cell;
	struct seg_block *block = (struct seg_block *)(s->base + (uint64_t)at * 64);
	uint32_t i = (uint32_t)tran - 1;

	if (!at || !(page = load_acquire(&block->dir[i / PAGE_CELLS])))
		return NULL;
	cell = table(s, (uint64_t)page * 64, i % PAGE_CELLS);
	return cell ? (struct seg_cell *)(s->base + (uint64_t)cell * 64) : NULL;
}

struct seen {
	uint64_t count, n, sum, min, max, aborted, aborted_ns, failed, failed_ns, updates, bad_data;
};

/* All that a process has counted for a transaction. */
static inline struct seen seen_in(struct segment *s, int tran)
{
	struct seen t;
	uint32_t b, i;

	memset(&t, 0, sizeof(t));
	t.min = UINT64_MAX;
	for (b = 0; b < load_acquire(&proc_of(s)->block_next); b++) {
		struct seg_cell *c = cell_in(s, b, tran);

		if (!c)
			continue;
		CHECK_EQ(c->tran, tran);
		for (i = 0; i < HIST_LEN; i++)
			t.count += load(&c->hist[i]);
		t.n += load(&c->n);
		t.sum += load(&c->sum);
		if (load(&c->min) < t.min)
			t.min = load(&c->min);
		if (load(&c->max) > t.max)
			t.max = load(&c->max);
		t.aborted += load(&c->aborted);
		t.aborted_ns += load(&c->aborted_ns);
		t.failed += load(&c->failed);
		t.failed_ns += load(&c->failed_ns);
		t.updates += load(&c->updates);
		t.bad_data += load(&c->bad_data);
	}
	return t;
}

static inline struct seen seen(pid_t pid, int tran)
{
	struct segment s = open_proc(pid);
	struct seen t;

	CHECK(s.base);
	t = seen_in(&s, tran);
	close_segment(&s);
	return t;
}

/* How many slots are in a state. */
static inline uint32_t slots_in(struct segment *s, uint32_t state)
{
	uint32_t c, i, n = 0;

	for (c = 0; c < CHUNK_MAX; c++) {
		uint32_t at = table(s, proc_of(s)->chunks_off, c);
		struct seg_chunk *chunk = (struct seg_chunk *)(s->base + (uint64_t)at * 64);

		for (i = 0; at && i < CHUNK_SLOTS; i++)
			n += (load(&chunk->slots[i].state) & SLOT_STATE_MASK) == state;
	}
	return n;
}

/* The first metric record of a transaction that a block has. */
static inline struct seg_metric *metrics_in(struct segment *s, int tran)
{
	uint32_t b;

	for (b = 0; b < load_acquire(&proc_of(s)->block_next); b++) {
		struct seg_cell *c = cell_in(s, b, tran);

		if (c && c->metrics_off)
			return (struct seg_metric *)(s->base + c->metrics_off);
	}
	return NULL;
}

#endif
