/* What SpmiDdsInit puts into the segment, as another process sees it. */
#include "helpers.h"

static void supplier(int from, int to)
{
	SpmiShare *share = SpmiDdsInit(guide_table, CX_L(guide_table), guide_inst, CX_L(guide_inst),
				       test_file, 100000);
	struct dat *d;

	CHECK(share && SpmiErrno == 0 && SpmiErrmsg[0] == 0);
	CHECK(share->SiShAreaLen == (int)offsetof(struct dat, beyond));
	d = (struct dat *)share->SiShArea;
	d->a = 22;
	d->d = 62;
	tell(to, 'r');
	CHECK(hear(from) == 'n');
	UNTIL(share->SiShGoAway);
	CHECK(share->SiShSubscrib == 4 && share->SiShInterval == 500 && share->SiShGoAway == 1700000000);
	share->SiShT.tv_sec = 12345;
	share->SiShT.tv_usec = 678;
	share->SiShPortNo = 4711;
	tell(to, 'w');
	CHECK(hear(from) == 'x');
	SpmiExit();
	CHECK(SpmiErrno == 0);
	d->a = 23; /* as by a thread that does not know of it yet */
	tell(to, 'e');
	CHECK(hear(from) == 'q');
}

static void check_file(struct view *v)
{
	struct stat st;
	char name[256], want[64];

	CHECK(fstat(v->fd, &st) == 0);
	CHECK((st.st_mode & 07777) == 0640 && st.st_nlink == 1 && st.st_uid == geteuid());
	CHECK(count_files(".dds", name) == 1 && count_files("", NULL) == 1);
	snprintf(want, sizeof(want), "%u-%u-", (unsigned)st.st_uid, v->h->pid);
	CHECK(strncmp(name, want, strlen(want)) == 0);
	CHECK(locked(v->fd));
}

static void check_header(struct view *v, pid_t pid)
{
	struct seg_header *h = v->h;

	CHECK(memcmp(h->magic, "RTDDSEG1", 8) == 0);
	CHECK(h->order == 0x01020304 && h->major == 1 && h->minor == 2 && h->header_len == 512);
	CHECK(h->word == sizeof(void *) && h->size <= v->len && h->state == SEG_READY);
	CHECK(h->pid == (uint32_t)pid && h->pidns && h->start && h->uid == geteuid());
	CHECK(h->stats_count == 6 && h->stat_len == 256);
	CHECK(h->contexts_count == 6 && h->context_len == 320);
	CHECK(h->slots_count == 0 && h->slot_len == 320 && h->slot_block[0] == 0 && h->changes == 0);
	CHECK(h->language == 1 && strcmp(h->name, "hook") == 0);
	CHECK(h->time_off % h->time_word == 0 && h->time_word == sizeof(((struct timeval *)0)->tv_sec));
	CHECK(h->timeout == 0);
}

static void check_contexts(struct view *v)
{
	struct seg_context *cx = v->cx;

	CHECK(strcmp(cx[0].path, "DDS/IBM") == 0 && cx[0].asn == 2 && cx[0].stat_count == 0);
	CHECK(cx[0].kind == SEG_FIXED && cx[0].data_off == 0 && cx[0].data_len == 0);
	CHECK(strcmp(cx[1].path, "DDS/IBM/Test") == 0 && strcmp(cx[1].descr, "Bogus Context Number 1") == 0);
	CHECK(cx[1].asn == 220 && cx[1].first_stat == 0 && cx[1].stat_count == 2);
	CHECK(cx[3].first_stat == 2 && cx[3].stat_count == 2 && cx[3].data_off == cx[1].data_off);
	CHECK(cx[4].kind == SEG_TEMPLATE && cx[4].data_off == 0 && cx[4].stat_count == 2);
	CHECK(cx[4].data_len == sizeof(struct inst));
	CHECK(cx[5].kind == SEG_TEMPLATE && cx[5].data_len == 0);
}

static void check_stats(struct view *v)
{
	struct seg_stat *s = v->stats;

	CHECK(strcmp(s[0].name, "gadgets") == 0 && strcmp(s[0].descr, "Fake counter value") == 0);
	CHECK(s[0].value_type == SiCounter && s[0].data_type == SiLong && s[0].type == SiULong);
	CHECK(s[0].offset == 0 && s[0].size == sizeof(long) && s[0].asn == 1);
	CHECK(s[1].min == -5 && s[1].max == 100 && s[1].value_type == SiQuantity && s[1].data_type == SiFloat);
	CHECK(strcmp(s[3].name, "queue") == 0 && s[3].offset == offsetof(struct dat, d));
	CHECK(s[4].size == 4 && s[4].type == SiLong && s[5].offset == offsetof(struct inst, b));
	CHECK(s[0].units == 0 && s[0].flags == 0 && s[0].help_off == 0 && s[0].labels_off == 0);
}

static void check_area(struct view *v)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const char *area = v->base + v->cx[1].data_off;

	CHECK(v->cx[1].data_len == offsetof(struct dat, beyond));
	CHECK((v->cx[1].data_off + v->cx[1].data_len) % page == 0);
	CHECK(((const struct dat *)area)->a == 22 && ((const struct dat *)area)->d == 62);
}

int main(void)
{
	struct child c;
	struct view v;
	const struct dat *d;
	char name[256];

	make_dir();
	c = spawn(supplier);
	CHECK(hear(c.from) == 'r');
	v = view_segment();
	check_file(&v);
	check_header(&v, c.pid);
	check_contexts(&v);
	check_stats(&v);
	check_area(&v);
	d = (const struct dat *)(v.base + v.cx[1].data_off);
	give_notice(1700000000, 500, 4);
	tell(c.to, 'n');
	CHECK(hear(c.from) == 'w');
	if (v.h->time_word == 4)
		CHECK(((int32_t *)(v.base + v.h->time_off))[0] == 12345 && ((int32_t *)(v.base + v.h->time_off))[1] == 678);
	else
		CHECK(((int64_t *)(v.base + v.h->time_off))[0] == 12345 && ((int64_t *)(v.base + v.h->time_off))[1] == 678);
	tell(c.to, 'x');
	CHECK(hear(c.from) == 'e');
	CHECK(v.h->state == SEG_ENDED && count_files("", name) == 0 && !locked(v.fd));
	CHECK(d->a == 22);
	tell(c.to, 'q');
	CHECK(reap(c) == 0);
	return done();
}
