/*
 * Programs that are killed while they use libarm. What each of them had begun and completed
 * stands in a file that all map, and that the test reads: armkill.go.
 */
#ifndef KILL_H
#define KILL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

enum { VICTIMS = 64, THREADS = 3, WITNESS = VICTIMS };

/* One thread's. It alone writes, before and after each call. */
struct note {
	uint64_t begun, started;
	uint64_t stop_begun[3], stopped[3]; /* by status */
	uint64_t update_begun, updated;
	uint64_t spare[6];
};

/* One process's. */
struct victim {
	uint64_t app, tran; /* what the library answered */
	uint64_t bad;       /* where it answered something else than it should, or 0 */
	uint64_t over;      /* it has done all that it was to do */
	uint64_t spare[12];
	struct note thread[THREADS];
};

extern struct victim *victims;

#define NOTE(word) __atomic_store_n(&(word), (word) + 1, __ATOMIC_RELEASE)

/* Ends the process, and with it the test. */
#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1); \
		} \
	} while (0)

uint32_t draw(uint32_t *seed);
void nap(long us);
pid_t child(void);
void end_of(pid_t pid, int how);
void registers(int i);

/* What victims do until they are killed. */
void works(int i, uint32_t seed);
void witness(int until);

/* Kills a batch: at random, or each one some steps later than the one before. The last
 * answers how many had done all. */
void kill_random(uint32_t seed, const char *exe);
enum by { BY_STEP, BY_CALL, BY_BOTH };
int kill_steps(const char *what, enum by how, long from, long stride);

int with_sevens(int app, const char *name);

/* Whether a new process finds names as they were. */
void newcomer(void);

#endif
