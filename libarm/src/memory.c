/* The process's own state, and how a child begins without it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

union wiped rt_wiped;

static struct process *begun;  /* this process's; in a child that has not begun to measure, its parent's */
static struct process *parent; /* the same, once in_child has been called */
static bool told;              /* the C library says when it forks */

/* Waits while memory becomes files, because a child would get half of each. */
static void before_fork(void)
{
	struct process *p = load_acquire(&rt_process);

	if (p)
		publish_wait(p);
}

/* Called in a child after fork, but not after a clone that the C library does not know
 * of. */
static void in_child(void)
{
	struct process *p = begun;
	int err = errno;

	memset(&rt_wiped.is, 0, sizeof(rt_wiped.is));
	begun = NULL;
	publish_forget();
	if (p) {
		parent = p;
		proc_apart(&rt_proc_file, p);
	}
	errno = err;
}

struct process *process_parent(void)
{
	return begun ? begun : parent;
}

/* This is not done later, because it may allocate. */
__attribute__((constructor)) static void tell_of_forks(void)
{
	told = pthread_atfork(before_fork, NULL, in_child) == 0;
}

/* NULL if there is no memory. */
struct process *process_memory(void)
{
	struct process *have = load_acquire(&rt_process), *p;

	if (have)
		return have;
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (madvise(&rt_wiped, sizeof(rt_wiped), MADV_WIPEONFORK) && !told) {
		munmap(p, sizeof(*p));
		return NULL;
	}
	if (cas(&rt_process, &have, p))
		return p;
	munmap(p, sizeof(*p));
	return have;
}

void process_begun(struct process *p)
{
	store(&begun, p);
}

void signals_off(sigset_t *before)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP };
	sigset_t off;
	size_t i;

	sigfillset(&off);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&off, faults[i]);
	pthread_sigmask(SIG_BLOCK, &off, before);
}

void signals_back(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}
