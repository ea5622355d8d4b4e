/* A setuid program ignores RTIME_DDS_DIR. As root. Its argument: a place for a copy. */
#include <sys/sendfile.h>

#include "helpers.h"

enum { NOBODY = 65534 };

static void copy_self(const char *to)
{
	int in = open("/proc/self/exe", O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0700);
	struct stat st;

	CHECK(in >= 0 && out >= 0 && fstat(in, &st) == 0);
	CHECK(sendfile(out, in, NULL, (size_t)st.st_size) == st.st_size);
	close(in);
	CHECK(fchown(out, NOBODY, NOBODY) == 0 && fchmod(out, 04755) == 0);
	close(out);
}

/* Runs the copy. It prints how many segments are in the directory that it was given. */
static int segments(const char *copy)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl(copy, copy, "copy", test_dir, (char *)NULL);
		_exit(127);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int copy(const char *dir)
{
	int n;

	if (!SpmiDdsInit(guide_table, CX_L(guide_table), NULL, 0, "/dev/null") || seteuid(0))
		return 99;
	strcpy(test_dir, dir);
	n = count_files(".dds", NULL);
	SpmiExit();
	return n;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return copy(argv[2]);
	CHECK(argc == 2);
	make_dir();
	unlink(argv[1]);
	copy_self(argv[1]);
	CHECK(segments(argv[1]) == 0);
	CHECK(chmod(argv[1], 0755) == 0); /* without setuid the program uses the directory */
	CHECK(segments(argv[1]) == 1);
	unlink(argv[1]);
	return done();
}
