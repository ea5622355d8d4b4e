/*
 * Files of the directory. Each is made under a name that begins with .new-, filled, and
 * renamed. Nothing here allocates memory: a child may come here from a signal handler.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

const char *file_dir(void)
{
	const char *dir = secure_getenv("RTIME_ARM_DIR");

	return dir && *dir ? dir : "/run/rtime/arm";
}

/* Writes n, with zeros in front if it has fewer digits, and returns where it ends. */
char *put_number(char *to, uint64_t n, unsigned int base, int digits)
{
	char text[24];
	int len = 0;

	do {
		text[len++] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n || len < digits);
	while (len)
		*to++ = text[--len];
	*to = 0;
	return to;
}

uint64_t random_u64(void)
{
	struct timespec t;
	uint64_t n;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) == sizeof(n))
		return n;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_nsec * 6364136223846793005u + (uint64_t)t.tv_sec + ((uint64_t)getpid() << 32);
}

int file_create(struct new_file *f, const char *dir)
{
	char *p = f->name;
	int err;

	memcpy(p, ".new-", 5);
	p = put_number(p + 5, geteuid(), 10, 1);
	*p++ = '-';
	p = put_number(p, (uint64_t)getpid(), 10, 1);
	*p++ = '-';
	put_number(p, random_u64(), 16, 16);
	f->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0)
		return errno;
	f->fd = openat(f->dir, f->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->fd >= 0 && fchmod(f->fd, 0640) == 0)
		return 0;
	err = errno;
	file_abandon(f);
	return err;
}

/* Closes the directory, but not the file. */
int file_publish(struct new_file *f, const char *name, bool replace)
{
	int err = 0;

	if (syscall(SYS_renameat2, f->dir, f->name, f->dir, name, replace ? 0 : RENAME_NOREPLACE))
		err = errno;
	if (err == EINVAL || err == ENOSYS) { /* no such flag there: a link does as well */
		err = linkat(f->dir, f->name, f->dir, name, 0) ? errno : 0;
		unlinkat(f->dir, f->name, 0);
	}
	if (err)
		return err;
	close(f->dir);
	f->dir = -1;
	return 0;
}

void file_abandon(struct new_file *f)
{
	if (f->fd >= 0) {
		unlinkat(f->dir, f->name, 0);
		close(f->fd);
	}
	if (f->dir >= 0)
		close(f->dir);
	f->fd = f->dir = -1;
}

/* Beyond the process's limit the kernel sends a signal that ends the program. */
bool file_beyond_limit(uint64_t end)
{
	struct rlimit l;

	return getrlimit(RLIMIT_FSIZE, &l) == 0 && l.rlim_cur != RLIM_INFINITY && end > l.rlim_cur;
}

/* Allocates room, so that its want is an error here and not a signal later. */
int file_allocate(int fd, uint64_t off, uint64_t len)
{
	int tries;

	if (file_beyond_limit(off + len))
		return EFBIG;
	for (tries = 0; fallocate(fd, 0, (off_t)off, (off_t)len); tries++)
		if (errno != EINTR || tries == 100)
			return errno;
	return 0;
}

/* For file systems that cannot allocate; of a part that nobody uses yet. */
int file_zero(int fd, uint64_t off, uint64_t len)
{
	static const char zeros[4096];

	if (file_beyond_limit(off + len))
		return EFBIG;
	while (len) {
		size_t part = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);
		ssize_t n = pwrite(fd, zeros, part, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : ENOSPC;
		off += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

/* Says for as long as the process lives that it does. */
int file_lock(int fd)
{
	struct flock l;

	memset(&l, 0, sizeof(l));
	l.l_type = F_WRLCK;
	l.l_whence = SEEK_SET;
	l.l_len = 1;
	return fcntl(fd, F_SETLK, &l) ? errno : 0;
}
