/* A setuid program does not look at RTIME_DDS_DIR. As root. Its argument: a place for a copy. */
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

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc > 2) /* the copy: it must not see the directory that it is told */
		return SpmiInit(0) == SiSuccess ? 1 : strstr(SpmiErrmsg, argv[2]) != NULL;
	CHECK(argc == 2);
	make_dir();
	unlink(argv[1]);
	copy_self(argv[1]);
	CHECK(setenv("RTIME_DDS_DIR", "/nowhere-at-all", 1) == 0);
	pid = fork();
	if (pid == 0) {
		execl(argv[1], argv[1], "copy", "nowhere", (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	unlink(argv[1]);
	/* The default directory exists where the agent is installed: either answer will do
	   then, as long as it is not about the one in the environment. */
	CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || access("/run/rtime/dds", F_OK) == 0));
	return done();
}
