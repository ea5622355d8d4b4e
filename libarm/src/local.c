/* Threads and their blocks. A thread takes a block with its first call and leaves it, with all
 * that is counted there, to a later thread when it ends. */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hot.h"

struct local rt_nobody = { .own = NOT_OWN };
__thread struct local *rt_me __attribute__((tls_model("initial-exec"))) = &rt_nobody;

/* In the middle of taking a block: seen by a signal handler. */
static __thread uint32_t taking __attribute__((tls_model("initial-exec")));

static uint32_t key_state; /* 0 not there, 1 being made, 2 there, 3 of no use */
static pthread_key_t key;

/* glibc allocates memory for the values of keys from 32 on, which nobody may in a signal handler. */
enum { KEYS_WITHOUT_MALLOC = 32 };

static void leave(void *value)
{
	struct local *l = rt_me;

	(void)value; /* in a child, maybe its parent's */
	rt_me = &rt_nobody;
	if (l->own != load(&rt_process))
		return;
	l->own = NOT_OWN;
	l->mode = LOCAL_NONE;
	store_release(&l->block->owner, BLOCK_FREE);
	store_release(&l->taken, 0);
}

static bool have_key(void)
{
	uint32_t none = 0;

	if (load_acquire(&key_state) == 0 && cas(&key_state, &none, 1))
		store_release(&key_state, pthread_key_create(&key, leave) == 0 && key < KEYS_WITHOUT_MALLOC ? 2 : 3);
	return load_acquire(&key_state) == 2;
}

/* So early that the key's number is likely to be low. */
__attribute__((constructor)) static void make_key_early(void)
{
	have_key();
}

static bool take(struct local *l)
{
	uint32_t none = 0;

	return load(&l->taken) == 0 && cas(&l->taken, &none, 1);
}

/* Makes a block for the local of this number, which the caller has taken. */
static bool block_make(struct process *p, uint32_t n, uint32_t owner)
{
	struct local *l = &p->locals[n];
	uint64_t at = room_take(p, sizeof(struct seg_block));

	if (!at)
		return false;
	l->block = (struct seg_block *)(p->base + at);
	l->block->flags = BLOCK_COUNTS_OPS;
	store(&l->block->owner, owner);
	l->process = p;
	l->own = NOT_OWN;
	l->number = n;
	l->hint = l->foreign = NONE;
	l->cell = &rt_no_cell;
	store_release((uint32_t *)(p->base + p->header->blocks_off) + n, (uint32_t)(at / 64));
	return true;
}

/* A block that nobody has, or a new one, or with too many threads the shared one. NULL: no room. */
static struct local *block_take(struct process *p)
{
	uint32_t made = load_acquire(&p->header->block_next), n;

	for (n = 1; n < made && n < BLOCK_MAX; n++)
		if (take(&p->locals[n]))
			break;
	if (n >= made) {
		do {
			if (made >= BLOCK_MAX)
				return &p->locals[0];
		} while (!cas(&p->header->block_next, &made, made + 1));
		n = made;
		if (!take(&p->locals[n]))
			return NULL;
	}
	if (!p->locals[n].block && !block_make(p, n, BLOCK_EXCLUSIVE)) {
		store_release(&p->locals[n].taken, 0);
		return NULL;
	}
	return &p->locals[n];
}

/* The block of all threads that have none: when there are too many, or in a signal handler. */
bool local_shared(struct process *p)
{
	if (!p->locals[0].block && !block_make(p, 0, BLOCK_SHARED))
		return false;
	store(&p->header->block_next, 1);
	p->locals[0].taken = 1;
	p->locals[0].mode = LOCAL_SHARED;
	return true;
}

/* Makes a block the thread's. */
static struct local *settle(struct process *p, struct local *l)
{
	if (l->mode == LOCAL_SHARED) {
		rt_me = l;
		return l;
	}
	if (pthread_setspecific(key, l)) {
		store_release(&l->taken, 0);
		return NULL;
	}
	store(&l->block->tid, (uint32_t)syscall(SYS_gettid));
	store_release(&l->block->owner, BLOCK_EXCLUSIVE);
	if (!l->clock.base_tsc) {
		l->clock.base_tsc = p->base_tsc;
		l->clock.base_ns = p->base_ns;
	}
	l->mode = LOCAL_OWN;
	l->own = p;
	rt_me = l;
	return l;
}

static struct local *local_acquire(struct process *p)
{
	struct local *shared = &p->locals[0], *l = shared;

	if (taking)
		return shared;
	taking = 1;
	if (have_key())
		l = block_take(p);
	else if (load(&key_state) != 3)
		l = NULL;
	if (l)
		l = settle(p, l);
	taking = 0;
	return l ? l : shared;
}

/* The calling thread's, if the process measures. NULL: it does not. */
struct local *local_get(void)
{
	struct process *p = load_acquire(&rt_process);

	if (p && rt_me->process == p)
		return rt_me;
	return p && load_acquire(&p->state) == PROCESS_READY ? local_acquire(p) : NULL;
}

/* The same, and lets the process begin to measure. */
struct local *local_attached(void)
{
	return rt_attached() ? local_get() : NULL;
}
