/* Threads and their blocks. A thread takes a block with its first call. When the thread ends, the block is
 * free for a later thread, with all that was counted in it. */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hot.h"

struct block rt_nobody = { .own = NOT_OWN };
__thread struct block *rt_me __attribute__((tls_model("initial-exec"))) = &rt_nobody;

/* 1 while the thread takes a block, so that its signal handlers know. */
static __thread uint32_t taking __attribute__((tls_model("initial-exec")));

static uint32_t key_state; /* 0 not there, 1 being made, 2 there, 3 cannot be used */
static pthread_key_t key;

/* glibc allocates memory for the values of keys from 32 on, and a signal handler must not allocate. */
enum { KEYS_WITHOUT_MALLOC = 32 };

static void leave(void *value)
{
	struct block *b = rt_me;

	(void)value; /* in a child it may be the parent's */
	rt_me = &rt_nobody;
	if (b->own != load(&rt_process))
		return;
	b->own = NOT_OWN;
	b->mode = MODE_NONE;
	store_release(&b->record->owner, BLOCK_FREE);
	store_release(&b->taken, 0);
}

static bool have_key(void)
{
	uint32_t none = 0;

	if (load_acquire(&key_state) == 0 && cas(&key_state, &none, 1))
		store_release(&key_state, pthread_key_create(&key, leave) == 0 && key < KEYS_WITHOUT_MALLOC ? 2 : 3);
	return load_acquire(&key_state) == 2;
}

/* Makes the key early, so that its number is likely to be low. */
__attribute__((constructor)) static void make_key_early(void)
{
	have_key();
}

static bool take(struct block *b)
{
	uint32_t none = 0;

	return load(&b->taken) == 0 && cas(&b->taken, &none, 1);
}

/* Makes the record of block n, which the caller has taken. */
static bool block_make(struct process *p, uint32_t n, uint32_t owner)
{
	struct block *b = &p->blocks[n];
	uint64_t at = room_take(p, sizeof(struct seg_block));

	if (!at || (!b->pages && !cell_directory(b)))
		return false;
	b->record = (struct seg_block *)(p->base + at);
	b->record->flags = BLOCK_COUNTS_OPS;
	store(&b->record->owner, owner);
	b->process = p;
	b->own = NOT_OWN;
	b->number = n;
	b->hint = b->foreign = NONE;
	b->cell = &rt_no_cell;
	store_release(&p->block_words[n], (uint32_t)(at / 64));
	return true;
}

/* Takes a block that no thread has, or makes a new one. If there are too many threads, returns the shared
 * block. NULL: there is no room. */
static struct block *block_take(struct process *p)
{
	uint32_t made = load_acquire(&p->block_next), n;

	for (n = 1; n < made && n < BLOCK_MAX; n++)
		if (take(&p->blocks[n]))
			break;
	if (n >= made) {
		do {
			if (made >= BLOCK_MAX)
				return &p->blocks[0];
		} while (!cas(&p->block_next, &made, made + 1));
		show32(&p->header->block_next, &p->block_next);
		n = made;
		if (!take(&p->blocks[n]))
			return NULL;
	}
	if (!p->blocks[n].record && !block_make(p, n, BLOCK_EXCLUSIVE)) {
		store_release(&p->blocks[n].taken, 0);
		return NULL;
	}
	return &p->blocks[n];
}

/* Makes the shared block. It is for threads that have no block, because there are too many threads or
 * because a signal handler is running. */
bool block_shared(struct process *p)
{
	if (!p->blocks[0].record && !block_make(p, 0, BLOCK_SHARED))
		return false;
	store(&p->block_next, 1);
	show32(&p->header->block_next, &p->block_next);
	p->blocks[0].taken = 1;
	p->blocks[0].mode = MODE_SHARED;
	return true;
}

/* Gives a block to the calling thread. */
static struct block *make_own(struct process *p, struct block *b)
{
	if (b->mode == MODE_SHARED) {
		rt_me = b;
		return b;
	}
	if (pthread_setspecific(key, b)) {
		store_release(&b->taken, 0);
		return NULL;
	}
	store(&b->record->tid, (uint32_t)syscall(SYS_gettid));
	store_release(&b->record->owner, BLOCK_EXCLUSIVE);
	if (!b->clock.base_tsc) {
		b->clock.base_tsc = p->base_tsc;
		b->clock.base_ns = p->base_ns;
	}
	b->mode = MODE_OWN;
	b->own = p;
	rt_me = b;
	return b;
}

static struct block *block_acquire(struct process *p)
{
	struct block *shared = &p->blocks[0], *b = shared;

	if (taking)
		return shared;
	taking = 1;
	if (have_key())
		b = block_take(p);
	else if (load(&key_state) != 3)
		b = NULL;
	if (b)
		b = make_own(p, b);
	taking = 0;
	return b ? b : shared;
}

/* Returns the calling thread's block. NULL: the process does not measure. */
struct block *block_get(void)
{
	struct process *p = load_acquire(&rt_process);

	if (p && rt_me->process == p)
		return rt_me;
	return p && load_acquire(&p->state) == PROCESS_READY ? block_acquire(p) : NULL;
}

/* As block_get, but first lets the process begin to measure. */
struct block *block_attached(void)
{
	return rt_attached() ? block_get() : NULL;
}
