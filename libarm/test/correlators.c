/* Correlators, what becomes of parents and children, and traces. */
#include "seen.h"

static int app, tran;

static arm_data1_t *buffer(int flags)
{
	static arm_data1_t b;

	memset(&b, 0, sizeof(b));
	b.format = ARM_FORMAT_DATA;
	b.flags[0] = (unsigned char)flags;
	return &b;
}

static int start_with(arm_data1_t *b, int size)
{
	int h = arm_start(tran, 0, (arm_data_t *)b, size);

	CHECK(h > 0);
	return h;
}

static uint32_t get(const unsigned char *at, int n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | *at++;
	return v;
}

static void put(unsigned char *at, uint32_t v, int n)
{
	while (n--)
		*at++ = (unsigned char)(v >> 8 * n);
}

static uint64_t bad(void)
{
	return seen(getpid(), tran).bad_data;
}

static void generated(void)
{
	arm_data1_t *b = buffer(ARM_CORRELATOR_WANTED);
	const unsigned char *c = (const unsigned char *)&b->correlator;
	struct segment s = open_names();
	struct seg_names *n = (struct seg_names *)s.base;
	int h = start_with(b, 256), len = ARM_CORRELATOR_LENGTH(&b->correlator), size;

	CHECK_EQ(b->flags[0], ARM_CORRELATOR_WANTED | ARM_CORRELATOR_GIVEN);
	CHECK(len == 28 || len == 40);
	CHECK_EQ(len, 22 + n->addr_len);
	CHECK(c[2] == 1 && c[3] == 0);
	CHECK_EQ(get(c + 4, 2), n->addr_format);
	CHECK(get(c + 6, 2) == 41377 && get(c + 8, 2) == 2 && get(c + 10, 2) == geteuid());
	CHECK(get(c + 12, 4) == (uint32_t)h && get(c + 16, 4) == (uint32_t)tran);
	CHECK(get(c + 20, 2) == n->addr_len && memcmp(c + 22, n->address, n->addr_len) == 0);
	CHECK_EQ(get(c + 22 + n->addr_len - 2, 2), 44321);
	finish(h);
	/* The correlator is written only if there is room, and no byte behind it changes. */
	for (size = 88; size < 88 + len; size++) {
		b = buffer(ARM_CORRELATOR_WANTED | ARM_CORRELATOR_GIVEN);
		finish(start_with(b, size));
		CHECK_EQ(b->flags[0], ARM_CORRELATOR_WANTED);
		CHECK_EQ(ARM_CORRELATOR_LENGTH(&b->correlator), 0);
	}
	b = buffer(ARM_CORRELATOR_WANTED);
	b->correlator.data[len - 2] = 77;
	finish(start_with(b, 88 + len));
	CHECK(b->flags[0] & ARM_CORRELATOR_GIVEN);
	CHECK_EQ(b->correlator.data[len - 2], 77);
	b = buffer(0); /* not asked for */
	finish(start_with(b, 256));
	CHECK(b->flags[0] == 0 && ARM_CORRELATOR_LENGTH(&b->correlator) == 0);
	CHECK_EQ(bad(), 0);
	close_segment(&s);
}

/* A correlator of another vendor, by its fields. */
static void foreign(arm_data1_t *b, uint32_t vendor, uint32_t class, int addr_len)
{
	unsigned char *c = (unsigned char *)&b->correlator;

	put(c, 22 + (uint32_t)addr_len, 2);
	put(c + 2, 1, 1);
	put(c + 4, 5, 2);
	put(c + 6, vendor, 2);
	put(c + 8, 3, 2);
	put(c + 10, 4, 2);
	put(c + 12, 99, 4);
	put(c + 16, class, 4);
	put(c + 20, (uint32_t)addr_len, 2);
	memset(c + 22, 'A', (size_t)addr_len);
}

static struct seg_pair *pair_of(struct segment *s, uint32_t vendor, uint32_t class)
{
	struct seg_pair *p = (struct seg_pair *)(s->base + proc_of(s)->pairs_off);
	int i;

	for (i = 0; proc_of(s)->pairs_off && i < PAIRS_LEN; i++)
		if (p[i].state == RECORD_PUBLISHED && p[i].vendor == vendor && p[i].class == class && p[i].tran == (uint32_t)tran)
			return &p[i];
	return NULL;
}

static void pairs(void)
{
	struct segment s;
	struct seg_pair *p;
	arm_data1_t *b;
	int i;

	for (i = 0; i < 6; i++) {
		b = buffer(ARM_PARENT_GIVEN);
		foreign(b, 7, 1234567, 16);
		put((unsigned char *)&b->correlator + 12, (uint32_t)i, 4); /* the handle does not matter */
		CHECK_EQ(arm_stop(start_with(b, 88 + 38), i % 3, 0, NULL, 0), 0);
	}
	b = buffer(ARM_PARENT_GIVEN);
	foreign(b, 8, 1234567, 146); /* as long as can be */
	finish(start_with(b, 256));
	s = open_proc(getpid());
	CHECK((p = pair_of(&s, 7, 1234567)));
	CHECK(p->count == 2 && p->aborted == 2 && p->failed == 2 && p->sum > 0);
	CHECK(p->version == 3 && p->instance == 4 && p->addr_format == 5 && p->addr_len == 16);
	CHECK(memcmp(p->address, "AAAAAAAAAAAAAAAA\0\0\0\0\0\0\0\0", 24) == 0);
	CHECK((p = pair_of(&s, 8, 1234567)) && p->addr_len == 24 && p->count == 1);
	/* Correlators that cannot be read, and lengths that leave no correlator. */
	foreign(b, 9, 1, 16);
	((unsigned char *)&b->correlator)[2] = 2;
	finish(start_with(b, 256));
	foreign(b, 9, 1, 16);
	put((unsigned char *)&b->correlator + 20, 17, 2);
	finish(start_with(b, 256));
	put((unsigned char *)&b->correlator, 21, 2);
	finish(start_with(b, 256));
	put((unsigned char *)&b->correlator, 1, 2);
	finish(start_with(b, 256));
	put((unsigned char *)&b->correlator, 0, 2);
	finish(start_with(b, 256));
	CHECK(!pair_of(&s, 9, 1));
	CHECK_EQ(bad(), 0);
	close_segment(&s);
}

/* The library's own correlator as a child's parent. Then come as many parents as there is room for. */
static void chain_and_full(void)
{
	struct segment s;
	struct seg_pair *p;
	arm_data1_t *b = buffer(ARM_CORRELATOR_WANTED);
	int h = start_with(b, 256), i;

	b->flags[0] = ARM_PARENT_GIVEN | ARM_CORRELATOR_WANTED;
	finish(start_with(b, 256));
	CHECK_EQ(b->flags[0], ARM_PARENT_GIVEN | ARM_CORRELATOR_WANTED | ARM_CORRELATOR_GIVEN);
	finish(h);
	s = open_proc(getpid());
	CHECK((p = pair_of(&s, 41377, (uint32_t)tran)) && p->count == 1);
	for (i = 0; i < 600; i++) {
		b = buffer(ARM_PARENT_GIVEN);
		foreign(b, 10, 1 + (uint32_t)i, 4);
		finish(start_with(b, 256));
	}
	CHECK_EQ(proc_of(&s)->pairs_lost, 600 - (PAIRS_LEN - 4));
	CHECK((p = pair_of(&s, 10, 1)) && p->count == 1);
	close_segment(&s);
}

static struct seg_event *event(struct segment *s, uint64_t i)
{
	struct seg_event *e = (struct seg_event *)(s->base + proc_of(s)->trace_off) + i % TRACE_LEN;

	CHECK_EQ(e->seq, 2 * i + 2);
	CHECK_EQ(e->tran, tran);
	return e;
}

static void traced(void)
{
	struct segment s;
	struct seg_event *e;
	arm_data1_t *b;
	arm_data2_t text;
	arm_correlator_t own;
	int h, i;

	b = buffer(ARM_TRACE_WANTED | ARM_CORRELATOR_WANTED | ARM_PARENT_GIVEN);
	foreign(b, 11, 5, 4);
	h = start_with(b, 256);
	own = b->correlator;
	CHECK_EQ(own.data[1], 0x40);
	text.format = ARM_FORMAT_TEXT;
	memset(text.text, 't', sizeof(text.text));
	CHECK_EQ(arm_update(h, 0, (arm_data_t *)&text, 4 + 10), 0);
	CHECK_EQ(arm_update(h, 0, (arm_data_t *)&text, 1024), 0);
	CHECK_EQ(arm_stop(h, ARM_ABORT, 0, NULL, 0), 0);
	s = open_proc(getpid());
	CHECK_EQ(proc_of(&s)->trace_next, 4);
	e = event(&s, 0);
	CHECK(e->kind == EVENT_START && e->handle == (uint32_t)h && e->time > 0);
	CHECK(e->parent[1] == 26 && e->parent[7] == 11 && memcmp(e->own, &own, 28) == 0);
	e = event(&s, 1);
	CHECK(e->kind == EVENT_UPDATE && e->text_len == 10 && memcmp(e->text, "tttttttttt", 11) == 0);
	CHECK(event(&s, 2)->text_len == 1020);
	e = event(&s, 3);
	CHECK(e->kind == EVENT_STOP && e->status == ARM_ABORT && e->duration > 0);
	CHECK_EQ(e->time - e->duration, event(&s, 0)->time);
	/* The parent's flags are passed on. The flag that an agent sets asks for a trace, too. */
	for (i = 0x40; i <= 0x80; i += 0x40) {
		b = buffer(ARM_CORRELATOR_WANTED | ARM_PARENT_GIVEN);
		foreign(b, 11, 5, 4);
		b->correlator.data[1] = (unsigned char)i;
		finish(start_with(b, 256));
		CHECK_EQ(b->correlator.data[1], i);
	}
	CHECK_EQ(proc_of(&s)->trace_next, 8);
	close_segment(&s);
}

/* Runs one transaction until the library has noticed what the agent asks for, which it looks up once a
 * second. */
static uint64_t events_of_one(struct segment *s, uint64_t want)
{
	uint64_t before, came;
	int tries;

	for (tries = 0; tries < 3000; tries++) {
		before = proc_of(s)->trace_next;
		CHECK_EQ(finish(begin(tran)), 0);
		came = proc_of(s)->trace_next - before;
		if (came == want)
			break;
		nap(10);
	}
	return came;
}

static void traced_by_agent(void)
{
	struct segment s = open_proc(getpid()), n = open_names();
	arm_data1_t *b = buffer(ARM_CORRELATOR_WANTED);
	uint64_t next;
	int i;

	agent_asks(&n, tran);
	CHECK_EQ(events_of_one(&s, 2), 2);
	next = proc_of(&s)->trace_next;
	finish(start_with(b, 256));
	CHECK_EQ(b->correlator.data[1], 0x80);
	for (i = 0; i < 200; i++)
		finish(begin(tran));
	CHECK_EQ(proc_of(&s)->trace_next, next + 402);
	CHECK_EQ(event(&s, next + 401)->kind, EVENT_STOP);
	CHECK_EQ(event(&s, next + 401 - 127)->kind, EVENT_START);
	agent_asks(&n, tran + 1);
	CHECK_EQ(events_of_one(&s, 0), 0);
	agent_asks(&n, tran);
	CHECK_EQ(events_of_one(&s, 2), 2);
	agent_asks(&n, 0);
	CHECK_EQ(events_of_one(&s, 0), 0);
	close_segment(&s);
	close_segment(&n);
}

/* If something else stands in the place of the agent's file, nothing is traced and nothing else
 * happens. A child reads the file with its first call. */
static void strange_switches(void)
{
	struct segment n = open_names(), s;
	struct seg_switches w;
	char path[160];
	int i;

	for (i = 0; i < 11; i++) {
		agent_asks(&n, tran);
		switches_path(&n, path);
		read_switches(path, &w);
		if (i == 1)
			CHECK(unlink(path) == 0);
		if (i == 2)
			CHECK(truncate(path, 0) == 0);
		if (i == 3)
			CHECK(truncate(path, sizeof(w) - 1) == 0);
		if (i == 4)
			w.magic[0] = 'X';
		if (i == 5)
			w.order = 0x04030201;
		if (i == 6)
			w.major++;
		if (i == 7)
			w.nonce++;
		if (i >= 4 && i <= 7)
			write_switches(path, &w);
		if (i == 8)
			CHECK(unlink(path) == 0 && mkfifo(path, 0644) == 0);
		if (i == 9)
			CHECK(unlink(path) == 0 && symlink("/etc/passwd", path) == 0);
		if (i == 10)
			CHECK(chown(path, 65534, 65534) == 0);
		if (fork() == 0) {
			finish(begin(tran));
			s = open_proc(getpid());
			CHECK_EQ(proc_of(&s)->trace_next, i == 0 ? 2 : 0);
			_exit(0);
		}
		reap_any();
		CHECK(unlink(path) == 0 || i == 1);
	}
	close_segment(&n);
}

int main(void)
{
	make_dir();
	tran = register_one("correlators", "t");
	app = arm_init("correlators", NULL, 0, NULL, 0);
	generated();
	traced();
	traced_by_agent();
	strange_switches();
	tran = arm_getid(app, "pairs", NULL, 0, NULL, 0);
	pairs();
	tran = arm_getid(app, "chain", NULL, 0, NULL, 0);
	chain_and_full();
	return done();
}
