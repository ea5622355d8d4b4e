/*
 * A supplier that starts before there is a directory. It is published when the directory comes,
 * with all that the program has stored, even if the program never calls the library again. With
 * an argument: on a kernel that cannot hold the program's threads.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>

#include "helpers.h"

enum { COUNTERS = 3 };

static char later[80];

/* Chooses a directory for the suppliers that is not there yet. */
static void choose_dir(void)
{
	strcpy(test_dir, "/dev/shm/spmi-late-XXXXXX");
	CHECK(mkdtemp(test_dir) && rmdir(test_dir) == 0);
	snprintf(later, sizeof(later), "/dev/shm/spmi-hook-%ld", (long)getpid());
	snprintf(test_file, sizeof(test_file), "%s", later);
	CHECK(setenv("RTIME_DDS_DIR", test_dir, 1) == 0);
}

/*
 * Makes the directory as the agent does: first the directory itself, its contents a little
 * later.
 */
static void dir_comes(void)
{
	CHECK(mkdir(test_dir, 0700) == 0 && chmod(test_dir, 03773) == 0);
	usleep(50000);
	make_folder("claims", 01777);
	make_folder(SEG_NOTICE_DIR, 0755);
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

static bool exact = true; /* the kernel can hold the threads of a program */
static unsigned long counted[COUNTERS];

static bool same(unsigned long value, unsigned long count)
{
	return exact ? value == count : value <= count;
}
static uint32_t stop;
static struct dat *d;

static void *count(void *arg)
{
	int which = (int)(intptr_t)arg;
	volatile unsigned long *at = which == 0 ? &d->a : which == 1 ? &d->b : &d->c;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		*at += 1;
		counted[which]++;
	}
	return NULL;
}

static sigjmp_buf back;

static void fault(int sig)
{
	siglongjmp(back, sig);
}

/* A supplier that only stores after its first call. Its only later call is SpmiExit. */
static void quiet(int from, int to)
{
	SpmiShare *share = guide_init();
	pthread_t t[COUNTERS];
	struct inst *bingo;
	intptr_t i;

	CHECK(share && SpmiErrno == 0 && SpmiErrmsg[0] == 0);
	CHECK(share->SiShAreaLen == (int)offsetof(struct dat, beyond));
	d = (struct dat *)share->SiShArea;
	bingo = (struct inst *)SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo", "x", 1);
	CHECK(bingo && SpmiDdsAddCx(1, "DDS/IBM/Moretest/Gone", "x", 2));
	CHECK(SpmiDdsDelCx((char *)SpmiDdsAddCx(0, "DDS/IBM/Moretest/Short", "x", 3)) == 0);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo", "x", 4), SiDuplicate);
	bingo->b = 7;
	CHECK(SpmiDdsUpdateBegin(share->SiShArea) == 0 && SpmiDdsUpdateEnd(share->SiShArea) == 0);
	CHECK(SpmiDdsUpdateBegin((char *)bingo) == 0); /* it is published in the middle of this update */
	d->d = 62;
	for (i = 0; i < COUNTERS; i++)
		CHECK(pthread_create(&t[i], NULL, count, (void *)i) == 0);
	CHECK_ERR(!SpmiDdsAddCx(0, NULL, "x", 1), SiBadArgument);
	tell(to, 'r');
	CHECK(hear(from) == 'p');
	CHECK(SpmiErrno == SiBadArgument && SpmiErrmsg[0]); /* errors of the library's own thread are not shown to the program */
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < COUNTERS; i++)
		pthread_join(t[i], NULL);
	CHECK(same(d->a, counted[0]) && same(d->b, counted[1]) && same(d->c, counted[2]) && d->a > 0);
	for (i = 0; i < COUNTERS; i++)
		counted[i] = (&d->a)[i];
	share->SiShT.tv_sec = 12345;
	CHECK(write(to, &counted, sizeof(counted)) == (ssize_t)sizeof(counted));
	CHECK(hear(from) == 'e');
	CHECK(SpmiDdsUpdateEnd((char *)bingo) == 0);
	UNTIL(share->SiShSubscrib == 4 && threads() == 1); /* nothing is left to wait for */
	signal(SIGSEGV, fault);
	signal(SIGBUS, fault);
	if (sigsetjmp(back, 1) == 0) {
		((volatile struct dat *)share->SiShArea)->beyond = 1;
		CHECK(!"a store behind the data area");
	}
	tell(to, 'u');
	CHECK(hear(from) == 'x');
	for (i = 0; i < 1000; i++) { /* the segment still grows */
		char path[64];

		snprintf(path, sizeof(path), "DDS/IBM/Moretest/n%ld", (long)i);
		CHECK(SpmiDdsAddCx(0, path, "x", 300 + (int)i));
	}
	tell(to, 'g');
	CHECK(hear(from) == 'x');
	SpmiExit();
	tell(to, 'e');
	CHECK(hear(from) == 'q');
}

static void test_quiet(void)
{
	struct child c = spawn(quiet);
	unsigned long counts[COUNTERS];
	struct seg_slot *bingo;
	struct view v;
	struct dat *at;

	CHECK(hear(c.from) == 'r');
	usleep(20000);
	dir_comes();
	UNTIL(count_files(".dds", NULL) == 1);
	v = view_segment();
	CHECK(v.h->state == SEG_READY && v.h->pid == (uint32_t)c.pid && v.h->uid == geteuid() && locked(v.fd));
	at = (struct dat *)(v.base + v.cx[1].data_off);
	UNTIL(at->a > 0);
	tell(c.to, 'p');
	CHECK(read(c.from, counts, sizeof(counts)) == (ssize_t)sizeof(counts));
	CHECK(at->a == counts[0] && at->b == counts[1] && at->c == counts[2] && at->d == 62);
	bingo = slot_at(&v, 0);
	CHECK(v.h->slots_count == 3 && v.h->changes == 4 && v.h->updates == 1);
	CHECK(strcmp(bingo->path, "DDS/IBM/Moretest/Bingo") == 0 && bingo->active == 1 && bingo->update == 1);
	CHECK(((struct inst *)(v.base + bingo->data_off))->b == 7);
	CHECK(v.cx[1].update == 2);
	CHECK(*(long *)(v.base + v.h->time_off) == 12345);
	tell(c.to, 'e');
	give_notice(0, 500, 4);
	CHECK(hear(c.from) == 'u');
	CHECK(bingo->update == 2);
	tell(c.to, 'x');
	CHECK(hear(c.from) == 'g' && v.h->slots_count >= 1002);
	tell(c.to, 'x');
	CHECK(hear(c.from) == 'e' && v.h->state == SEG_ENDED && count_files(".dds", NULL) == 0);
	tell(c.to, 'q');
	CHECK(reap(c) == 0);
	done();
}

/* Of two suppliers of a path one is published, and the other when the first is gone. */
static void rival(int from, int to)
{
	SpmiShare *share = guide_init();

	CHECK(share && SpmiErrno == 0);
	tell(to, 'r');
	CHECK(hear(from) == 'x');
	SpmiExit();
	tell(to, 'e');
	CHECK(hear(from) == 'q');
}

static void test_rivals(void)
{
	struct child a = spawn(rival), b = spawn(rival);
	struct view v;

	CHECK(hear(a.from) == 'r' && hear(b.from) == 'r');
	dir_comes();
	UNTIL(count_files(".dds", NULL) == 1);
	usleep(100000);
	v = view_segment();
	if (v.h->pid == (uint32_t)b.pid) {
		struct child c = a;

		a = b;
		b = c;
	}
	CHECK(v.h->pid == (uint32_t)a.pid);
	tell(a.to, 'x');
	CHECK(hear(a.from) == 'e');
	UNTIL(count_files(".dds", NULL) == 1);
	v = view_segment();
	CHECK(v.h->pid == (uint32_t)b.pid);
	tell(b.to, 'x');
	CHECK(hear(b.from) == 'e' && count_files(".dds", NULL) == 0);
	tell(a.to, 'q');
	tell(b.to, 'q');
	CHECK(reap(a) == 0 && reap(b) == 0);
	done();
}

/* Has a context below one of another supplier, which is not there. */
static void orphan(int from, int to)
{
	static const cx_create t[] = { VENDOR, CONTEXT("DDS/IBM/Test/below", "", 3, NULL, 0) };

	CHECK(SpmiDdsInit(t, 2, guide_inst, 2, test_file));
	CHECK(SpmiDdsAddCx(0, "DDS/IBM/Test/volatile", "x", 4));
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/Else/volatile", "x", 4), SiInvalidCx); /* a vendor's context cannot be another supplier's */
	tell(to, 'r');
	CHECK(hear(from) == 'x');
}

static void test_orphan(void)
{
	struct child o = spawn(orphan), p;

	CHECK(hear(o.from) == 'r');
	dir_comes();
	usleep(100000);
	CHECK(count_files(".dds", NULL) == 0);
	p = spawn(rival); /* it has DDS/IBM/Test */
	CHECK(hear(p.from) == 'r');
	UNTIL(count_files(".dds", NULL) == 2);
	tell(o.to, 'x');
	CHECK(reap(o) == 0);
	tell(p.to, 'x');
	CHECK(hear(p.from) == 'e');
	tell(p.to, 'q');
	CHECK(reap(p) == 0);
	done();
}

/* A program that has become another user in the meantime. */
static void other_user(int from, int to)
{
	CHECK(guide_init());
	CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	tell(to, 'r');
	CHECK(hear(from) == 'x');
	SpmiExit();
}

static void test_other_user(void)
{
	struct child c = spawn(other_user);
	struct stat st;
	struct view v;

	CHECK(hear(c.from) == 'r');
	dir_comes();
	UNTIL(count_files(".dds", NULL) == 1);
	v = view_segment();
	CHECK(fstat(v.fd, &st) == 0 && st.st_uid == 65534 && v.h->uid == 65534);
	tell(c.to, 'x');
	CHECK(reap(c) == 0 && count_files("", NULL) == 0);
	done();
}

/* A child of a supplier that waits is not a supplier, and does not disturb its parent. */
static void forks(int from, int to)
{
	SpmiShare *share = guide_init();
	int status, i;
	pid_t pid;

	CHECK(share);
	((struct dat *)share->SiShArea)->a = 1;
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0) {
			CHECK(threads() == 1);
			CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Moretest/B2", "x", 2), SiNotInit);
			((struct dat *)share->SiShArea)->a = 2;
			exit(0); /* this runs the library's destructor */
		}
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
		CHECK(((struct dat *)share->SiShArea)->a == 1);
	}
	tell(to, 'r');
	CHECK(hear(from) == 'x');
	exit(0);
}

static void test_forks(void)
{
	struct child c = spawn(forks);

	CHECK(hear(c.from) == 'r');
	dir_comes();
	UNTIL(count_files(".dds", NULL) == 1);
	tell(c.to, 'x');
	CHECK(reap(c) == 0 && count_files("", NULL) == 0);
	done();
}

/* A program that ends or calls SpmiExit before the directory comes leaves nothing behind. */
static void ends(int from, int to)
{
	SpmiShare *share;
	int i;

	for (i = 0; i < 50; i++) {
		CHECK((share = guide_init()));
		((struct dat *)share->SiShArea)->a = 1;
		SpmiExit();
		CHECK(SpmiErrno == 0 && share->SiShGoAway == 1);
	}
	CHECK(guide_init() && SpmiInit(0) == 0);
	tell(to, 'r');
	CHECK(hear(from) == 'x');
	exit(0);
}

static void test_ends(void)
{
	struct child c = spawn(ends);

	CHECK(hear(c.from) == 'r');
	tell(c.to, 'x');
	CHECK(reap(c) == 0);
	dir_comes();
	CHECK(count_files("", NULL) == 0);
	done();
}

int main(int argc, char **argv)
{
	exact = argc == 1;
	choose_dir();
	test_quiet();
	test_rivals();
	test_orphan();
	test_other_user();
	test_forks();
	test_ends();
	unlink(later);
	(void)argv;
	return 0;
}
