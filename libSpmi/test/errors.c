/* Every check, with the code that the guide gives it. */
#include "helpers.h"

#define LONG63 "DDS/V/0123456789012345678901234567/0123456789012345678901234567"
#define NAME31 "0123456789012345678901234567890"

static SpmiShare *init(const cx_create *t, int n, const cx_create *i, int m)
{
	return SpmiDdsInit(t, n, i, m, test_file);
}

/* Calls SpmiDdsInit with the vendor's context and one more. */
static bool refuses(const char *path, int asn, const struct SpmiRawStat *stats, int n)
{
	cx_create t[2] = { CONTEXT("DDS/V", "vendor", 7, NULL, 0), CONTEXT("", "context", 0, stats, n) };

	memcpy(t[1].path, path, strlen(path) < 64 ? strlen(path) + 1 : 64);
	t[1].asnno = (unsigned short)asn;
	return !init(t, 2, NULL, 0);
}

static bool accepts(const char *path, const struct SpmiRawStat *stats, int n)
{
	bool refused = refuses(path, 1, stats, n);

	if (!refused)
		SpmiExit();
	return !refused;
}

/*
 * A function that the library would have to call. It is refused, not
 * ignored.
 */
static int function()
{
	return 0;
}

static void arguments(void)
{
	int i;
	static const cx_create bad = { "DDS/V/A", "x", 1, 0, NULL, 0, inst_stats, 2, NULL, SiNoInst, 0, NULL, 0 };

	CHECK_ERR((SpmiExit(), 1), SiNotInit);
	CHECK_ERR(!init(NULL, 1, NULL, 0), SiBadArgument);
	CHECK_ERR(!init(NULL, 0, NULL, 1), SiBadArgument);
	CHECK_ERR(!init(guide_table, -1, NULL, 0), SiBadArgument);
	CHECK_ERR(!init(guide_table, 4, guide_inst, -1), SiBadArgument);
	CHECK_ERR(!init(guide_table, 0, NULL, 0), SiBadArgument);
	CHECK_ERR(!init(guide_table, 4, guide_table, 4), SiBadArgument);
	CHECK_ERR(!SpmiDdsInit(guide_table, 4, NULL, 0, NULL), SiBadArgument);
	CHECK_ERR(!SpmiDdsInit(guide_table, 4, NULL, 0, ""), SiBadArgument);
	CHECK_ERR(!init(&bad, 1, NULL, 0), SiBadArgument);
	for (i = 0; i < 3; i++) {
		cx_create t[2] = { CONTEXT("DDS/V", "vendor", 7, NULL, 0), CONTEXT("DDS/V/A", "x", 1, NULL, 0) };

		t[1].inst_subs = i == 0 ? function : NULL;
		t[1].inst_freq = i == 1 ? -1 : i == 2 ? SiContInst + 1 : SiNoInst;
		CHECK_ERR(!init(t, 2, NULL, 0), SiBadArgument);
		t[1].inst_subs = NULL;
		t[1].inst_freq = i;
		CHECK(init(t, 2, NULL, 0));
		SpmiExit();
	}
	CHECK_ERR(SpmiInit(14) == SiBadArgument, SiBadArgument);
	CHECK_ERR(SpmiInit(601) == SiBadArgument, SiBadArgument);
	CHECK_ERR(SpmiInit(-1) == SiBadArgument, SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/V/A", "x", 1), SiNotInit);
	CHECK_ERR(SpmiDdsDelCx(test_file) == SiNotInit, SiNotInit);
	CHECK(SpmiInit(15) == 0 && SpmiInit(600) == 0 && SpmiInit(0) == 0 && SpmiErrno == 0);
	SpmiExit();
	CHECK(SpmiErrno == 0);
}

static void paths(void)
{
	static const char *const bad[] = {
		"", "/DDS/V/A", "DDS/V/A/", "DDS/V//A", "DDS//A", "Foo", "Foo/Bar", "DDSX/V/A", "dds/V/A",
		"DDS/V/A\tB", "DDS/V/ A", "DDS/V/A ", "DDS/V/\177", "DDS/V/" NAME31 "x", LONG63 "x",
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(refuses(bad[i], 1, NULL, 0), SiBadArgument);
	CHECK(strlen(LONG63) == 63 && strlen(NAME31) == 31);
	CHECK(accepts("DDS/V/" NAME31, NULL, 0));
	CHECK(accepts("DDS/V/%free \303\244", NULL, 0));
	CHECK_ERR(refuses(LONG63, 1, NULL, 0), SiInvalidCx); /* not too long, but without a parent */
}

static void hierarchy(void)
{
	cx_create t[4] = { CONTEXT("DDS/V", "vendor", 7, NULL, 0), CONTEXT("DDS/V/A", "a", 1, NULL, 0),
			   CONTEXT("DDS/V/B", "b", 2, NULL, 0), CONTEXT("DDS/V", "again", 7, NULL, 0) };

	CHECK_ERR(refuses("DDS/V/X/Y", 1, NULL, 0), SiInvalidCx);
	CHECK_ERR(refuses("DDS/W/X", 1, NULL, 0), SiInvalidCx);
	CHECK_ERR(refuses("DDS/W", 1, pu_stats, 2), SiBadArgument);
	CHECK_ERR(refuses("DDS", 99, pu_stats, 2), SiBadArgument);
	CHECK_ERR(refuses("DDS/W", 7, NULL, 0), SiDuplicate);
	CHECK(accepts("DDS", NULL, 0));
	CHECK(init(t, 4, NULL, 0)); /* the vendor's context again: ignored */
	SpmiExit();
	t[2].asnno = 1;
	CHECK_ERR(!init(t, 3, NULL, 0), SiDuplicate);
	t[1].asnno = t[2].asnno = 0; /* no number */
	CHECK(init(t, 3, NULL, 0));
	SpmiExit();
	t[1].asnno = 1;
	t[2] = t[1];
	t[2].asnno = 2;
	CHECK_ERR(!init(t, 3, NULL, 0), SiDuplicate);
	strcpy(t[2].path, "DDS/V/A/gadgets");
	t[1].stats = pu_stats;
	t[1].num_stats = 2;
	CHECK_ERR(!init(t, 3, NULL, 0), SiDuplicate); /* of a statistic's name */
	strcpy(t[2].path, "DDS/V/A/other");
	CHECK_ERR(!init(t, 3, NULL, 0), SiDuplicate); /* of a statistic's number */
	t[2].asnno = 3;
	CHECK(init(t, 3, NULL, 0));
	SpmiExit();
	t[3] = t[1]; /* a child may stand before its parent */
	t[1] = t[2];
	t[2] = t[3];
	CHECK(init(t, 3, NULL, 0));
	SpmiExit();
	memset(t[1].descr, 'x', 64);
	CHECK_ERR(!init(t, 3, NULL, 0), SiBadArgument);
}

static void statistics(void)
{
	struct SpmiRawStat s[2];

#define REFUSED(change, code) \
	do { \
		memcpy(s, pu_stats, sizeof(s)); \
		change; \
		CHECK_ERR(refuses("DDS/V/A", 1, s, 2), code); \
	} while (0)
	REFUSED(strcpy(s[1].name, "gadgets"), SiDuplicate);
	REFUSED(s[1].asnno = 1, SiDuplicate);
	memcpy(s, pu_stats, sizeof(s));
	s[0].asnno = s[1].asnno = 0; /* no number */
	CHECK(accepts("DDS/V/A", s, 2));
	REFUSED(s[0].name[0] = 0, SiBadArgument);
	REFUSED(memset(s[0].name, 'x', 32), SiBadArgument);
	REFUSED(s[0].name[2] = '/', SiBadArgument);
	REFUSED(memset(s[0].description, 'x', 64), SiBadArgument);
	REFUSED(s[0].value_type = (enum ValType)2, SiBadArgument);
	REFUSED(s[0].data_type = (enum DataType)13, SiBadArgument);
	REFUSED(s[0].type = (enum DataType)13, SiBadArgument);
	REFUSED(s[0].get_fun = function, SiBadArgument);
	REFUSED(s[0].size = 3, SiBadArgument);
	REFUSED(s[0].size = 0, SiBadArgument);
	REFUSED((s[0].type = SiFloat, s[0].size = 2), SiBadArgument);
	REFUSED((s[0].type = SiChar, s[0].size = 1025), SiBadArgument);
	REFUSED((s[0].type = SiTimeval, s[0].size = 4), SiBadArgument);
	REFUSED(s[0].offset = -1, SiBadArgument);
	REFUSED(s[0].offset = 0x7ffffff0, SiBadArgument);
	CHECK_ERR(refuses("DDS/V/A", 1, NULL, 2), SiBadArgument);
	CHECK_ERR(refuses("DDS/V/A", 1, pu_stats, -1), SiBadArgument);
	CHECK(accepts("DDS/V/A", pu_stats, 2));
}

static void templates(void)
{
	cx_create t[1] = { CONTEXT("anything at all", "x", 1, inst_stats, 2) };
	struct SpmiRawStat s[2];

	CHECK(init(NULL, 0, t, 1)); /* path and number are placeholders */
	SpmiExit();
	memcpy(s, inst_stats, sizeof(s));
	s[1].asnno = 1;
	t[0].stats = s;
	CHECK_ERR(!init(NULL, 0, t, 1), SiDuplicate);
	memset(t[0].path, 'x', 64);
	CHECK_ERR(!init(NULL, 0, t, 1), SiBadArgument);
}

static void adding(void)
{
	char *bingo, *sub;
	char none[8];

	CHECK(guide_init());
	CHECK_ERR(!guide_init(), SiDuplicate);
	CHECK_ERR(!SpmiDdsAddCx(2, "DDS/IBM/Moretest/Bingo", "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(-1, "DDS/IBM/Moretest/Bingo", "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(65536, "DDS/IBM/Moretest/Bingo", "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, NULL, "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo", NULL, 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo", "x", -1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo", "x", 65536), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, LONG63 "x", "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/B", LONG63 "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/" NAME31 "x", "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS", "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/Other", "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM", "x", 1), SiBadArgument);
	CHECK_ERR(!SpmiDdsAddCx(1, "DDS/IBM", "x", 1), SiDuplicate);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Nowhere/B", "x", 1), SiInvalidCx);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/Else/B", "x", 1), SiInvalidCx);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/SubTest", "x", 1), SiDuplicate);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/B", "x", 222), SiDuplicate);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Test/gadgets", "x", 9), SiDuplicate);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Test/B", "x", 1), SiDuplicate);
	CHECK((bingo = SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo", "x", 1)) && SpmiErrno == 0);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo", "x", 2), SiDuplicate);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bongo", "x", 1), SiDuplicate);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo/problems", "x", 9), SiDuplicate);
	CHECK((sub = SpmiDdsAddCx(1, "DDS/IBM/Moretest/Bingo/sub", "x", 9)));
	CHECK(SpmiDdsAddCx(1, "DDS/Other", "a vendor", 3));
	CHECK(SpmiDdsAddCx(0, "DDS/Other/thing", "x", 3));
	CHECK_ERR(SpmiDdsDelCx(NULL) == SiBadArgument, SiBadArgument);
	CHECK_ERR(SpmiDdsDelCx(none) == SiNotFound, SiNotFound);
	CHECK_ERR(SpmiDdsDelCx(bingo + 1) == SiNotFound, SiNotFound);
	CHECK_ERR(SpmiDdsDelCx(bingo) == SiInstBusy, SiInstBusy); /* the context sub is below it */
	CHECK(SpmiDdsDelCx(sub) == 0);
	CHECK(SpmiDdsDelCx(bingo) == 0 && SpmiErrno == 0);
	CHECK_ERR(SpmiDdsDelCx(bingo) == SiDeleted, SiDeleted);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo/x", "x", 1), SiInvalidCx);
	SpmiExit();
	CHECK_ERR(SpmiDdsDelCx(bingo) == SiNotInit, SiNotInit);
}

int main(void)
{
	make_dir();
	arguments();
	paths();
	hierarchy();
	statistics();
	templates();
	adding();
	CHECK(count_files("", NULL) == 0);
	return done();
}
