/* What each call answers: names, identifiers, use counts, handles, states. */
#include "seen.h"

static const char long127[] = "1234567890123456789012345678901234567890123456789012345678901234567890"
			      "123456789012345678901234567890123456789012345678901234567";

static void names(void)
{
	char long128[129];
	int app, tran;

	memset(long128, 'x', 128);
	long128[128] = 0;
	CHECK_EQ(strlen(long127), 127);
	CHECK(arm_init(NULL, NULL, 0, NULL, 0) < 0);
	CHECK(arm_init("", NULL, 0, NULL, 0) < 0);
	CHECK(arm_init("   ", NULL, 0, NULL, 0) < 0);
	CHECK(arm_init(long128, NULL, 0, NULL, 0) < 0);
	CHECK(arm_init("app", long128, 0, NULL, 0) < 0);
	CHECK((app = arm_init(long127, long127, 0, NULL, 0)) > 0);
	CHECK(arm_getid(app, NULL, NULL, 0, NULL, 0) < 0);
	CHECK(arm_getid(app, "", NULL, 0, NULL, 0) < 0);
	CHECK(arm_getid(app, " ", NULL, 0, NULL, 0) < 0);
	CHECK(arm_getid(app, long128, NULL, 0, NULL, 0) < 0);
	CHECK(arm_getid(app, "tran", long128, 0, NULL, 0) < 0);
	CHECK((tran = arm_getid(app, long127, long127, 0, NULL, 0)) > 0);
	/* 31 bytes count; blanks do not, wherever they are. */
	CHECK_EQ(arm_init("1234567890123456789012345678901", long127, 0, NULL, 0), app);
	CHECK_EQ(arm_init("1 2345678901234567890 12345678901 and more", long127, 0, NULL, 0), app);
	CHECK(arm_init("123456789012345678901234567890", long127, 0, NULL, 0) != app);
	CHECK_EQ(arm_getid(app, "12345678901234567890123456789012", NULL, 0, NULL, 0), tran);
	CHECK(arm_getid(app, "123456789012345678901234567890", NULL, 0, NULL, 0) != tran);
}

static void records(void)
{
	struct segment s;
	int app = arm_init("Checking Account Query", "somebody", 0, NULL, 0), user, tran;

	CHECK_EQ(arm_init("CheckingAccountQuery", "somebody", 0, NULL, 0), app);
	CHECK((user = arm_init("CheckingAccountQuery", "another", 0, NULL, 0)) > 0 && user != app);
	CHECK((tran = arm_init("CheckingAccountQuery", NULL, 0, NULL, 0)) > 0 && tran != app && tran != user);
	tran = arm_getid(app, "Check if any check of this account has bounced during the past 12 months",
			 "detail", 0, NULL, 0);
	user = arm_init("by me", "*", 0, NULL, 0);
	s = open_names();
	CHECK(strcmp(app_at(&s, app)->key, "CheckingAccountQuery") == 0);
	CHECK(strcmp(app_at(&s, app)->descr, "Checking Account Query") == 0);
	CHECK(strcmp(app_at(&s, app)->user, "somebody") == 0);
	CHECK(strcmp(app_at(&s, user)->user, "root") == 0);
	CHECK(strcmp(tran_of(&s, tran)->key, "Checkifanycheckofthisaccounthas") == 0);
	CHECK(strcmp(tran_of(&s, tran)->descr, "Check if any check of this account has bounced during the past ") == 0);
	CHECK(strcmp(tran_of(&s, tran)->detail, "detail") == 0);
	CHECK_EQ(tran_of(&s, tran)->app, app);
	close_segment(&s);
}

/* The same name in two applications is two transactions. */
static void apart(void)
{
	int a = arm_init("apart one", NULL, 0, NULL, 0), b = arm_init("apart two", NULL, 0, NULL, 0);
	int ta = arm_getid(a, "t", NULL, 0, NULL, 0), tb = arm_getid(b, "t", NULL, 0, NULL, 0);

	CHECK(a > 0 && b > 0 && a != b && ta > 0 && tb > 0 && ta != tb);
	CHECK_EQ(arm_getid(b, "t", "other detail", 0, NULL, 0), tb);
}

/* Calls with what a failed call has returned. They answer negative for a negative identifier,
 * and zero for zero. */
static void no_operations(void)
{
	CHECK(arm_getid(-1, "t", NULL, 0, NULL, 0) < 0 && arm_getid(0, "t", NULL, 0, NULL, 0) == 0);
	CHECK(begin(-1) < 0 && begin(0) == 0 && begin(-2147483647 - 1) < 0);
	CHECK(arm_update(-1, 0, NULL, 0) < 0 && arm_update(0, 0, NULL, 0) == 0);
	CHECK(finish(-1) < 0 && finish(0) == 0 && finish(-2147483647 - 1) < 0);
	CHECK(arm_end(-1, 0, NULL, 0) < 0 && arm_end(0, 0, NULL, 0) == 0);
	CHECK(arm_getid(1024, "t", NULL, 0, NULL, 0) < 0 && arm_getid(2000000, "t", NULL, 0, NULL, 0) < 0);
	CHECK(begin(65536) == -1 && begin(65537) == -1 && begin(2147483647) == -1);
	CHECK(finish(1) == -1 && finish(2147483647) == -1 && arm_update(12345, 0, NULL, 0) == -1);
	CHECK(arm_end(1024, 0, NULL, 0) < 0 && arm_end(1025, 0, NULL, 0) < 0);
}

static void handles(void)
{
	int t = register_one("handles", "t"), h, other;
	struct seen s;

	CHECK((h = begin(t)) > 0 && (other = begin(t)) > 0 && h != other);
	CHECK_EQ(arm_stop(h, 3, 0, NULL, 0), -1);
	CHECK_EQ(arm_stop(h, -1, 0, NULL, 0), -1);
	CHECK_EQ(arm_update(h, 0, NULL, 0), 0);
	CHECK_EQ(arm_stop(h, ARM_GOOD, 0, NULL, 0), 0);
	CHECK_EQ(arm_stop(h, ARM_GOOD, 0, NULL, 0), -1);
	CHECK_EQ(arm_update(h, 0, NULL, 0), -1);
	CHECK_EQ(arm_stop(other, ARM_ABORT, 0, NULL, 0), 0);
	CHECK_EQ(arm_stop(begin(t), ARM_FAILED, 0, NULL, 0), 0);
	s = seen(getpid(), t);
	CHECK(s.count == 1 && s.n == 1 && s.aborted == 1 && s.failed == 1 && s.updates == 1);
	CHECK(s.min == s.max && s.sum == s.max);
}

static void use_counts(void)
{
	int a = arm_init("used", NULL, 0, NULL, 0), t = arm_getid(a, "t", NULL, 0, NULL, 0), h, late;

	CHECK_EQ(arm_init("used", NULL, 0, NULL, 0), a);
	CHECK_EQ(arm_end(a, 0, NULL, 0), 0);
	CHECK((h = begin(t)) > 0 && (late = begin(t)) > 0);
	CHECK_EQ(arm_end(a, 0, NULL, 0), 0);
	CHECK_EQ(arm_end(a, 0, NULL, 0), -1); /* never below zero */
	CHECK_EQ(begin(t), -1);
	CHECK_EQ(arm_getid(a, "t", NULL, 0, NULL, 0), -1);
	CHECK_EQ(arm_getid(a, "other", NULL, 0, NULL, 0), -1);
	CHECK_EQ(arm_update(h, 0, NULL, 0), 0); /* what runs goes on */
	CHECK_EQ(finish(h), 0);
	CHECK_EQ(arm_init("used", NULL, 0, NULL, 0), a);
	CHECK_EQ(begin(t), -1); /* each must be registered again */
	CHECK_EQ(arm_getid(a, "t", NULL, 0, NULL, 0), t);
	CHECK_EQ(finish(begin(t)), 0);
	CHECK_EQ(finish(late), 0);
	CHECK_EQ(seen(getpid(), t).count, 3);
}

/* A program that names a transaction each time that it begins one takes no more room for it. */
static void named_again(void)
{
	struct segment s = open_proc(getpid());
	int a = arm_init("again", NULL, 0, NULL, 0), t = arm_getid(a, "t", NULL, 0, NULL, 0), i;
	uint64_t backed = load(&proc_of(&s)->backed);

	for (i = 0; i < 1000; i++)
		CHECK_EQ(arm_getid(a, "t", NULL, 0, NULL, 0), t);
	CHECK_EQ(load(&proc_of(&s)->backed), backed);
	close_segment(&s);
}

/* The times in the cell are those of the clock. */
static void times(void)
{
	int t = register_one("times", "t"), later = register_one("times", "later"), h, i;
	struct timespec from, to;
	struct seen s;
	long long most, error;

	clock_gettime(CLOCK_MONOTONIC, &from);
	h = begin(t);
	nap(30);
	finish(h);
	clock_gettime(CLOCK_MONOTONIC, &to);
	most = (to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec;
	s = seen(getpid(), t);
	CHECK(s.max >= 30000000 && (long long)s.max <= most);
	/* The same with the thread's own clock, which it has after a tenth of a second. */
	nap(150);
	for (i = 0; i < 3; i++)
		finish(begin(t));
	clock_gettime(CLOCK_MONOTONIC, &from);
	h = begin(later);
	nap(200);
	finish(h);
	clock_gettime(CLOCK_MONOTONIC, &to);
	most = (to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec;
	s = seen(getpid(), later);
	/* The two clocks were compared over 150 ms, to a microsecond or so. */
	error = 20000 + most / 10000;
	CHECK((long long)s.max >= 200000000 - error && (long long)s.max <= most + error);
}

static void keeps_errno(void)
{
	int t = register_one("errno", "t");

	errno = 4242;
	finish(begin(t));
	arm_init("", NULL, 0, NULL, 0);
	arm_getid(99, "x", NULL, 0, NULL, 0);
	arm_end(register_one("errno two", "t"), 0, NULL, 0);
	CHECK_EQ(errno, 4242);
}

static void switched_off(void)
{
	CHECK_EQ(arm_init("off", NULL, 0, NULL, 0), 0);
	CHECK_EQ(arm_init(NULL, NULL, 0, NULL, 0), 0);
	CHECK_EQ(arm_getid(-1, "t", NULL, 0, NULL, 0), 0);
	CHECK(begin(5) == 0 && begin(-5) == 0 && finish(5) == 0 && finish(-5) == 0);
	CHECK(arm_update(-5, 0, NULL, 0) == 0 && arm_end(-5, 0, NULL, 0) == 0);
	CHECK_EQ(files(".arm", false) + files(".names", false), 0);
}

static void off_child(void)
{
	setenv("INVOKE_ARM", "false", 1);
	switched_off();
}

static void not_off_child(void)
{
	setenv("INVOKE_ARM", "FALSE", 1);
	CHECK(arm_init("on", NULL, 0, NULL, 0) > 0);
}

int main(void)
{
	make_dir();
	in_child(off_child);
	in_child(not_off_child);
	names();
	records();
	apart();
	no_operations();
	handles();
	use_counts();
	named_again();
	times();
	keeps_errno();
	return done();
}
