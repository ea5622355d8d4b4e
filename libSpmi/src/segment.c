/*
 * The file of a segment. A range of addresses is reserved once, and the file grows
 * within it, so that pointers into it stay valid. Storage is allocated before anything
 * is stored there. So a full file system is an error here and not a signal later.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "barrier.h"
#include "internal.h"

enum { MIB = 1 << 20, DATA_REGION = 64 << 10 };

/* The reserved range outlives the segment: after SpmiExit a thread may still store
 * through an old pointer, and must not damage anything. */
static char *range;
static uint64_t range_len;
static uint64_t range_used; /* the part that the program may have pointers into */
static uint64_t range_end;  /* the length of its latest segment */
static bool range_own;      /* the latest segment has no file yet */

uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Maps a file, or private memory if fd is -1. */
static char *map_at(char *at, uint64_t len, int fd, uint64_t off)
{
	int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	return mmap(at, (size_t)len, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd,
		    (off_t)off);
}

/* Processes with a limit on address space or locked memory get a smaller range. */
static int map_segment(struct segment *s, int fd)
{
	uint64_t len = sizeof(void *) == 8 ? 1024ull * MIB : 64ull * MIB;
	char *p = MAP_FAILED;

	if (range)
		p = map_at(range, len = range_len, fd, 0);
	else
		for (; len >= MIB && (p = map_at(NULL, len, fd, 0)) == MAP_FAILED; len /= 4)
			if (errno != ENOMEM && errno != EAGAIN)
				break;
	if (p == MAP_FAILED)
		return spmi_fail_errno("segment: mapping", errno == EAGAIN ? ENOMEM : errno);
	s->base = p;
	s->limit = range_len = len;
	if (!range) /* otherwise it is unchanged, and a signal handler may be reading it */
		range = p;
	return 0;
}

static void set_end(struct segment *s, uint64_t end)
{
	s->end = end;
	if (end > range_used)
		range_used = end;
	__atomic_store_n(&range_end, end, __ATOMIC_RELEASE);
}

/* Returns where the segment is or was, and how long it is. Needs no lock. */
char *segment_range(uint64_t *end)
{
	*end = __atomic_load_n(&range_end, __ATOMIC_ACQUIRE);
	return *end ? range : NULL;
}

/* Called in a child: the memory in the range belongs to the parent. */
void segment_disown(void)
{
	__atomic_store_n(&range_end, 0, __ATOMIC_RELAXED);
}

static void set_own(struct segment *s, bool own)
{
	s->own = own;
	__atomic_store_n(&range_own, own, __ATOMIC_RELEASE);
}

/* Whether the latest segment has no file. Needs no lock. */
bool segment_is_own(void)
{
	return __atomic_load_n(&range_own, __ATOMIC_ACQUIRE);
}

static int make_file(struct place *p)
{
	struct new_file f;
	int err;

	if ((err = file_create(&f, p->dir.fd, 0640)))
		return spmi_fail_errno("segment directory: new file", err);
	memcpy(p->name, f.name, sizeof(p->name));
	if ((err = hold(&p->file, f.fd)) || (err = file_lock(p->file.fd)))
		return spmi_fail_errno("segment", err);
	return 0;
}

int segment_create(struct segment *s, struct place *p)
{
	int err = make_file(p);

	set_own(s, false);
	return err ? err : map_segment(s, p->file.fd);
}

/* Makes a segment without a file, for the time until there is a directory. */
int segment_own(struct segment *s)
{
	int err = map_segment(s, -1);

	if (!err)
		madvise(s->base, (size_t)s->limit, MADV_NOHUGEPAGE); /* so that a small segment stays small */
	set_own(s, true);
	return err;
}

/* Makes the file of a segment that had none, in the segment's present length. */
static int make_whole_file(struct segment *s, struct place *p)
{
	int err = make_file(p);

	if (err)
		return err;
	err = file_room(p->file.fd, 0, s->end);
	return err ? spmi_fail_errno("segment", err) : 0;
}

/* Gives the segment a file at the same addresses, while the program uses it. */
int segment_to_file(struct segment *s, struct place *p)
{
	int err = make_whole_file(s, p);

	if (err)
		return err;
	if (s->guard)
		mprotect(s->base + s->guard, (size_t)page_size(), PROT_READ | PROT_WRITE);
	err = file_put_under(s->base, s->end, p->file.fd, 0);
	if (!err && s->end < s->limit &&
	    map_at(s->base + s->end, s->limit - s->end, p->file.fd, s->end) == MAP_FAILED)
		err = errno;
	if (s->guard)
		mprotect(s->base + s->guard, (size_t)page_size(), PROT_NONE);
	if (err)
		return spmi_fail_errno("segment: mapping", err);
	set_own(s, false);
	return 0;
}

/*
 * Makes the file end at end, with room for all of it. Readers refuse a file with holes,
 * because a load from a hole may cost memory.
 */
int segment_extend(struct segment *s, struct place *p, uint64_t end)
{
	int err = 0;

	if (!s->own && !holds(&p->file))
		return spmi_fail(SiShmemFailed, "the program has closed the segment's file");
	if (end > s->limit || file_beyond_limit(end))
		return spmi_fail(SiCallocFailed, "segment: %llu bytes are more than its address space of %llu bytes "
						 "or the limit on file size (ulimit -f) allows",
				 (unsigned long long)end, (unsigned long long)s->limit);
	if (!s->own)
		err = file_room(p->file.fd, s->end, end - s->end);
	if (err)
		return spmi_fail_errno("segment", err);
	set_end(s, end);
	if (s->header)
		store_u64(&s->header->size, end);
	return 0;
}

/* Makes a page behind the end that does not accept stores. */
int segment_guard(struct segment *s, struct place *p)
{
	uint64_t guard = s->end;
	int err;

	if (guard + page_size() > s->limit)
		return 0;
	err = segment_extend(s, p, guard + page_size());
	if (err)
		return err;
	s->guard = guard;
	mprotect(s->base + guard, (size_t)page_size(), PROT_NONE);
	return 0;
}

int segment_publish(struct segment *s, struct place *p)
{
	char name[sizeof(p->name) + 4];

	store_u32(&s->header->state, SEG_READY);
	snprintf(name, sizeof(name), "%s.dds", p->name + strlen(".new-"));
	if (renameat(p->dir.fd, p->name, p->dir.fd, name))
		return spmi_fail_errno("segment directory", errno);
	memcpy(p->name, name, strlen(name) + 1);
	return 0;
}

/* Tells readers that the supplier has ended. Needs no lock and no memory. */
void segment_withdraw(const struct segment *s, const struct place *p)
{
	if (s->header)
		store_u32(&s->header->state, SEG_ENDED);
	segment_remove(p);
}

/* Removes the file under its present name. */
void segment_remove(const struct place *p)
{
	if (p->name[0] && holds(&p->dir))
		unlinkat(p->dir.fd, p->name, 0);
}

static void unmap_file(char *at, uint64_t len, int prot)
{
	mmap(at, (size_t)len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/*
 * Puts private memory where the segment was, and makes the room for its growth
 * inaccessible.
 */
void segment_detach(struct segment *s)
{
	uint64_t used = round_up(s->end, page_size());

	if (s->base) {
		unmap_file(s->base, used, PROT_READ | PROT_WRITE);
		unmap_file(s->base + used, s->limit - used, PROT_NONE);
	}
	memset(s, 0, sizeof(*s));
}

/* Gives back the addresses that the program never had pointers to. */
void segment_trim(void)
{
	uint64_t used = round_up(range_used, page_size());

	if (range && range_len > used)
		munmap(range + used, (size_t)(range_len - used));
	range_used = range_end = range_len = 0;
	range = NULL;
}

static int new_region(struct segment *s, struct place *p, struct region *r, uint64_t len)
{
	uint64_t from = s->end;
	int err = segment_extend(s, p, from + round_up(len, page_size()));

	if (err)
		return err;
	r->at = from;
	r->end = s->end;
	return 0;
}

/* Finds room for a data area, with a head before it. */
int segment_data(struct segment *s, struct place *p, uint64_t len, uint64_t *off)
{
	struct region *r = &s->data;
	int err;

	len = sizeof(struct area_head) + round_up(len ? len : 1, 8);
	if (r->end - r->at < len && (err = new_region(s, p, r, len < DATA_REGION ? DATA_REGION : len)))
		return err;
	*off = r->at + sizeof(struct area_head);
	r->at += len;
	return 0;
}

static uint32_t block_of(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n / SEG_BLOCK_FIRST + 1);
}

/* Slot n, which segment_slot has returned before. */
struct seg_slot *segment_slot_at(const struct segment *s, uint32_t n)
{
	uint32_t block = block_of(n), first = SEG_BLOCK_FIRST * ((1u << block) - 1);

	return (struct seg_slot *)(s->base + s->header->slot_block[block]) + (n - first);
}

/* Finds slot n. The caller has asked for all slots before n. */
int segment_slot(struct segment *s, struct place *p, uint32_t n, struct seg_slot **slot)
{
	uint32_t block = block_of(n);
	struct region r;
	int err;

	if (block >= SEG_BLOCKS)
		return spmi_fail(SiCallocFailed, "segment: a supplier has %u contexts at most; delete some first",
				 SEG_BLOCK_FIRST * ((1u << SEG_BLOCKS) - 1));
	if (s->blocks <= block) {
		err = new_region(s, p, &r, ((uint64_t)SEG_BLOCK_FIRST << block) * sizeof(**slot));
		if (err)
			return err;
		store_u64(&s->header->slot_block[block], r.at);
		s->blocks = block + 1;
	}
	*slot = segment_slot_at(s, n);
	return 0;
}
