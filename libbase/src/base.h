/*
 * What libarm and libSpmi have in common: descriptors, files, memory and a thread. Both
 * libraries compile these files into themselves; none of the names is visible outside.
 *
 * Nothing here allocates memory from malloc, so that all of it but the thread may be used
 * in a signal handler that has interrupted malloc. Functions return 0 or an error number
 * of the system, unless they say otherwise.
 */
#ifndef RTIME_BASE_H
#define RTIME_BASE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* held.c: a descriptor, and what tells whether it is still ours. A program may close it
 * behind our back. */
struct held {
	int fd;
	dev_t dev;
	ino_t ino;
};
int hold(struct held *h, int fd);
bool holds(const struct held *h);
void let_go(struct held *h);

/* file.c: the files that a library makes in a directory. */
struct new_file {
	int dir; /* the caller's, O_PATH will do */
	int fd;
	char name[96];
};
const char *file_dir(const char *variable, const char *otherwise);
int file_create(struct new_file *f, int dir, mode_t mode);
int file_publish(struct new_file *f, const char *name, bool replace);
void file_abandon(struct new_file *f);
bool file_beyond_limit(uint64_t end);
int file_allocate(int fd, uint64_t off, uint64_t len);
int file_zero(int fd, uint64_t off, uint64_t len);
int file_room(int fd, uint64_t off, uint64_t len);
int file_lock(int fd);

/* under.c: puts a file with the same contents in the place of memory. */
int file_put_under(char *at, uint64_t len, int fd, uint64_t off);

/* process.c: what the system says of this process. 0: it does not say. */
uint64_t process_namespace(void);
uint64_t process_start(void);

/* text.c */
char *put_number(char *to, uint64_t n, unsigned int base, int digits);
size_t bounded_len(const char *s, size_t max);
uint64_t random_u64(void);

/*
 * late.c: a thread that tries something again and again until it has succeeded, such as
 * publishing what could not be published when the program started. There is none
 * while there is nothing to try.
 */
struct late {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	pthread_t thread;
	pid_t pid;    /* of the process whose thread it is, 0 for none */
	bool running; /* the thread has not ended */
	bool ending;  /* the thread is to end */
	bool (*attempt)(void); /* returns true when there is nothing left to do */
};
#define LATE_INIT { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, false, false, NULL }
int late_begin(struct late *l, bool (*attempt)(void));
void late_wait(struct late *l);
void late_forget(struct late *l);

#endif
