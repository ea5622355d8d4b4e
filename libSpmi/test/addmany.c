/*
 * 100,000 contexts: another process sees all of them, none moves, and room is
 * used again.
 */
#include "helpers.h"

enum { MANY = 100000, KEEP = 64000, GROUPS = 4 };

static struct inst *at[MANY];

static char *add(int i)
{
	char path[64];

	snprintf(path, sizeof(path), "DDS/IBM/G%d/cx%d", i % GROUPS, i);
	return SpmiDdsAddCx(0, path, path + 8, i / GROUPS);
}

static void check_values(int from, int step)
{
	int i;

	for (i = from; i < MANY; i += step)
		CHECK(at[i]->a == (float)i && at[i]->b == (unsigned long)i * 3);
}

static SpmiShare *init(void)
{
	static const cx_create t[] = {
		VENDOR, CONTEXT("DDS/IBM/G0", "", 1, NULL, 0), CONTEXT("DDS/IBM/G1", "", 3, NULL, 0),
		CONTEXT("DDS/IBM/G2", "", 4, NULL, 0), CONTEXT("DDS/IBM/G3", "", 5, NULL, 0),
	};

	return SpmiDdsInit(t, CX_L(t), guide_inst, CX_L(guide_inst), test_file);
}

static void supplier(int from, int to)
{
	int i;

	CHECK(init());
	for (i = 0; i < MANY; i++) {
		CHECK((at[i] = (struct inst *)add(i)));
		CHECK((uintptr_t)at[i] % 8 == 0 && at[i]->a == 0 && at[i]->b == 0);
		at[i]->a = (float)i;
		at[i]->b = (unsigned long)i * 3;
	}
	check_values(0, 1);
	tell(to, 'a');
	CHECK(hear(from) == 'd');
	for (i = 0; i < MANY; i += 2)
		CHECK(SpmiDdsDelCx((char *)at[i]) == 0);
	check_values(1, 2);
	tell(to, 'b');
	CHECK(hear(from) == 'r');
	for (i = 0; i < MANY; i += 2) {
		CHECK((at[i] = (struct inst *)add(i)));
		CHECK(at[i]->a == 0 && at[i]->b == 0);
	}
	tell(to, 'c');
	CHECK(hear(from) == 'c');
	for (i = 0; i < MANY; i++) {
		CHECK(SpmiDdsDelCx((char *)at[0]) == 0);
		CHECK((at[0] = (struct inst *)add(0)));
	}
	tell(to, 'e');
	CHECK(hear(from) == 'q');
	SpmiExit();
}

static void check_slots(struct view *v, bool odd_only)
{
	char path[64];
	unsigned n;

	CHECK(v->h->slots_count == MANY);
	for (n = 0; n < MANY; n++) {
		struct seg_slot *s = slot_at(v, n);
		struct inst *d = (struct inst *)(v->base + s->data_off);

		CHECK(s->seq % 2 == 0 && s->active == (odd_only ? n % 2 : 1));
		snprintf(path, sizeof(path), "DDS/IBM/G%u/cx%u", n % GROUPS, n);
		CHECK(strcmp(s->path, path) == 0 && strcmp(s->descr, path + 8) == 0);
		CHECK(s->template == 5 && s->asn == n / GROUPS && s->data_len == sizeof(struct inst));
		CHECK(s->data_off + s->data_len <= v->h->size && s->data_off % 8 == 0);
		if (s->active)
			CHECK(d->a == (float)n && d->b == (unsigned long)n * 3);
	}
}

int main(void)
{
	struct child c;
	struct view v;
	uint64_t size;
	uint32_t changes;

	make_dir();
	c = spawn(supplier);
	CHECK(hear(c.from) == 'a');
	v = view_segment();
	CHECK(v.h->changes == MANY && v.h->size <= v.len);
	CHECK(v.h->recent[(MANY - 1) % SEG_RECENT] == MANY);
	check_slots(&v, false);
	tell(c.to, 'd');
	CHECK(hear(c.from) == 'b');
	check_slots(&v, true);
	CHECK(v.h->changes == MANY + MANY / 2);
	size = v.h->size;
	tell(c.to, 'r');
	CHECK(hear(c.from) == 'c');
	CHECK(v.h->size == size && v.h->slots_count == MANY && v.h->changes == 2 * MANY);
	changes = v.h->changes;
	tell(c.to, 'c');
	CHECK(hear(c.from) == 'e');
	CHECK(v.h->size == size && v.h->slots_count == MANY && v.h->changes == changes + 2 * MANY);
	CHECK(v.h->updates == 0);
	tell(c.to, 'q');
	CHECK(reap(c) == 0);
	return done();
}
