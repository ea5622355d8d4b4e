/*
 * Files of a directory. Each is made under a name that begins with .new-, filled, and
 * renamed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

enum { MIB = 1 << 20 };

/* Returns the directory that a variable of the environment names, or otherwise. */
const char *file_dir(const char *variable, const char *otherwise)
{
	const char *dir = secure_getenv(variable);

	return dir && *dir ? dir : otherwise;
}

int file_create(struct new_file *f, int dir, mode_t mode)
{
	char *p = f->name;
	int err;

	memcpy(p, ".new-", 5);
	p = put_number(p + 5, geteuid(), 10, 1);
	*p++ = '-';
	p = put_number(p, (uint64_t)getpid(), 10, 1);
	*p++ = '-';
	put_number(p, random_u64(), 16, 16);
	f->dir = dir;
	f->fd = openat(dir, f->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->fd >= 0 && fchmod(f->fd, mode) == 0)
		return 0;
	err = errno;
	file_abandon(f);
	return err;
}

int file_publish(struct new_file *f, const char *name, bool replace)
{
	int err = 0;

	if (syscall(SYS_renameat2, f->dir, f->name, f->dir, name, replace ? 0 : RENAME_NOREPLACE))
		err = errno;
	if (err == EINVAL || err == ENOSYS) { /* that file system has no such flag: a link does as well */
		err = linkat(f->dir, f->name, f->dir, name, 0) ? errno : 0;
		unlinkat(f->dir, f->name, 0);
	}
	return err;
}

/* Removes what was not published. */
void file_abandon(struct new_file *f)
{
	if (f->fd >= 0) {
		unlinkat(f->dir, f->name, 0);
		close(f->fd);
	}
	f->fd = -1;
}

/* Reports whether a file of this length is beyond the process's limit. The kernel would send
 * a signal that ends the program. */
bool file_beyond_limit(uint64_t end)
{
	struct rlimit l;

	return getrlimit(RLIMIT_FSIZE, &l) == 0 && l.rlim_cur != RLIM_INFINITY && end > l.rlim_cur;
}

/*
 * Allocates room, so that a full file system is an error here and not a signal later. Signals
 * interrupt fallocate, so it is called for small pieces and tried again.
 */
int file_allocate(int fd, uint64_t off, uint64_t len)
{
	int tries = 0;

	if (file_beyond_limit(off + len))
		return EFBIG;
	while (len) {
		uint64_t part = len < MIB ? len : MIB;

		if (fallocate(fd, 0, (off_t)off, (off_t)part) == 0) {
			off += part;
			len -= part;
		} else if (errno != EINTR || tries++ == 1000) {
			return errno;
		}
	}
	return 0;
}

/* Writes zeros, for file systems that cannot allocate. Nobody may use that part of the file
 * yet. */
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

/* Makes room in a part of the file that nobody uses yet, on any file system. */
int file_room(int fd, uint64_t off, uint64_t len)
{
	int err = file_allocate(fd, off, len);

	return err == EOPNOTSUPP || err == ENOSYS ? file_zero(fd, off, len) : err;
}

/* Takes the lock that tells others that the process lives. */
int file_lock(int fd)
{
	struct flock l;

	memset(&l, 0, sizeof(l));
	l.l_type = F_WRLCK;
	l.l_whence = SEEK_SET;
	l.l_len = 1;
	return fcntl(fd, F_SETLK, &l) ? errno : 0;
}
