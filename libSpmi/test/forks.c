/*
 * A child of a supplier is not a supplier, does not harm its parent's data, and
 * may become one.
 */
#include <pthread.h>

#include "helpers.h"

static char *bingo;
static SpmiShare *share;

static void orphan(int from, int to)
{
	static const cx_create t[] = { VENDOR, CONTEXT("DDS/IBM/Child", "", 3, NULL, 0) };

	(void)from;
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/B2", "x", 2), SiNotInit);
	CHECK_ERR(SpmiDdsDelCx(bingo) == SiNotInit, SiNotInit);
	CHECK_ERR((SpmiExit(), 1), SiNotInit);
	CHECK(share->SiShAreaLen > 0); /* still readable */
	CHECK_ERR(!guide_init(), SiDuplicate);
	CHECK(SpmiDdsInit(t, 2, NULL, 0, test_file));
	CHECK(count_files(".dds", NULL) == 2);
	SpmiExit();
	CHECK(count_files(".dds", NULL) == 1);
	tell(to, 'y');
	exit(0); /* this runs the library's destructor */
}

static void forget(int from, int to)
{
	(void)from;
	tell(to, 'y');
	exit(0);
}

static void rival(int from, int to)
{
	(void)from;
	tell(to, guide_init() ? 'y' : 'd');
}

/* Makes a child without the handlers of pthread_atfork. */
static void bare(void)
{
	int status;
	pid_t pid = _Fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/B2", "x", 2), SiNotInit);
		CHECK_ERR((SpmiExit(), 1), SiNotInit);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(count_files(".dds", NULL) == 1);
}

static char run(void (*f)(int, int))
{
	struct child c = spawn(f);
	char answer = hear(c.from);

	CHECK(reap(c) == 0);
	return answer;
}

static int stop;

static void *busy(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		char *area = SpmiDdsAddCx(0, "DDS/IBM/Moretest/Busy", "x", 77);

		if (area)
			SpmiDdsDelCx(area);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	char name[256];
	int i;

	make_dir();
	CHECK((share = guide_init()) && (bingo = SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo", "x", 1)));
	bare();
	CHECK(run(orphan) == 'y');
	CHECK(run(forget) == 'y');
	CHECK(run(rival) == 'd');
	CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
	for (i = 0; i < 20; i++) /* a child's lock is free, whatever the parent's thread was doing */
		CHECK(run(orphan) == 'y');
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(count_files(".dds", name) == 1);
	CHECK(SpmiDdsDelCx(bingo) == 0);
	CHECK(run(rival) == 'd');
	SpmiExit();
	CHECK(run(rival) == 'y');
	return done();
}
