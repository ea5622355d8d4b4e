/*
 * What the agent asks to be traced stands in a file of the agent's own, which is read about once a second.
 * It is not mapped, because it may be cut off at any time. Nothing in it is used as an offset or a size. A
 * file that is missing or not well-formed asks for nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hot.h"

enum { PIECE = 128 }; /* words read at once: a signal handler may have little stack */

static const uint64_t every_ns = 1000000000;

/* Opens the agent's file for this file of names, or returns -1. A file is the agent's if it belongs to the
 * owner of the directory or to root. */
static int open_agents(const char *dir, uint32_t uid, uint64_t nonce)
{
	struct stat owner, st;
	char name[64], *p;
	int at = open_dir(dir), fd;

	if (at < 0)
		return -1;
	memcpy(name, ".agent/", sizeof(".agent/"));
	p = put_number(name + strlen(name), uid, 10, 1);
	*p++ = '-';
	put_number(p, nonce, 16, 16);
	fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && (fstat(at, &owner) || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
			st.st_size < (off_t)sizeof(struct seg_switches) ||
			(st.st_uid != owner.st_uid && st.st_uid != 0))) {
		close(fd);
		fd = -1;
	}
	close(at);
	return fd;
}

static bool is_ours(int fd, uint64_t nonce)
{
	struct {
		char magic[8];
		uint32_t order;
		uint16_t major, minor;
		seg_u64 nonce;
	} h;

	return pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
	       memcmp(h.magic, SEG_MAGIC_SWITCHES, sizeof(h.magic)) == 0 && h.order == SEG_ORDER &&
	       h.major == SEG_MAJOR && h.nonce == nonce;
}

static bool piece(int fd, uint32_t from, uint32_t words[PIECE])
{
	off_t at = (off_t)(offsetof(struct seg_switches, trace) + from * sizeof(uint32_t));

	return fd >= 0 && pread(fd, words, PIECE * sizeof(uint32_t), at) == (ssize_t)(PIECE * sizeof(uint32_t));
}

static void take(struct process *p, int fd)
{
	uint32_t words[PIECE], from, i;

	for (from = 0; from < TRAN_MAX / 32; from += PIECE) {
		if (!piece(fd, from, words))
			memset(words, 0, sizeof(words));
		for (i = 0; i < PIECE; i++)
			if (load(&p->traced[from + i]) != words[i])
				store(&p->traced[from + i], words[i]);
	}
}

static void read_file(struct process *p)
{
	int fd = open_agents(rt_proc_file.dir, p->uid, p->nonce);

	if (fd >= 0 && !is_ours(fd, p->nonce)) {
		close(fd);
		fd = -1;
	}
	take(p, fd);
	if (fd >= 0)
		close(fd);
}

/* Reads the file, unless it is too early or another thread reads it. A call of the parent's that goes on
 * in a child reads nothing. If a process measures in memory and has no thread that makes files, it tries
 * to make them here. */
void switches_read(struct process *p, uint64_t now)
{
	uint64_t next = load(&p->switches_next);
	int state, saved = errno;

	if (now < next || !cas(&p->switches_next, &next, now + every_ns) || p != load_acquire(&rt_process))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (load(&p->place) == IN_MEMORY && !load(&p->has_thread))
		publish_try(p);
	read_file(p);
	pthread_setcancelstate(state, &state);
	errno = saved;
}
