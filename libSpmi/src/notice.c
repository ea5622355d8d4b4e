/*
 * What the agent tells the supplier: SiShGoAway, SiShInterval and SiShSubscrib, in a file of the
 * agent. Programs read these fields in the control area without calling the library, so the file
 * is mapped there. The mapping is private: once a program stores to a page, it no longer sees
 * what the agent writes there. The file is mapped twice, so that a program that stores 0 to
 * SiShGoAway still sees the other two fields change.
 *
 * By truncating the file the agent can make these two pages inaccessible, and no others. The
 * library takes no offset, size or index from the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* Whether a file belongs to the directory's owner, who is the agent, or to root, and nobody else can write to it. */
static bool is_agents(int fd, const struct stat *dir, mode_t kind, struct stat *st)
{
	return fstat(fd, st) == 0 && (st->st_mode & S_IFMT) == kind && (st->st_mode & 022) == 0 &&
	       (st->st_uid == dir->st_uid || st->st_uid == 0);
}

/* Any user may make a folder of that name in the directory. Returns -1 while there is no notice. */
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
