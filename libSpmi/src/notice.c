/*
 * What the agent tells the supplier: SiShGoAway, SiShInterval and SiShSubscrib, in a file of
 * the agent's own. Programs look at these fields in the control area and call nobody, so the
 * file is mapped there, twice: what a program stores on a page is from then on its own alone,
 * so that one that takes SiShGoAway back still learns of the demand.
 *
 * These two pages are all that the agent can take from under a program, by cutting the file
 * off. No offset, size or index is taken from it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* Whether it is the agent's, whose the directory is, or root's, and nobody else can write it. */
static bool is_agents(int fd, const struct stat *dir, mode_t kind, struct stat *st)
{
	return fstat(fd, st) == 0 && (st->st_mode & S_IFMT) == kind && (st->st_mode & 022) == 0 &&
	       (st->st_uid == dir->st_uid || st->st_uid == 0);
}

/* In the directory anybody may make a folder of that name. -1: there is no notice yet. */
static int open_notice(const struct place *p)
{
	struct stat dir, st;
	int folder, fd = -1;

	if (!holds(&p->dir) || fstat(p->dir.fd, &dir))
		return -1;
	folder = openat(p->dir.fd, SEG_NOTICE_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -1;
	if (is_agents(folder, &dir, S_IFDIR, &st))
		fd = openat(folder, p->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	close(folder);
	if (fd >= 0 && (!is_agents(fd, &dir, S_IFREG, &st) || st.st_size < SEG_NOTICE_LEN)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool map_page(char *at, int fd)
{
	return mmap(at, (size_t)page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED;
}

/* Puts the notice into the control area, if it is there. */
bool notice_map(const struct supplier *s)
{
	char *area = (char *)s->share;
	int fd = open_notice(&s->place);
	bool done;

	if (fd < 0)
		return false;
	done = map_page(area, fd) && map_page(area + SPMI_PAGE_, fd);
	close(fd);
	return done;
}
