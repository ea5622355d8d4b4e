/*
 * For test programs: each makes its own directory, checks one behaviour, and exits 0, or 1
 * with a line that says what did not hold. seen.h reads what the library wrote.
 */
#ifndef HELPERS_H
#define HELPERS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <arm.h>

static char test_dir[64];

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #cond, errno); \
			_exit(1); \
		} \
	} while (0)

#define CHECK_EQ(have, want) \
	do { \
		long long have_ = (long long)(have), want_ = (long long)(want); \
		if (have_ != want_) { \
			fprintf(stderr, "%s:%d: %s is %lld, want %lld\n", __FILE__, __LINE__, #have, have_, \
				want_); \
			_exit(1); \
		} \
	} while (0)

/* Makes the directory as the agent's Install does, save for its owner. */
static inline void make_dir(void)
{
	strcpy(test_dir, "/dev/shm/arm-test-XXXXXX");
	CHECK(mkdtemp(test_dir));
	CHECK(chmod(test_dir, 03773) == 0);
	CHECK(setenv("RTIME_ARM_DIR", test_dir, 1) == 0);
}

/* Removes what is in a directory, and closes the directory. */
static inline void empty_at(int fd)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && unlinkat(dirfd(d), e->d_name, 0)) {
			empty_at(openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
		}
	if (d)
		closedir(d);
}

static inline void empty_dir(const char *dir)
{
	empty_at(open(dir, O_RDONLY | O_DIRECTORY));
}

static inline int done(void)
{
	empty_dir(test_dir);
	rmdir(test_dir);
	return 0;
}

/* How many files have names that end with part, or, if begin is true, begin with it. */
static inline int files(const char *part, bool begin)
{
	DIR *d = opendir(test_dir);
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name), want = strlen(part);

		if (len >= want && memcmp(begin ? e->d_name : e->d_name + len - want, part, want) == 0)
			n++;
	}
	closedir(d);
	return n;
}

/* Waits for a child, which must end with 0. */
static inline void reap(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

/* Waits for the only child. */
static inline void reap_any(void)
{
	int status;

	CHECK(wait(&status) > 0);
	CHECK_EQ(status, 0);
}

/* Runs f in a child of its own. */
static inline void in_child(void (*f)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		f();
		_exit(0);
	}
	reap(pid);
}

static inline void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static inline int begin(int tran)
{
	return arm_start(tran, 0, NULL, 0);
}

static inline int finish(int handle)
{
	return arm_stop(handle, ARM_GOOD, 0, NULL, 0);
}

/* An application with one transaction. */
static inline int register_one(const char *app, const char *tran)
{
	int a = arm_init(app, NULL, 0, NULL, 0), t;

	CHECK(a > 0);
	CHECK((t = arm_getid(a, tran, NULL, 0, NULL, 0)) > 0);
	return t;
}

#endif
