/* A setuid program does not look at RTIME_ARM_DIR. This test needs root. Its argument is a path
 * for a copy of itself. */
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

/* The copy must leave nothing in the directory that it is told to use. */
static int copy_runs(void)
{
	finish(begin(arm_getid(arm_init("setuid", "*", 0, NULL, 0), "t", NULL, 0, NULL, 0)));
	return 0;
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc > 2)
		return copy_runs();
	CHECK(argc == 2);
	make_dir();
	unlink(argv[1]);
	copy_self(argv[1]);
	/* Without the setuid bit the same program does measure there. */
	CHECK(chmod(argv[1], 0755) == 0);
	pid = fork();
	if (pid == 0) {
		execl(argv[1], argv[1], "a", "copy", (char *)NULL);
		_exit(127);
	}
	reap(pid);
	CHECK_EQ(files(".arm", false), 1);
	empty_dir(test_dir);
	CHECK(chmod(argv[1], 04755) == 0);
	pid = fork();
	if (pid == 0) {
		execl(argv[1], argv[1], "a", "copy", (char *)NULL);
		_exit(127);
	}
	reap(pid);
	CHECK_EQ(files("", false), 2); /* . and .. */
	unlink(argv[1]);
	return done();
}
