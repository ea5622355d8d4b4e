/* A killed supplier is not in the way, and a living one keeps its paths. */
#include "helpers.h"

static void supplier(int from, int to)
{
	char *bingo;

	if (!guide_init()) {
		tell(to, SpmiErrno == SiDuplicate ? 'd' : '?');
		_exit(0);
	}
	bingo = SpmiDdsAddCx(0, "DDS/IBM/Bingo", "below the vendor's context", 1);
	tell(to, bingo ? 'y' : '?');
	hear(from);
	SpmiExit();
}

/*
 * Adds only the volatile context that the other supplier has below the
 * vendor's.
 */
static void bingo_only(int from, int to)
{
	static const cx_create t[] = { VENDOR, CONTEXT("DDS/IBM/Mine", "", 3, NULL, 0) };
	char *area;

	CHECK(SpmiDdsInit(t, 2, guide_inst, 2, test_file));
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Bingo", "x", 1), SiDuplicate);
	CHECK((area = SpmiDdsAddCx(0, "DDS/IBM/Bongo", "x", 1)));
	/* below a context that another living supplier has */
	CHECK(SpmiDdsAddCx(0, "DDS/IBM/Moretest/Guest", "x", 7));
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Noone/Guest", "x", 7), SiInvalidCx);
	CHECK(SpmiDdsDelCx(area) == 0);
	tell(to, 'y');
	hear(from);
}

/* Has a fixed context below one of another supplier. */
static void below(int from, int to)
{
	static const cx_create t[] = { VENDOR, CONTEXT("DDS/IBM/Moretest/Other", "", 3, NULL, 0) };

	(void)from;
	tell(to, SpmiDdsInit(t, 2, NULL, 0, test_file) ? 'y' : SpmiErrno == SiInvalidCx ? 'i' : '?');
	SpmiExit();
}

static char one(void (*f)(int, int))
{
	struct child c = spawn(f);
	char answer = hear(c.from);

	CHECK(reap(c) == 0);
	return answer;
}

int main(void)
{
	struct child c;
	int i, status;

	make_dir();
	CHECK(one(below) == 'i');
	for (i = 0; i < 50; i++) {
		c = spawn(supplier);
		CHECK(hear(c.from) == 'y');
		if (i < 3) {
			CHECK(one(supplier) == 'd');
			CHECK(one(bingo_only) == 'y');
			CHECK(one(below) == 'y');
		}
		CHECK(kill(c.pid, SIGKILL) == 0);
		status = reap(c);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	CHECK(one(supplier) == 'y');
	return done();
}
