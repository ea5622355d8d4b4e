/*
 * Memory becomes a file while threads go on counting in it: nothing that they count is lost,
 * and the pointers that they hold stay good. With an argument, a kernel that cannot hold
 * the threads: then the values are still whole and the pages are the file's.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"
#include "want.h"

enum { THREADS = 4, PAGES = 64 };

static char *memory;
static size_t page;
static uint32_t stop, counting;

/* What a thread has counted in memory: plainly, each alone in a word, and with atomic additions, all in one. */
static uint64_t counted[THREADS];

static volatile uint64_t *own_word(int thread, int i)
{
	return (volatile uint64_t *)(memory + (size_t)i * page + 64 * (size_t)(thread + 1));
}

static void *count(void *arg)
{
	int thread = (int)(intptr_t)arg;
	int i = 0;

	__atomic_fetch_add(&counting, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		*own_word(thread, i) += 1;
		__atomic_fetch_add((uint64_t *)(memory + (size_t)i * page), 1, __ATOMIC_RELAXED);
		counted[thread]++;
		i = (i + 1) % PAGES;
	}
	return NULL;
}

static void check_sums(const char *at, bool exact)
{
	uint64_t all = 0, shared = 0, own;
	int i, t;

	for (t = 0; t < THREADS; t++) {
		own = 0;
		for (i = 0; i < PAGES; i++)
			own += *(const uint64_t *)(at + (size_t)i * page + 64 * (size_t)(t + 1));
		WANT(exact ? own == counted[t] : own <= counted[t] && own > 0);
		all += counted[t];
	}
	for (i = 0; i < PAGES; i++)
		shared += *(const uint64_t *)(at + (size_t)i * page);
	WANT(exact ? shared == all : shared <= all && shared > 0);
}

static void once(const char *dir, bool exact)
{
	size_t len = PAGES * page;
	pthread_t threads[THREADS];
	char name[200], *view;
	struct held h;
	intptr_t i;
	int fd;

	snprintf(name, sizeof(name), "%s/under-%ld", dir, (long)getpid());
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	WANT(fd >= 0 && hold(&h, fd) == 0);
	unlink(name);
	WANT(file_room(h.fd, 0, page + len) == 0);
	memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	WANT(memory != MAP_FAILED);
	memset(counted, 0, sizeof(counted));
	stop = counting = 0;
	for (i = 0; i < THREADS; i++)
		WANT(pthread_create(&threads[i], NULL, count, (void *)i) == 0);
	while (__atomic_load_n(&counting, __ATOMIC_RELAXED) < THREADS)
		sched_yield();
	WANT(file_put_under(memory, len, h.fd, page) == 0);
	usleep(1000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check_sums(memory, exact);
	view = mmap(NULL, len, PROT_READ, MAP_SHARED, h.fd, (off_t)page);
	WANT(view != MAP_FAILED);
	check_sums(view, exact);
	WANT(memcmp(view, memory, len) == 0);
	strcpy(memory, "stored later");
	WANT(strcmp(view, "stored later") == 0);
	munmap(view, len);
	munmap(memory, len);
	let_go(&h);
}

int main(int argc, char **argv)
{
	int round;

	page = (size_t)sysconf(_SC_PAGESIZE);
	for (round = 0; round < 200; round++)
		once("/dev/shm", argc == 1);
	(void)argv;
	return 0;
}
