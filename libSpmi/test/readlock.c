/*
 * A user who can read another user's claims can set a read lock on them. The lock
 * keeps that user's suppliers from claiming, but from nothing else. As root.
 */
#include "helpers.h"

enum { VICTIM = 60000, STRANGER = 60001, OTHER = 60002 };

static uid_t uid;

static const cx_create below_table[] = {
	VENDOR,
	CONTEXT("DDS/IBM/Moretest/Below", "", 9, NULL, 0),
};
static const cx_create orphan_table[] = {
	VENDOR,
	CONTEXT("DDS/IBM/Elsewhere/Below", "", 9, NULL, 0),
};

static void become(uid_t who)
{
	CHECK(setresgid(who, who, who) == 0 && setresuid(who, who, who) == 0);
}

static void owner(int from, int to)
{
	become(VICTIM);
	CHECK(guide_init());
	tell(to, 'y');
	hear(from);
	SpmiExit();
}

static void stranger(int from, int to)
{
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char path[96];
	int fd;

	become(STRANGER);
	snprintf(path, sizeof(path), "%s/claims/%d", test_dir, VICTIM);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && fcntl(fd, F_SETLK, &l) == 0);
	tell(to, 'y');
	hear(from);
}

static void below(int from, int to)
{
	(void)from;
	become(uid);
	CHECK(SpmiDdsInit(below_table, 2, guide_inst, 2, test_file));
	CHECK(SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bongo", "x", 0));
	SpmiExit();
	tell(to, 'y');
}

/* There is no lock, and no supplier has the parent, so there is no parent. */
static void orphan(int from, int to)
{
	(void)from;
	become(uid);
	CHECK_ERR(!SpmiDdsInit(orphan_table, 2, NULL, 0, test_file), SiInvalidCx);
	tell(to, 'y');
}

static void run(void (*f)(int, int), uid_t who)
{
	struct child c;

	uid = who;
	c = spawn(f);
	CHECK(hear(c.from) == 'y' && reap(c) == 0);
}

int main(void)
{
	struct child first, lock, second;

	make_dir();
	CHECK(close(open(test_file, O_CREAT | O_WRONLY, 0666)) == 0 && chmod(test_file, 0666) == 0);
	first = spawn(owner); /* makes the file of claims */
	CHECK(hear(first.from) == 'y' && reap(first) == 0);
	run(orphan, VICTIM);
	run(orphan, OTHER);
	lock = spawn(stranger);
	CHECK(hear(lock.from) == 'y');
	second = spawn(owner);
	CHECK(hear(second.from) == 'y');
	run(below, VICTIM);
	run(below, OTHER);
	CHECK(reap(second) == 0 && reap(lock) == 0);
	return done();
}
