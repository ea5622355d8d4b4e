/*
 * Claims. Every user has a claims file, and a path stands for one byte of it, found by
 * hashing. A process has the path while it holds a write lock on that byte of its user's
 * file and no process holds one in another user's file. The kernel removes the lock when
 * the process dies.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* The byte that stands for the turn to claim. It is just above the bytes of paths. */
#define CLAIM_TURN ((off_t)1 << 62)

static off_t offset_of(const char *path)
{
	uint64_t h = 14695981039346656037u;

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 1099511628211u;
	return (off_t)(h & ((1ull << 62) - 1));
}

static struct flock byte_lock(off_t start, short type)
{
	struct flock l;

	memset(&l, 0, sizeof(l));
	l.l_type = type;
	l.l_whence = SEEK_SET;
	l.l_start = start;
	l.l_len = 1;
	return l;
}

static struct flock lock_of(const char *path, short type)
{
	return byte_lock(offset_of(path), type);
}

/*
 * Whether another process claims the path in this file. Read locks are not claims, because
 * every user who can read the file can set them, and neither are locks of more than a byte.
 */
static bool claimed_in(int fd, const char *path)
{
	struct flock l = lock_of(path, F_WRLCK);

	return fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_WRLCK && l.l_len == 1;
}

/*
 * Whether another process claims the path in this file, or a read lock may have prevented
 * such a claim.
 */
static bool maybe_claimed_in(int fd, const char *path)
{
	struct flock l = lock_of(path, F_WRLCK);

	return fcntl(fd, F_GETLK, &l) == 0 &&
	       (l.l_type == F_RDLCK || (l.l_type == F_WRLCK && l.l_len == 1));
}

typedef bool claim_test(int fd, const char *path);

static bool own_regular(int fd, uid_t uid)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == uid;
}

/* Whether a path below the segment directory is a plain file of the user, or nothing at all. */
static bool own_or_absent(int dir, const char *name, uid_t uid)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || (S_ISREG(st.st_mode) && st.st_uid == uid);
}

/*
 * Opens the user's file of claims. If something of another user has its name, it uses an
 * unnamed file instead. Nobody sees the claims in that, but the supplier can work.
 */
int claims_open(struct place *p)
{
	char name[32], what[96];
	int fd, err;

	p->uid = geteuid();
	snprintf(name, sizeof(name), "claims/%lu", (unsigned long)p->uid);
	snprintf(what, sizeof(what), "segment directory: %s", name);
	fd = openat(p->dir.fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	err = errno;
	if (fd >= 0 && own_regular(fd, p->uid)) {
		fchmod(fd, 0644); /* the umask may have made it unreadable for others */
	} else if (fd >= 0 || !own_or_absent(p->dir.fd, name, p->uid)) {
		if (fd >= 0)
			close(fd);
		fd = openat(p->dir.fd, "claims", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
		err = errno;
	}
	if (fd < 0)
		return spmi_fail_errno(what, err);
	err = hold(&p->claims, fd);
	return err ? spmi_fail_errno(what, err) : 0;
}

/* Whether this is another name for our own file: closing that would drop all our claims. */
static bool is_ours(const struct place *p, int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == p->claims.dev &&
	       st.st_ino == p->claims.ino;
}

/* Root and the PCP user, who owns the directory, come before all other users. */
static bool comes_first(const struct place *p, uid_t uid)
{
	struct stat st;

	return uid == 0 || (fstat(p->dir.fd, &st) == 0 && st.st_uid == uid);
}

/* The users whose claims find_others looks at. */
enum others {
	OTHERS_ALL,
	OTHERS_EQUAL /* those that count: root and the PCP user ignore all others */
};

/* Opens another user's claims. If there are none, it returns -1 and does not change *err. */
static int open_other(const struct place *p, int dir, const char *name, enum others which, int *err)
{
	char *end;
	unsigned long uid = strtoul(name, &end, 10);
	int fd;

	if (which == OTHERS_EQUAL && comes_first(p, p->uid) && !comes_first(p, (uid_t)uid))
		return -1;
	if (*end || end == name || uid == (unsigned long)p->uid || is_ours(p, dir, name))
		return -1;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			*err = errno;
		return -1;
	}
	if (!own_regular(fd, (uid_t)uid)) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * How many names in the folder of claims are looked at. There are more only if somebody
 * fills the folder. Then suppliers may not see each other's claims.
 */
enum { CLAIMS_MAX = 4096 };

/* Looks for a claim of another user on one of the paths. Returns an error number or 0. */
static int find_others(struct place *p, const char *const *paths, size_t n, claim_test *test,
		       enum others which, const char **taken)
{
	int fd = openat(p->dir.fd, "claims", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int other, err = 0, seen = 0;
	struct dirent *e;
	DIR *dir;
	size_t i;

	*taken = NULL;
	if (fd < 0)
		return errno;
	dir = fdopendir(fd);
	if (!dir) {
		err = errno;
		close(fd);
		return err;
	}
	while (!err && !*taken && seen++ < CLAIMS_MAX && (e = readdir(dir))) {
		other = open_other(p, fd, e->d_name, which, &err);
		for (i = 0; other >= 0 && i < n && !*taken; i++)
			if (test(other, paths[i]))
				*taken = paths[i];
		if (other >= 0)
			close(other);
	}
	closedir(dir);
	return err;
}

void claims_drop(struct place *p, const char *path)
{
	struct flock l = lock_of(path, F_UNLCK);

	if (holds(&p->claims))
		fcntl(p->claims.fd, F_SETLK, &l);
}

static void drop_all(struct place *p, const char *const *paths, size_t n)
{
	while (n > 0)
		claims_drop(p, paths[--n]);
}

/* Locks the paths in our own file. Returns a path that another process has, or NULL. */
static const char *lock_own(struct place *p, const char *const *paths, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct flock l = lock_of(paths[i], F_WRLCK);

		if (fcntl(p->claims.fd, F_SETLK, &l) && claimed_in(p->claims.fd, paths[i])) {
			drop_all(p, paths, i);
			return paths[i];
		}
	}
	return NULL;
}

static void pause_for(long ns)
{
	struct timespec t;

	t.tv_sec = 0;
	t.tv_nsec = ns;
	nanosleep(&t, NULL);
}

/*
 * Waits until it is this process's turn to claim: the processes of one user claim one after
 * another. Without turns, one process could be refused because of a path that another locks
 * only for a moment and then gives up. A turn is a lock on a byte that stands for no path.
 * It takes microseconds. If it takes a second, because a process was stopped or another
 * user's read lock is in the way, the process claims out of turn.
 */
static void take_turn(struct place *p)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		struct flock l = byte_lock(CLAIM_TURN, F_WRLCK);

		if (fcntl(p->claims.fd, F_SETLK, &l) == 0)
			return;
		if (fcntl(p->claims.fd, F_GETLK, &l) || l.l_type == F_RDLCK)
			return;
		pause_for(1000000);
	}
}

static void end_turn(struct place *p)
{
	struct flock l = byte_lock(CLAIM_TURN, F_UNLCK);

	fcntl(p->claims.fd, F_SETLK, &l);
}

static int by_offset(const void *a, const void *b)
{
	off_t x = offset_of(*(const char *const *)a), y = offset_of(*(const char *const *)b);

	return (x > y) - (x < y);
}

/*
 * Claims all the paths or none. They are sorted first: if two processes of one user want the
 * same paths and one claims out of turn, the first that locks a path gets all of them. Two
 * processes of different users may each see the other's lock, so they try again.
 */
int claims_take(struct place *p, const char **paths, size_t n)
{
	const char *taken;
	int tries, err;

	if (!holds(&p->claims) || !holds(&p->dir))
		return spmi_fail(SiShmemFailed, "the program has closed the SPMI's files");
	qsort(paths, n, sizeof(*paths), by_offset);
	for (tries = 0;; tries++) {
		bool own;

		take_turn(p);
		taken = lock_own(p, paths, n);
		own = taken != NULL;
		err = own ? 0 : find_others(p, paths, n, claimed_in, OTHERS_EQUAL, &taken);
		if (!own && (err || taken))
			drop_all(p, paths, n);
		end_turn(p);
		if (err)
			return spmi_fail_errno("segment directory: claims", err);
		if (!taken)
			return 0;
		if (own || tries == 4)
			break;
		pause_for((long)(1000000 + random_u64() % 18000000));
	}
	return spmi_fail(SiDuplicate, "context %s is another supplier's", taken);
}

/*
 * Whether another living process claims the path, so that there may be contexts below it.
 * If a read lock hides that, the answer is yes. Otherwise any user who can read a claims
 * file could keep its owner's suppliers from adding contexts.
 */
int claims_taken(struct place *p, const char *path, bool *taken)
{
	const char *found = NULL;
	int err = 0;

	if (!holds(&p->claims) || !holds(&p->dir))
		return spmi_fail(SiShmemFailed, "the program has closed the SPMI's files");
	*taken = maybe_claimed_in(p->claims.fd, path);
	if (!*taken)
		err = find_others(p, &path, 1, maybe_claimed_in, OTHERS_ALL, &found);
	if (err)
		return spmi_fail_errno("segment directory: claims", err);
	*taken = *taken || found;
	return 0;
}
