/*
 * What the agent tells a supplier. The agent can write and truncate every file of its own, and
 * no others. Whatever it does there, the supplier's values are right. A supplier ignores what
 * others put in place of the notice. As root, who is the agent here.
 */
#include "helpers.h"

enum { USER = 65534 };

static char path[400];

static void find_notice(void)
{
	char name[256];

	CHECK(count_files(".dds", name) == 1);
	snprintf(path, sizeof(path), "%s/%s/%s", test_dir, SEG_NOTICE_DIR, name);
}

static int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* What a supplier has been told, which it answers with. */
struct seen {
	int goaway, interval, subscrib, threads;
};

static void supplier(int from, int to)
{
	SpmiShare *share = guide_init();
	struct seen s;
	char order;

	CHECK(share);
	((struct dat *)share->SiShArea)->a = 22;
	tell(to, 'r');
	while ((order = hear(from)) != 'x') {
		s.threads = threads();
		if (order == 's') { /* it does not go, and says so */
			share->SiShGoAway = 0;
		} else if (order == 'g') {
			share->SiShInterval = share->SiShSubscrib = 77;
		} else if (order == 'v') {
			((struct dat *)share->SiShArea)->a++;
			share->SiShT.tv_sec++;
			CHECK(SpmiDdsDelCx(SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo", "x", 1)) == 0);
			tell(to, 'd');
			continue;
		}
		s.goaway = share->SiShGoAway;
		s.interval = share->SiShInterval;
		s.subscrib = share->SiShSubscrib;
		CHECK(write(to, &s, sizeof(s)) == (ssize_t)sizeof(s));
	}
	SpmiExit();
	CHECK(share->SiShGoAway == 1); /* for threads that still look at it */
	tell(to, 'e');
}

static struct seen order(struct child *c, char what)
{
	struct seen s;

	tell(c->to, what);
	CHECK(read(c->from, &s, sizeof(s)) == (ssize_t)sizeof(s));
	return s;
}

static bool told(struct child *c, int goaway, int interval, int subscrib)
{
	struct seen s = order(c, '?');

	return s.goaway == goaway && s.interval == interval && s.subscrib == subscrib;
}

static struct child begin(void)
{
	struct child c = spawn(supplier);

	CHECK(hear(c.from) == 'r');
	find_notice();
	return c;
}

static void end(struct child c)
{
	tell(c.to, 'x');
	CHECK(hear(c.from) == 'e');
	CHECK(reap(c) == 0);
	unlink(path);
}

static void test_told(void)
{
	struct child c = begin();

	CHECK(told(&c, 0, 0, 0) && order(&c, '?').threads == 2); /* the second thread waits for the agent */
	give_notice(0, 500, 4);
	UNTIL(told(&c, 0, 500, 4));
	UNTIL(order(&c, '?').threads == 1);
	give_notice(1, 250, 9);
	CHECK(told(&c, 1, 250, 9));
	give_notice(0, 250, 9);
	CHECK(told(&c, 0, 250, 9));
	give_notice(3, 100, 5);
	CHECK(order(&c, 's').goaway == 0); /* it has said that it stays, and still learns of the demand */
	give_notice(4, 50, 6);
	CHECK(told(&c, 0, 50, 6));
	CHECK(order(&c, 'g').interval == 77);
	end(c);
}

/* Makes a notice and then gives it its name, because the library may look at any moment. */
static void make_notice(mode_t mode, uid_t uid, off_t len)
{
	const struct seg_notice n = { 7, 7, 7 };
	char page[SEG_NOTICE_LEN] = "", beside[420];
	int fd;

	snprintf(beside, sizeof(beside), "%s.beside", path);
	memcpy(page, &n, sizeof(n));
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && pwrite(fd, page, sizeof(page), 0) == (ssize_t)sizeof(page));
	CHECK(ftruncate(fd, len) == 0 && fchmod(fd, mode) == 0 && fchown(fd, uid, (gid_t)-1) == 0);
	CHECK(close(fd) == 0 && rename(beside, path) == 0);
}

/* Waits long enough for the library's thread to look several times. */
static void is_not_believed(struct child *c)
{
	int i;

	for (i = 0; i < 20; i++) {
		CHECK(told(c, 0, 0, 0));
		usleep(5000);
	}
	CHECK(order(c, '?').threads == 2);
}

static void test_strangers(void)
{
	struct child c = begin();
	char folder[96], target[420];

	make_notice(0644, USER, SEG_NOTICE_LEN);
	is_not_believed(&c);
	make_notice(0666, 0, SEG_NOTICE_LEN);
	is_not_believed(&c);
	make_notice(0644, 0, 100);
	is_not_believed(&c);
	end(c);
	c = begin();
	snprintf(target, sizeof(target), "%s/target", test_dir);
	CHECK(close(open(target, O_CREAT | O_WRONLY, 0644)) == 0 && truncate(target, SEG_NOTICE_LEN) == 0);
	CHECK(symlink(target, path) == 0);
	is_not_believed(&c);
	CHECK(unlink(path) == 0 && unlink(target) == 0);
	snprintf(folder, sizeof(folder), "%s/%s", test_dir, SEG_NOTICE_DIR);
	CHECK(chown(folder, USER, (gid_t)-1) == 0);
	make_notice(0644, 0, SEG_NOTICE_LEN);
	is_not_believed(&c);
	CHECK(chmod(folder, 0777) == 0 && chown(folder, 0, (gid_t)-1) == 0);
	is_not_believed(&c);
	CHECK(chmod(folder, 0755) == 0);
	UNTIL(told(&c, 7, 7, 7));
	end(c);
}

/* The agent truncates and overwrites all that it can. */
static void test_cut(void)
{
	struct child c = begin();
	struct view v = view_segment();
	volatile struct dat *d = (volatile struct dat *)(v.base + v.cx[1].data_off);
	unsigned i;

	give_notice(1, 1, 1);
	UNTIL(told(&c, 1, 1, 1));
	CHECK(truncate(path, 0) == 0);
	for (i = 1; i <= 10; i++) { /* nothing here looks at what the agent says */
		tell(c.to, 'v');
		CHECK(hear(c.from) == 'd' && d->a == 22 + i);
	}
	CHECK(truncate(path, SEG_NOTICE_LEN) == 0);
	CHECK(told(&c, 0, 0, 0));
	give_notice(0xffffffff, 0xffffffff, 0xffffffff);
	CHECK(told(&c, -1, -1, -1));
	tell(c.to, 'v');
	CHECK(hear(c.from) == 'd' && d->a == 33);
	CHECK(unlink(path) == 0);
	CHECK(told(&c, -1, -1, -1));
	end(c);
}

int main(void)
{
	make_dir();
	test_told();
	test_strangers();
	test_cut();
	return done();
}
