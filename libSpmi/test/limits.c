/*
 * A program, its user or the system may refuse things: each time there is an error
 * code. As root.
 */
#include "helpers.h"

enum { NOBODY = 65534 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static int run(void (*f)(int, int))
{
	struct child c = spawn(f);
	int status;

	CHECK(hear(c.from) == 'y');
	status = reap(c);
	CHECK(count_files("", NULL) == 0);
	return status;
}

static void no_directory(int from, int to)
{
	(void)from;
	setenv("RTIME_DDS_DIR", "/dev/null", 1);
	CHECK(SpmiInit(0) == 0);
	CHECK_ERR(!guide_init(), SiShmemFailed);
	setenv("RTIME_DDS_DIR", "/dev/shm/there-is-no-such-directory", 1); /* the directory may still come: see late.c */
	CHECK(guide_init() && SpmiErrno == 0);
	SpmiExit();
	setenv("RTIME_DDS_DIR", "/dev/shm", 1); /* it has no folder claims yet */
	CHECK(guide_init() && SpmiErrno == 0);
	SpmiExit();
	tell(to, 'y');
}

static void no_permission(int from, int to)
{
	(void)from;
	CHECK(chmod(test_file, 0666) == 0);
	CHECK(chmod(test_dir, 0755) == 0);
	CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	CHECK_ERR(!guide_init(), SiShmemFailed);
	tell(to, 'y');
}

/*
 * Something that root puts in place of a user's claims does not prevent the user
 * from supplying.
 */
static void squatter(int from, int to)
{
	char path[96];
	int i;

	(void)from;
	snprintf(path, sizeof(path), "%s/claims/%d", test_dir, NOBODY);
	for (i = 0; i < 4; i++) {
		remove(path);
		if (i == 0)
			CHECK(symlink("elsewhere", path) == 0);
		else if (i == 1)
			CHECK(mkfifo(path, 0666) == 0);
		else if (i == 2)
			CHECK(mkdir(path, 0777) == 0);
		else
			CHECK(close(open(path, O_CREAT | O_WRONLY, 0666)) == 0 && chmod(path, 0666) == 0);
		CHECK(seteuid(NOBODY) == 0);
		CHECK(guide_init() && SpmiErrno == 0);
		SpmiExit();
		CHECK(seteuid(0) == 0);
	}
	CHECK(unlink(path) == 0);
	tell(to, 'y');
}

static void few_files(int from, int to)
{
	struct rlimit l = { 0, 0 };
	int n, worked = 0;

	(void)from;
	for (n = to + 1; n < to + 16; n++) {
		l.rlim_cur = l.rlim_max = (rlim_t)n;
		if (setrlimit(RLIMIT_NOFILE, &l) && (l.rlim_max = RLIM_INFINITY))
			break;
		if (guide_init()) {
			worked++;
			SpmiExit();
		} else {
			CHECK(SpmiErrno == SiShmemFailed);
		}
	}
	CHECK(worked < 15);
	tell(to, 'y');
}

static void few_bytes(int from, int to)
{
	struct rlimit l = { 2048, 2048 };

	(void)from;
	CHECK(setrlimit(RLIMIT_FSIZE, &l) == 0); /* SIGXFSZ would end this program */
	CHECK_ERR(!guide_init(), SiCallocFailed);
	tell(to, 'y');
}

static void little_address_space(int from, int to)
{
	struct rlimit l;
	char path[64];
	int i;

	(void)from;
	l.rlim_cur = l.rlim_max = 64 << 20;
	CHECK(setrlimit(RLIMIT_AS, &l) == 0);
	CHECK(guide_init());
	for (i = 0; i < 50000; i++) {
		snprintf(path, sizeof(path), "DDS/IBM/Moretest/n%d", i);
		if (!SpmiDdsAddCx(0, path, "x", i % 60000 + 300))
			break;
	}
	CHECK_ERR(i > 1000 && i < 50000, SiCallocFailed);
	SpmiExit();
	tell(to, 'y');
}

static void closed_files(int from, int to)
{
	char *area, path[64];
	int fd, i, file;

	(void)from;
	CHECK(guide_init() && (area = SpmiDdsAddCx(0, "DDS/IBM/Moretest/a", "x", 1)));
	for (fd = 3; fd < 100; fd++)
		if (fd != to)
			close(fd);
	for (i = 0; i < 8; i++) /* other files have these numbers now */
		CHECK((file = open(test_file, O_RDWR)) >= 0);
	for (i = 0; i < 500; i++) {
		snprintf(path, sizeof(path), "DDS/IBM/Moretest/n%d", i);
		if (!SpmiDdsAddCx(0, path, "x", i + 300))
			break;
	}
	CHECK_ERR(i < 500, SiShmemFailed);
	CHECK_ERR(!SpmiDdsAddCx(0, "DDS/IBM/Bingo", "x", 1), SiShmemFailed);
	CHECK(SpmiDdsDelCx(area) == 0);
	SpmiExit();
	CHECK(lseek(file, 0, SEEK_END) == 0); /* the library has not touched them */
	empty_dir(test_dir); /* the segment's file stays: its directory is unknown */
	tell(to, 'y');
}

static void closed_stdio(int from, int to)
{
	(void)from;
	close(0);
	close(1);
	close(2);
	CHECK(guide_init());
	CHECK(write(0, "x", 1) < 0 && write(1, "x", 1) < 0 && write(2, "x", 1) < 0);
	SpmiExit();
	tell(to, 'y');
}

static void files(int from, int to)
{
	char path[128];
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	int fd;

	(void)from;
	unlink(test_file);
	CHECK(guide_init());
	SpmiExit();
	CHECK(access(test_file, F_OK) == 0);
	snprintf(path, sizeof(path), "%s/no/such", test_dir);
	CHECK_ERR(!SpmiDdsInit(guide_table, 4, NULL, 0, path), SiNoShmPtr);
	CHECK_ERR(!SpmiDdsInit(guide_table, 4, NULL, 0, test_dir), SiShmemFailed);
	fd = open(test_file, O_RDWR);
	CHECK(fd >= 0 && fcntl(fd, F_SETLK, &l) == 0);
	CHECK(guide_init());
	SpmiExit();
	if (fork() == 0)
		_exit(locked(fd) ? 7 : 1);
	CHECK(wait(&fd) > 0 && WEXITSTATUS(fd) == 7); /* the program still has its own lock */
	CHECK(chmod(test_file, 0400) == 0 && seteuid(NOBODY) == 0);
	CHECK_ERR(!guide_init(), SiShmemFailed);
	tell(to, 'y');
}

int main(void)
{
	int fd;

	make_dir();
	fd = open(test_file, O_CREAT | O_WRONLY, 0666);
	CHECK(fd >= 0 && close(fd) == 0);
	CHECK(run(no_directory) == 0);
	CHECK(run(no_permission) == 0);
	CHECK(chmod(test_dir, 03773) == 0);
	CHECK(run(squatter) == 0);
	CHECK(run(few_files) == 0);
	CHECK(run(few_bytes) == 0);
	if (!sanitized) /* the sanitizers need address space themselves */
		CHECK(run(little_address_space) == 0);
	CHECK(run(closed_files) == 0);
	CHECK(run(closed_stdio) == 0);
	CHECK(run(files) == 0);
	return done();
}
