/*
 * Reads a supplier's segment with nothing but the layout: what Go has written, say.
 *
 *	reads DIRECTORY list		prints all contexts, statistics and values
 *	reads DIRECTORY watch PATH	reads the context's values, which are updated all
 *					alike, and all volatile contexts, which are described
 *					by their paths, until it has seen enough of them change
 */
#include <sched.h>

#include "helpers.h"

/* The macros of helpers.h need these; the program is not linked with the library. */
int SpmiErrno;
char SpmiErrmsg[256];

enum { LENGTH = 64 << 20, READS = 20000, CHANGES = 200, VALUES = 64 };

static struct view seg;

/* Maps more than the file's present length, because the file may grow. */
static void map_all(const char *dir)
{
	snprintf(test_dir, sizeof(test_dir), "%s", dir);
	seg = view_segment();
	munmap(seg.base, seg.len);
	seg.base = mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, seg.fd, 0);
	CHECK(seg.base != MAP_FAILED);
	seg.h = (struct seg_header *)seg.base;
	seg.cx = (struct seg_context *)(seg.base + seg.h->contexts_off);
	seg.stats = (struct seg_stat *)(seg.base + seg.h->stats_off);
	CHECK(memcmp(seg.h->magic, SEG_MAGIC, 8) == 0 && seg.h->order == SEG_ORDER && seg.h->state == SEG_READY);
	CHECK(seg.h->header_len == sizeof(*seg.h) && seg.h->stat_len == sizeof(*seg.stats));
	CHECK(seg.h->context_len == sizeof(*seg.cx) && seg.h->slot_len == sizeof(struct seg_slot));
}

static uint32_t load(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Returns whether the word is still what it was, after all reads since then. */
static bool unchanged(const uint32_t *at, uint32_t was)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(at, __ATOMIC_RELAXED) == was;
}

/* Copies a slot that holds a context, while it does not change. */
static bool copy_slot(uint32_t n, struct seg_slot *copy)
{
	const struct seg_slot *s = slot_at(&seg, n);
	uint32_t seq;

	do {
		while ((seq = load(&s->seq)) % 2)
			sched_yield();
		memcpy(copy, s, sizeof(*copy));
	} while (!unchanged(&s->seq, seq));
	return copy->active == 1;
}

static void print_value(const struct seg_stat *s, const char *at)
{
	union { uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; uint32_t u32; int64_t i64; uint64_t u64; float f; double d; } v;

	CHECK(s->size <= sizeof(v));
	memcpy(&v, at + s->offset, s->size);
	switch (s->type) {
	case SiLong: printf("%lld\n", (long long)v.i64); return;
	case SiInt: printf("%d\n", v.i32); return;
	case SiShort: printf("%d\n", v.i16); return;
	case SiUInt:
	case SiUnsign: printf("%u\n", v.u32); return;
	case SiUShort: printf("%u\n", v.u16); return;
	case SiChar: printf("%u\n", v.u8); return;
	case SiFloat: printf("%g\n", (double)v.f); return;
	case SiDouble: printf("%g\n", v.d); return;
	case SiTimeval: printf("%d.%06d\n", v.i32, ((int32_t *)&v)[1]); return;
	default: printf("%llu\n", (unsigned long long)v.u64);
	}
}

static void print_text(const char *what, uint64_t off, uint32_t len)
{
	if (off)
		printf(" %s<%.*s>", what, (int)len, seg.base + off);
}

static void print_stats(const struct seg_context *cx, uint64_t data)
{
	uint32_t i;

	for (i = 0; i < cx->stat_count; i++) {
		const struct seg_stat *s = &seg.stats[cx->first_stat + i];

		printf("  %s <%s> %lld..%lld %u %u as %u, %u bytes, asn %u, units %08x", s->name, s->descr, (long long)s->min,
		       (long long)s->max, s->value_type, s->type, s->data_type, s->size, s->asn, s->units);
		print_text("help", s->help_off, s->help_len);
		print_text("labels", s->labels_off, s->labels_len);
		printf(": ");
		print_value(s, seg.base + data);
	}
}

static void list(void)
{
	struct seg_slot s;
	uint32_t i;

	printf("%s, language %u, word %u\n", seg.h->name, seg.h->language, seg.h->word);
	for (i = 0; i < seg.h->contexts_count; i++) {
		if (seg.cx[i].kind != SEG_FIXED)
			continue;
		printf("%s <%s> asn %u", seg.cx[i].path, seg.cx[i].descr, seg.cx[i].asn);
		print_text("help", seg.cx[i].help_off, seg.cx[i].help_len);
		printf("\n");
		print_stats(&seg.cx[i], seg.cx[i].data_off);
	}
	for (i = 0; i < load(&seg.h->slots_count); i++) {
		if (!copy_slot(i, &s))
			continue;
		CHECK(s.template < seg.h->contexts_count && seg.cx[s.template].kind == SEG_TEMPLATE);
		CHECK(s.data_len == seg.cx[s.template].data_len);
		printf("%s <%s> asn %u like %s", s.path, s.descr, s.asn, seg.cx[s.template].path);
		print_text("help", s.help_off, s.help_len);
		print_text("labels", s.labels_off, s.labels_len);
		printf("\n");
		print_stats(&seg.cx[s.template], s.data_off);
	}
}

/* Where the values of a context are, how many there are, and the word that guards them. */
struct place {
	const uint32_t *update;
	const uint64_t *at;
	uint32_t count;
};

static struct place find(const char *path)
{
	struct place p = { NULL, NULL, 0 };
	struct seg_slot s;
	uint32_t i;

	for (i = 0; i < seg.h->contexts_count; i++)
		if (seg.cx[i].kind == SEG_FIXED && strcmp(seg.cx[i].path, path) == 0)
			p = (struct place){ &seg.cx[i].update, (uint64_t *)(seg.base + seg.cx[i].data_off), seg.cx[i].stat_count };
	for (i = 0; i < load(&seg.h->slots_count); i++)
		if (copy_slot(i, &s) && strcmp(s.path, path) == 0)
			p = (struct place){ &slot_at(&seg, i)->update, (uint64_t *)(seg.base + s.data_off), seg.cx[s.template].stat_count };
	CHECK(p.at && p.count > 1 && p.count <= VALUES);
	return p;
}

/* Reads the values as a whole. Returns whether they differ from the last ones. */
static bool read_values(struct place p, uint64_t *last)
{
	uint64_t v[VALUES];
	uint32_t i, was;
	bool news;

	do {
		while ((was = load(p.update)) % 2)
			sched_yield();
		for (i = 0; i < p.count; i++)
			v[i] = __atomic_load_n(&p.at[i], __ATOMIC_RELAXED);
	} while (!unchanged(p.update, was));
	for (i = 1; i < p.count; i++)
		CHECK(v[i] == v[0]);
	news = v[0] != *last;
	*last = v[0];
	return news;
}

static void watch(const char *path)
{
	struct place p = find(path);
	uint32_t changes = load(&seg.h->changes), i;
	int reads, states = 0;
	uint64_t last = 0;
	struct seg_slot s;

	for (reads = 0; reads < READS || states < CHANGES || load(&seg.h->changes) - changes < CHANGES; reads++) {
		states += read_values(p, &last);
		if (reads % 16 == 0)
			sched_yield();
		for (i = 0; i < load(&seg.h->slots_count); i++)
			if (copy_slot(i, &s))
				CHECK(strncmp(s.path, "DDS/", 4) == 0 && strcmp(s.path, s.descr) == 0);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 3 || argc == 4);
	map_all(argv[1]);
	if (argc == 4)
		watch(argv[3]);
	else
		list();
	return 0;
}
