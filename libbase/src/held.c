/* Descriptors that a program may close behind our back, and use again. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

/* Keeps fd, or a copy of it above 2. A program that has closed 0 to 2 may still print
 * there. */
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
