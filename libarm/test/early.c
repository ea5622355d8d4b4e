/*
 * A program that begins before there is a directory is measured from its first call. When the directory
 * comes, everything that was counted is in files, without a call of the program, and nothing is lost
 * while threads go on to count.
 */
#include "seen.h"

enum { EARLY = 50, THREADS = 3, WAIT_MS = 30000, NOBODY = 65534 };

static char elsewhere[80];
static int app, tran, running;
static uint32_t stop;
static uint64_t counted[THREADS];

static void hide(void)
{
	snprintf(elsewhere, sizeof(elsewhere), "%s-elsewhere", test_dir);
	CHECK(rename(test_dir, elsewhere) == 0);
}

static void show(void)
{
	CHECK(rename(elsewhere, test_dir) == 0);
}

static void begin_early(void)
{
	int i;

	app = arm_init("early", "*", 0, NULL, 0);
	CHECK(app > 0);
	CHECK((tran = arm_getid(app, "t", "detail", 0, NULL, 0)) > 0);
	for (i = 0; i < EARLY; i++)
		CHECK_EQ(finish(begin(tran)), 0);
	CHECK((running = begin(tran)) > 0);
}

/* Waits for the process's file; the names are there a moment later. */
static struct segment published(pid_t pid)
{
	struct segment s = { NULL, 0 };
	int i;

	for (i = 0; i < WAIT_MS && !(s = open_proc(pid)).base; i += 10)
		nap(10);
	CHECK(s.base);
	return s;
}

static void wait_for_names(const char *from, const char *to)
{
	struct segment n = { NULL, 0 };
	int i;

	for (i = 0; i < WAIT_MS && !(n = open_like(from, to)).base; i += 10)
		nap(10);
	CHECK(n.base);
	CHECK(strcmp(app_at(&n, app)->key, "early") == 0 && strcmp(tran_of(&n, tran)->key, "t") == 0);
	CHECK(strcmp(tran_of(&n, tran)->detail, "detail") == 0);
	close_segment(&n);
}

/* It makes no call after the directory has come, until all is seen. */
static void idle(void)
{
	struct segment s;

	hide();
	begin_early();
	show();
	s = published(getpid());
	wait_for_names("0.", "names");
	CHECK_EQ(seen_in(&s, tran).count, EARLY);
	CHECK_EQ(slots_in(&s, SLOT_ACTIVE), 1);
	CHECK_EQ(finish(running), 0);
	CHECK_EQ(seen_in(&s, tran).count, EARLY + 1);
	CHECK(arm_getid(app, "later", NULL, 0, NULL, 0) > tran);
	CHECK_EQ(files(".new-", true), 0);
	close_segment(&s);
}

static void *work(void *n)
{
	int tran_here, i;
	char name[32];

	for (i = 0; !load(&stop); i++) {
		CHECK_EQ(finish(begin(tran)), 0);
		counted[(uintptr_t)n]++;
		if (i % 1000 == 0) { /* new cells and names, too */
			snprintf(name, sizeof(name), "%d of %d", i % 100000, (int)(uintptr_t)n);
			CHECK((tran_here = arm_getid(app, name, NULL, 0, NULL, 0)) > 0);
			CHECK_EQ(finish(begin(tran_here)), 0);
		}
	}
	return NULL;
}

/* Threads count while the files come. Another process of the user has given the numbers to other names. */
static void busy(void)
{
	pthread_t t[THREADS];
	struct segment s;
	uint64_t sum = EARLY;
	uintptr_t i;

	hide();
	begin_early();
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, work, (void *)i) == 0);
	nap(50);
	show();
	s = published(getpid());
	wait_for_names(".aside-0-", "");
	nap(50);
	store(&stop, 1);
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += counted[i];
	}
	close_segment(&s);
	s = published(getpid()); /* it has grown */
	CHECK_EQ(seen_in(&s, tran).count, sum);
	close_segment(&s);
}

/* A child that never names anything has its parent's names, before and after these have files. */
static void child_of_early(void)
{
	struct segment s;
	int i;

	CHECK_EQ(finish(running), -1);
	for (i = 0; i < EARLY; i++)
		CHECK_EQ(finish(begin(tran)), 0);
	if (!access(elsewhere, F_OK)) {
		show();
		for (i = 0; i < WAIT_MS && !open_proc(getpid()).base; i += 10) {
			nap(10);
			finish(begin(tran));
		}
	}
	s = published(getpid());
	CHECK(seen_in(&s, tran).count >= EARLY);
	close_segment(&s);
}

static void child_of_squatted(void)
{
	struct segment s;

	CHECK_EQ(finish(begin(tran)), 0);
	s = published(getpid());
	CHECK_EQ(seen_in(&s, tran).count, 1);
	close_segment(&s);
}

static void forked(void)
{
	struct segment s;

	hide();
	begin_early();
	in_child(child_of_early);
	s = published(getpid());
	CHECK_EQ(seen_in(&s, tran).count, EARLY);
	close_segment(&s);
	in_child(child_of_early);
}

/* Another user has put something where the names should be. */
static void squatted(int kind)
{
	char path[96];
	struct segment s;

	snprintf(path, sizeof(path), "%s/0.names", test_dir);
	switch (kind) {
	case 0:
		CHECK(mkdir(path, 0777) == 0);
		break;
	case 1:
		CHECK(mkfifo(path, 0666) == 0);
		break;
	case 2:
		CHECK(symlink("elsewhere", path) == 0);
		break;
	default:
		CHECK(close(open(path, O_CREAT | O_WRONLY, 0666)) == 0 && lchown(path, NOBODY, NOBODY) == 0);
	}
	begin_early();
	s = published(getpid());
	wait_for_names(".aside-0-", "");
	CHECK_EQ(finish(running), 0);
	CHECK_EQ(seen_in(&s, tran).count, EARLY + 1);
	close_segment(&s);
	in_child(child_of_squatted);
	CHECK(remove(path) == 0);
}

static void squatted_by_folder(void) { squatted(0); }
static void squatted_by_pipe(void) { squatted(1); }
static void squatted_by_link(void) { squatted(2); }
static void squatted_by_file(void) { squatted(3); }

static void another(void)
{
	CHECK(register_one("another", "t") > 0 && register_one("more", "u") > 0);
}

int main(void)
{
	make_dir();
	in_child(idle);
	empty_dir(test_dir);
	in_child(forked);
	empty_dir(test_dir);
	in_child(another);
	in_child(busy);
	empty_dir(test_dir);
	in_child(squatted_by_folder);
	empty_dir(test_dir);
	in_child(squatted_by_pipe);
	empty_dir(test_dir);
	in_child(squatted_by_link);
	empty_dir(test_dir);
	in_child(squatted_by_file);
	return done();
}
