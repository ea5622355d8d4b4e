/* The process's own state, which a child finds zeroed, however it was forked. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

struct process *rt_process;

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static void wipe(void)
{
	memset(rt_process, 0, sizeof(*rt_process));
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
	if (madvise(p, sizeof(*p), MADV_WIPEONFORK) && pthread_atfork(NULL, NULL, wipe)) {
		munmap(p, sizeof(*p));
		return NULL;
	}
	if (cas(&rt_process, &have, p))
		return p;
	munmap(p, sizeof(*p));
	return have;
}
