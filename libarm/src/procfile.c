/*
 * The process's own file. A range of addresses is reserved once, and the file grows under it, so that
 * pointers into it stay good for the life of the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

enum { MIB = 1 << 20, FIRST = 64 << 10 };

#define INITS_OFF ((uint64_t)sizeof(struct seg_proc))
#define CHUNKS_OFF (INITS_OFF + 4 * APP_MAX)
#define BLOCKS_OFF (CHUNKS_OFF + 4 * CHUNK_MAX)
#define BUMP (BLOCKS_OFF + 4 * BLOCK_MAX)

struct proc_file rt_proc_file;

static void put_program(char *to, size_t size)
{
	char path[512], *base;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return;
	path[n] = 0;
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	memcpy(to, base, bounded_len(base, size - 1));
}

static void fill(struct seg_proc *h, uint64_t nonce, uint32_t first_chunk)
{
	memcpy(h->magic, SEG_MAGIC_PROC, sizeof(h->magic));
	h->order = SEG_ORDER;
	h->major = SEG_MAJOR;
	h->minor = SEG_MINOR;
	h->header_len = sizeof(*h);
	h->block_len = sizeof(struct seg_block);
	h->chunk_len = sizeof(struct seg_chunk);
	h->cell_len = sizeof(struct seg_cell);
	h->pid = (uint32_t)getpid();
	h->pidns = process_namespace();
	h->start = process_start();
	h->uid = geteuid();
	h->language = SEG_LANGUAGE_C;
	h->nonce = nonce;
	h->bump = BUMP;
	h->backed = FIRST;
	h->inits_off = INITS_OFF;
	h->app_max = APP_MAX;
	h->chunk_max = CHUNK_MAX;
	h->chunks_off = CHUNKS_OFF;
	h->chunk_next = first_chunk;
	h->block_max = BLOCK_MAX;
	h->blocks_off = BLOCKS_OFF;
	h->trace_len = TRACE_LEN;
	h->event_len = sizeof(struct seg_event);
	h->pairs_len = PAIRS_LEN;
	h->pair_len = sizeof(struct seg_pair);
	put_program(h->name, sizeof(h->name));
	store_release(&h->state, SEG_READY);
}

/* Processes with a limit on address space or locked memory get a smaller range. */
static int map(struct proc_file *f, int fd)
{
	uint64_t len = sizeof(void *) == 8 ? 1024ull * MIB : 64ull * MIB;
	int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	for (; len >= MIB; len /= 4) {
		f->base = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, fd, 0);
		if (f->base != MAP_FAILED) {
			madvise(f->base, (size_t)len, MADV_DONTDUMP);
			f->limit = len;
			return 0;
		}
		if (errno != ENOMEM && errno != EAGAIN)
			break;
	}
	f->base = NULL;
	return errno;
}

static int fill_file(struct proc_file *f, struct new_file *n, uint64_t nonce, uint32_t first_chunk)
{
	int err = file_room(n->fd, 0, FIRST);

	if (!err) {
		err = hold(&f->fd, n->fd);
		n->fd = err ? -1 : f->fd.fd;
	}
	if (!err)
		err = file_lock(f->fd.fd);
	if (!err)
		err = map(f, f->fd.fd);
	if (!err)
		fill((struct seg_proc *)f->base, nonce, first_chunk);
	return err;
}

int proc_create(struct proc_file *f, const char *dir, uint64_t nonce, uint32_t first_chunk)
{
	struct new_file n;
	int at, err;

	if (strlen(dir) >= sizeof(f->dir))
		return ENAMETOOLONG;
	if ((at = open_dir(dir)) < 0)
		return errno;
	err = file_create(&n, at, FILE_MODE);
	if (!err)
		err = fill_file(f, &n, nonce, first_chunk);
	if (!err)
		err = proc_publish(f, dir, &n);
	if (err) {
		if (f->base)
			munmap(f->base, (size_t)f->limit);
		f->base = NULL;
		f->fd.fd = -1;
		file_abandon(&n);
	}
	close(at);
	return err;
}

/* Sets up memory in place of a file. */
int proc_own(struct proc_file *f, uint64_t nonce, uint32_t first_chunk)
{
	int err = map(f, -1);

	if (err)
		return err;
	f->fd.fd = -1;
	f->dir[0] = f->name[0] = 0;
	madvise(f->base, (size_t)f->limit, MADV_NOHUGEPAGE);
	fill((struct seg_proc *)f->base, nonce, first_chunk);
	return 0;
}

/* Makes a file that the memory can move to. The process may have become another user meanwhile. */
int proc_make(struct proc_file *f, struct process *p, int dir, struct new_file *n)
{
	int err = file_create(n, dir, FILE_MODE);

	p->header->uid = geteuid();
	if (!err)
		err = file_room(n->fd, 0, load(&p->backed));
	if (!err) {
		err = hold(&f->fd, n->fd);
		n->fd = err ? -1 : f->fd.fd;
	}
	if (!err)
		err = file_lock(f->fd.fd);
	if (err) {
		f->fd.fd = -1;
		file_abandon(n);
	}
	return err;
}

int proc_under(struct proc_file *f, struct process *p)
{
	uint64_t len = load(&p->backed);
	int err = file_put_under(p->base, len, f->fd.fd, 0);

	if (!err && len < p->limit &&
	    mmap(p->base + len, (size_t)(p->limit - len), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_NORESERVE | MAP_FIXED, f->fd.fd, (off_t)len) == MAP_FAILED)
		err = errno;
	if (!err)
		madvise(p->base, (size_t)p->limit, MADV_DONTDUMP);
	return err;
}

int proc_publish(struct proc_file *f, const char *dir, struct new_file *n)
{
	strcpy(f->dir, dir);
	strcpy(f->name, n->name + strlen(".new-"));
	strcat(f->name, ".arm");
	return file_publish(n, f->name, true);
}

/* Sets the process's pointers to the tables of its file. */
void proc_tables(struct process *p)
{
	p->inits = (int32_t *)(p->base + INITS_OFF);
	p->chunk_words = (uint32_t *)(p->base + CHUNKS_OFF);
	p->block_words = (uint32_t *)(p->base + BLOCKS_OFF);
	p->bump = BUMP;
	p->backed = FIRST;
}

/* Removes the file, before anything was counted in it. */
void proc_remove(struct proc_file *f)
{
	int dir = open_dir(f->dir);

	if (dir >= 0) {
		unlinkat(dir, f->name, 0);
		close(dir);
	}
	if (f->base)
		munmap(f->base, (size_t)f->limit);
	f->base = NULL;
	let_go(&f->fd);
}

/* Opens the file again and locks it, if the program has closed its descriptor. */
int proc_reopen(struct proc_file *f)
{
	struct held h;
	int dir, fd, err;

	if (holds(&f->fd))
		return 0;
	dir = open_dir(f->dir);
	if (dir < 0)
		return errno;
	fd = openat(dir, f->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	err = fd < 0 ? errno : hold(&h, fd);
	close(dir);
	if (err)
		return err;
	if (h.dev == f->fd.dev && h.ino == f->fd.ino) {
		f->fd.fd = h.fd;
		return file_lock(h.fd);
	}
	let_go(&h);
	return ENOENT;
}

/* Puts a private copy of the file in the place where the file was mapped. */
static void copy_apart(struct process *p)
{
	size_t len = (size_t)load(&p->backed);
	char *copy = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return;
	memcpy(copy, p->base, len);
	if (mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, p->base) == MAP_FAILED)
		munmap(copy, len);
}

/* Called in a child. A call of the parent's may go on in the child. It no longer changes the
 * parent's file. The whole range stays mapped, because the call may still read where the parent
 * has gone on. */
void proc_apart(const struct proc_file *f, struct process *p)
{
	if (load(&p->place) == IN_MEMORY)
		return; /* the child has its own copy of that memory */
	if (f->base != p->base || !holds(&f->fd) ||
	    mmap(p->base, (size_t)p->limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
		 f->fd.fd, 0) == MAP_FAILED)
		copy_apart(p);
	else
		madvise(p->base, (size_t)p->limit, MADV_DONTDUMP);
}
