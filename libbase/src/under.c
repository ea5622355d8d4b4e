/*
 * Memory that a program has pointers into becomes a file, at the same addresses, while the
 * program goes on storing there.
 *
 * All pages are moved aside at once. Whoever touches the range from then on waits in the
 * kernel (userfaultfd). Meanwhile the pages are copied to the file, and the file is mapped
 * where they were, so no store goes astray. Filters of containers refuse this, and so does
 * Linux before 5.7. Then pages are copied one by one. What the program stores between the
 * copy of a page and its mapping, some microseconds, is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/* Opens a descriptor. Accesses to the range wait from the moment when its pages are gone,
 * until the descriptor is closed. */
static int gate(char *at, uint64_t len)
{
	struct uffdio_api api;
	struct uffdio_register r;
	int fd = -1;

#ifndef BASE_NO_GATE
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
#endif
	if (fd < 0)
		return -1;
	memset(&api, 0, sizeof(api));
	api.api = UFFD_API;
	memset(&r, 0, sizeof(r));
	r.range.start = (uintptr_t)at;
	r.range.len = len;
	r.mode = UFFDIO_REGISTER_MODE_MISSING;
	if (ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &r) == 0)
		return fd;
	close(fd);
	return -1;
}

static int map_file(char *at, uint64_t len, int fd, uint64_t off)
{
	void *p = mmap(at, (size_t)len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, (off_t)off);

	return p == MAP_FAILED ? errno : 0;
}

/* Moves the pages to aside, and moves them back if the file cannot take their place. */
static int swap_at_once(char *at, char *aside, uint64_t len, char *view, int fd, uint64_t off)
{
	int err;

	if (mremap(at, (size_t)len, (size_t)len, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, aside) == MAP_FAILED)
		return errno;
	memcpy(view, aside, (size_t)len);
	err = map_file(at, len, fd, off);
	if (err)
		mremap(aside, (size_t)len, (size_t)len, MREMAP_MAYMOVE | MREMAP_FIXED, at);
	return err;
}

static int swap_page_by_page(char *at, uint64_t len, char *view, int fd, uint64_t off)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), i;
	int err = 0;

	for (i = 0; i < len && !err; i += page) {
		memcpy(view + i, at + i, (size_t)page);
		err = map_file(at + i, page, fd, off + i);
	}
	return err;
}

/*
 * at, len and off are multiples of a page; the memory is private, one mapping, and nobody
 * uses that part of the file, which has room already. A system call that stores into the
 * memory meanwhile may fail with EFAULT. After an error the memory is what it was.
 */
int file_put_under(char *at, uint64_t len, int fd, uint64_t off)
{
	char *aside = mmap(NULL, (size_t)len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *view = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);
	int err = ENOMEM, closed = -1;

	if (aside != MAP_FAILED && view != MAP_FAILED) {
		memset(view, 0, (size_t)len); /* so that its pages exist before the memory is moved */
		closed = gate(at, len);
		if (closed >= 0)
			err = swap_at_once(at, aside, len, view, fd, off);
		if (closed < 0 || err == EINVAL)
			err = swap_page_by_page(at, len, view, fd, off);
		if (closed >= 0)
			close(closed);
	}
	if (aside != MAP_FAILED && !err) /* else somebody may have got these addresses meanwhile */
		munmap(aside, (size_t)len);
	if (view != MAP_FAILED)
		munmap(view, (size_t)len);
	return err;
}
