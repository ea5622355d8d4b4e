/*
 * Functions for test programs. Each program makes its own segment directory and
 * checks one behaviour. It exits with 0, or with 1 and a line that says which check
 * failed.
 */
#ifndef HELPERS_H
#define HELPERS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sys/Spmidef.h>

#include "layout.h"

static char test_dir[64];
static char test_file[96];

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s (SpmiErrno %d \"%s\", errno %d)\n", \
				__FILE__, __LINE__, #cond, SpmiErrno, SpmiErrmsg, errno); \
			_exit(1); \
		} \
	} while (0)

#define CHECK_ERR(call, code) \
	do { \
		int ok_ = (call); \
		if (!ok_ || SpmiErrno != (code) || !SpmiErrmsg[0]) { \
			fprintf(stderr, "%s:%d: %s: SpmiErrno %d \"%s\", want %d\n", \
				__FILE__, __LINE__, #call, SpmiErrno, SpmiErrmsg, (int)(code)); \
			_exit(1); \
		} \
	} while (0)

/* Makes a folder in the directory. */
static inline void make_folder(const char *name, mode_t mode)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	CHECK(mkdir(path, mode) == 0 && chmod(path, mode) == 0);
}

/* Makes the directory as the agent's Install does, except for its owner. */
static inline void make_dir(void)
{

	strcpy(test_dir, "/dev/shm/spmi-test-XXXXXX");
	CHECK(mkdtemp(test_dir));
	CHECK(chmod(test_dir, 03773) == 0);
	make_folder("claims", 01777);
	make_folder(SEG_NOTICE_DIR, 0755);
	snprintf(test_file, sizeof(test_file), "%s/claims/hook", test_dir);
	CHECK(setenv("RTIME_DDS_DIR", test_dir, 1) == 0);
}

static inline void empty_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && strcmp(e->d_name, "claims"))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

static inline int done(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/claims", test_dir);
	empty_dir(path);
	snprintf(path, sizeof(path), "%s/%s", test_dir, SEG_NOTICE_DIR);
	empty_dir(path);
	empty_dir(test_dir);
	return 0;
}

/*
 * Returns the number of files whose names end in suffix. The last name goes to
 * *name, unless that is NULL.
 */
static inline int count_files(const char *suffix, char name[256])
{
	DIR *d = opendir(test_dir);
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name), slen = strlen(suffix);

		if (e->d_name[0] == '.' && strncmp(e->d_name, ".new-", 5) != 0)
			continue;
		if (len >= slen && strcmp(e->d_name + len - slen, suffix) == 0 && strcmp(e->d_name, "claims")) {
			n++;
			if (name)
				snprintf(name, 256, "%s", e->d_name);
		}
	}
	closedir(d);
	return n;
}

/* Writes a notice to the only supplier that there is, as the agent does. */
static inline void give_notice(uint32_t goaway, uint32_t interval, uint32_t subscrib)
{
	struct seg_notice n = { goaway, interval, subscrib };
	char name[256], path[400], page[SEG_NOTICE_LEN] = "";
	int fd;

	CHECK(count_files(".dds", name) == 1);
	snprintf(path, sizeof(path), "%s/%s/%s", test_dir, SEG_NOTICE_DIR, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	memcpy(page, &n, sizeof(n));
	CHECK(fd >= 0 && pwrite(fd, page, sizeof(page), 0) == (ssize_t)sizeof(page));
	close(fd);
}

/* Waits up to two minutes for a condition. */
#define UNTIL(cond) \
	do { \
		int tries_ = 0; \
		while (!(cond)) { \
			CHECK(tries_++ < 120000 && #cond); \
			usleep(1000); \
		} \
	} while (0)

struct view { /* a segment as a reader maps it */
	int fd;
	char *base;
	size_t len;
	struct seg_header *h;
	struct seg_context *cx;
	struct seg_stat *stats;
};

/*
 * Maps the only segment that there is. The process that supplies it must not call
 * this: closing the file would drop its lock.
 */
static inline struct view view_segment(void)
{
	char name[256], path[400];
	struct stat st;
	struct view v;

	CHECK(count_files(".dds", name) == 1);
	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	v.fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	CHECK(v.fd >= 0 && fstat(v.fd, &st) == 0);
	v.len = (size_t)st.st_size;
	v.base = mmap(NULL, v.len, PROT_READ | PROT_WRITE, MAP_SHARED, v.fd, 0);
	CHECK(v.base != MAP_FAILED);
	v.h = (struct seg_header *)v.base;
	v.cx = (struct seg_context *)(v.base + v.h->contexts_off);
	v.stats = (struct seg_stat *)(v.base + v.h->stats_off);
	return v;
}

static inline struct seg_slot *slot_at(struct view *v, unsigned n)
{
	unsigned block = 0;

	for (; n >= SEG_BLOCK_FIRST << block; block++)
		n -= SEG_BLOCK_FIRST << block;
	CHECK(v->h->slot_block[block]);
	return (struct seg_slot *)(v->base + v->h->slot_block[block]) + n;
}

/* Returns whether a process other than this one holds a write lock on byte 0. */
static inline bool locked(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	CHECK(fcntl(fd, F_GETLK, &l) == 0);
	return l.l_type == F_WRLCK;
}

/* A child process that runs f. It is killed when the test ends, if it still runs. */
struct child {
	pid_t pid;
	int to, from; /* pipes */
};

static inline struct child spawn(void (*f)(int from, int to))
{
	int a[2], b[2];
	struct child c;

	CHECK(pipe(a) == 0 && pipe(b) == 0);
	fflush(NULL);
	c.pid = fork();
	CHECK(c.pid >= 0);
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(a[1]);
		close(b[0]);
		f(a[0], b[1]);
		_exit(0);
	}
	close(a[0]);
	close(b[1]);
	c.to = a[1];
	c.from = b[0];
	return c;
}

static inline void tell(int fd, char c)
{
	CHECK(write(fd, &c, 1) == 1);
}

/* Waits for a byte. Returns 0 if the other end is gone. */
static inline char hear(int fd)
{
	char c = 0;

	while (read(fd, &c, 1) < 0 && errno == EINTR)
		;
	return c;
}

static inline int reap(struct child c)
{
	int status = -1;

	close(c.to);
	close(c.from);
	CHECK(waitpid(c.pid, &status, 0) == c.pid);
	return status;
}

/* The tables that most tests use: the guide's, with a second template. */
struct dat {
	unsigned long a, b, c, d;
	unsigned long beyond; /* no statistic refers to it */
};

struct inst {
	float a;
	unsigned long b;
};

static const struct SpmiRawStat pu_stats[] = {
	{ "gadgets", "Fake counter value", 0, 100, SiCounter, SiLong, 1, SZ_OFF(dat, a, SiULong), NULL },
	{ "widgets", "Another fake counter value", -5, 100, SiQuantity, SiFloat, 2, SZ_OFF(dat, b, SiULong), NULL },
};
static const struct SpmiRawStat mem_stats[] = {
	{ "level", "Fake quantity value", 0, 100, SiQuantity, SiLong, 1, SZ_OFF(dat, c, SiULong), NULL },
	{ "queue", "Another fake quantity value", 0, 100, SiQuantity, SiLong, 2, SZ_OFF(dat, d, SiULong), NULL },
};
static const struct SpmiRawStat inst_stats[] = {
	{ "problems", "Fake counter value", 0, 100, SiCounter, SiLong, 1, SZ_OFF(inst, a, SiLong), NULL },
	{ "solutions", "Another fake counter value", 0, 100, SiCounter, SiLong, 2, SZ_OFF(inst, b, SiLong), NULL },
};

#define CONTEXT(path, descr, asn, stats, n) \
	{ path, descr, asn, 0, stats, n, NULL, 0, NULL, SiNoInst, 0, NULL, 0 }
#define VENDOR CONTEXT("DDS/IBM", "IBM-defined Dynamic Data-Suppliers", 2, NULL, 0)

static const cx_create guide_table[] = {
	VENDOR,
	CONTEXT("DDS/IBM/Test", "Bogus Context Number 1", 220, pu_stats, STAT_L(pu_stats)),
	CONTEXT("DDS/IBM/Moretest", "Bogus Context Number 2", 221, NULL, 0),
	CONTEXT("DDS/IBM/Moretest/SubTest", "Bogus Context Number 3", 222, mem_stats, STAT_L(mem_stats)),
};
static const cx_create guide_inst[] = {
	CONTEXT("DDS/IBM/Moretest/INST1", "Instantiable", 215, inst_stats, STAT_L(inst_stats)),
	CONTEXT("DDS/IBM/Moretest/INST2", "Instantiable", 216, NULL, 0),
};

static inline SpmiShare *guide_init(void)
{
	return SpmiDdsInit(guide_table, CX_L(guide_table), guide_inst, CX_L(guide_inst), test_file);
}

/* Uses the helpers that a test program leaves unused. */
static inline void unused_helpers(void)
{
	(void)pu_stats, (void)mem_stats, (void)inst_stats, (void)guide_table, (void)guide_inst;
}

#endif
