/* The segment directory, and descriptors that a program may close behind our back. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define DEFAULT_DIR "/run/rtime/dds"

/* Keeps fd, away from 0 to 2: a program that has closed these may still print there. */
int hold(struct held *h, int fd)
{
	struct stat st;
	int high = fd;

	if (fd < 3) {
		high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (high < 0)
			high = -errno;
		close(fd);
	}
	if (high < 0)
		return -high;
	if (fstat(high, &st)) {
		int err = errno;

		close(high);
		return err;
	}
	h->fd = high;
	h->dev = st.st_dev;
	h->ino = st.st_ino;
	return 0;
}

/* Reports whether the descriptor is still the one that was opened. */
bool holds(const struct held *h)
{
	struct stat st;

	return h->fd >= 3 && fstat(h->fd, &st) == 0 && st.st_dev == h->dev && st.st_ino == h->ino;
}

void let_go(struct held *h)
{
	if (holds(h))
		close(h->fd);
	h->fd = -1;
}

int open_directory(struct held *h)
{
	const char *path = secure_getenv("RTIME_DDS_DIR");
	char what[200];
	int fd, err;

	if (!path || !*path)
		path = DEFAULT_DIR;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 ? errno : hold(h, fd);
	if (!err)
		return 0;
	snprintf(what, sizeof(what), "segment directory %s", path);
	return spmi_fail_errno(what, err);
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
