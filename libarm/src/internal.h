/*
 * What the files of the library share. A process that measures has a struct process, and each of its
 * threads has a struct block, which belongs to a block of the process's file. A page that a child
 * finds zeroed after fork says which process this is. The child therefore begins anew, with a struct
 * process of its own. Its parent's stay as they are: a signal handler may have interrupted a call in
 * order to fork, and the call goes on in the child with what it had.
 *
 * No function here takes a lock that start and stop might find taken: what threads share is changed
 * by compare-and-swap.
 *
 * Nothing that stands in a file is used as an offset, a size or an index. All of these, and the
 * pointers that are made of them, are in memory of the process alone. A damaged file thus spoils what
 * is measured, and never the program.
 */
#ifndef RT_INTERNAL_H
#define RT_INTERNAL_H

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include <arm.h>

#include "base.h"
#include "layout.h"

#define NONE UINT32_MAX

/* What a block knows of a transaction. */
struct cell {
	struct seg_cell *record;    /* in the file; NULL: it has not been made yet */
	struct seg_metric *metrics; /* in the file; NULL: there are none yet */
	uint32_t tran;
};

/* A page of a block's directory. */
struct page {
	uint32_t *words; /* the page in the file */
	struct cell cells[PAGE_CELLS];
};

/* A thread's clock: the time was ns when the processor's counter stood at tsc. */
struct clock {
	uint32_t seq;  /* goes up when the rest changes */
	uint32_t busy; /* this thread is changing it; only its signal handlers can see that */
	seg_u64 tsc, ns;
	seg_u64 mult; /* nanoseconds per count, times 2^MULT_SHIFT */
	seg_u64 span; /* the clock is good for this many counts after tsc; 0: it is not set */
	seg_u64 base_tsc, base_ns; /* an earlier reading, to measure mult against */
};

enum block_mode { MODE_NONE, MODE_OWN, MODE_SHARED };

struct block {
	struct process *own; /* the process, if the block belongs to one thread alone; else NOT_OWN */
	uint32_t hint;       /* slot that this thread freed last */
	uint32_t number;     /* of the block */
	struct seg_block *record;
	struct cell *cell;   /* the latest one used */
	struct page **pages; /* DIR_PAGES */
	struct clock clock;
	struct process *process; /* that the block belongs to */
	uint32_t mode;
	uint32_t foreign;    /* slot that another thread freed last */
	uint32_t taken;      /* a thread has it */
	uint32_t first;      /* number of the first of its chunks, plus 1 */
	uint32_t at_chunk;   /* the search for a free slot goes on in this chunk, plus 1, */
	uint32_t at_slot;    /* and from this slot on */
	uint32_t exhausted;  /* no slot was free, and no chunk was left */
} __attribute__((aligned(128)));

enum process_state { PROCESS_NEW, PROCESS_ATTACHING, PROCESS_READY };

/* Where the process's segments are: in files, in memory without files, or on their way to files. */
enum place { IN_FILES, IN_MEMORY, MOVING };

struct process {
	uint32_t state;
	uint32_t place;
	uint32_t adding;      /* how many threads make room, or names; none does while memory becomes files */
	uint32_t has_thread;  /* the library has a thread that makes files when that is possible */
	uint32_t names_moved; /* the names have a file already */
	uint32_t trans_known; /* transactions up to this one have room */
	char *base;           /* the process's own file */
	struct seg_tran *trans;
	struct seg_app *apps;
	struct seg_proc *header;
	struct seg_names *names;
	uint32_t *block_words, *chunk_words; /* the tables of the file */
	int32_t *inits;
	seg_u64 bump, backed; /* as in the header, which readers look at */
	uint32_t block_next, chunk_next;
	struct seg_pair *pairs;   /* NULL: there is no table yet */
	struct seg_event *events; /* NULL: there is no ring yet */
	uint64_t nonce;           /* of the names */
	uint32_t uid;
	uint16_t addr_format, addr_len;
	uint8_t address[24];
	seg_u64 switches_next; /* when the agent's file is to be read again, in monotonic ns */
	struct seg_chunk *chunks[CHUNK_MAX];
	struct seg_ext *exts[CHUNK_MAX];
	uint16_t chunk_owner[CHUNK_MAX];
	uint16_t chunk_after[CHUNK_MAX]; /* next chunk of the same owner, plus 1 */
	uint64_t limit;                  /* of the mapping */
	seg_u64 next_grow; /* not before, in monotonic ns */
	uint32_t traced[TRAN_MAX / 32]; /* a bit for each transaction that the agent asks to be traced */
	seg_u64 base_tsc, base_ns;
	uint64_t random;
	uint32_t tsc_sound;
	uint32_t chunk_first, chunk_low; /* numbers of chunks: the first one, and the next one to take below it */
	uint32_t chunks_full;
	uint32_t registered; /* how many transactions this process has named */
	uint32_t named[TRAN_MAX / 32]; /* a bit for each of them */
	struct block blocks[BLOCK_MAX];
};

/* memory.c: what a child finds zeroed, however it was forked. */
#if defined(__x86_64__) || defined(__i386__)
#define WIPED_LEN 4096
#else
#define WIPED_LEN 65536 /* the longest pages there are */
#endif
union wiped {
	struct {
		struct process *process;
		seg_u64 next_attach; /* not before, in monotonic ns */
	} is;
	char page[WIPED_LEN];
} __attribute__((aligned(WIPED_LEN)));
extern union wiped rt_wiped;
#define rt_process rt_wiped.is.process

extern __thread struct block *rt_me __attribute__((tls_model("initial-exec")));
extern struct block rt_nobody;
/* Neither NULL nor a process. In a child that has no process yet, no block is the thread's own. */
#define NOT_OWN ((struct process *)&rt_nobody)

enum { FILE_MODE = 0640 }; /* the agent reads, by its group */

/* attach.c */
enum invoke { INVOKE_UNKNOWN, INVOKE_ON, INVOKE_OFF };
extern int32_t rt_inits[APP_MAX];
bool rt_off(void);
struct process *rt_attach(bool create);
/* Returns the process if it measures. Tries to attach, but not often. */
struct process *rt_attached(void);

struct process *process_memory(void);
/* Called when the process has begun to measure. */
void process_begun(struct process *p);
/* In a child that has not begun to measure: the parent's process, or NULL if the parent did not
 * measure. */
struct process *process_parent(void);
/* Between these two only handlers of faults run, so no handler forks. */
void signals_off(sigset_t *before);
void signals_back(const sigset_t *before);

/* A directory to open files in, or -1. */
static inline int open_dir(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* names.c: the user's file of names. */
struct names_file {
	struct held fd;
	char *base;
	bool zeroed; /* its maker wrote it all, because the file system cannot allocate */
	bool own;    /* it is memory without a file */
	char name[64];
};
extern struct names_file rt_names_file;
int names_open(struct names_file *f, const char *dir, bool create);
void names_close(struct names_file *f);
bool names_named(const struct names_file *f, const char *dir);
int names_own(struct names_file *f, char *parents);
int names_make(struct names_file *f, int dir, struct new_file *n);
int names_under(struct names_file *f);
int names_publish(struct names_file *f, struct new_file *n);
int names_back(struct names_file *f, const char *dir, uint64_t off, uint64_t len);
#define NAMES_APP_HASH ((uint64_t)sizeof(struct seg_names))
#define NAMES_TRAN_HASH (NAMES_APP_HASH + 4 * APP_HASH_LEN)
#define NAMES_APPS (NAMES_TRAN_HASH + 4 * TRAN_HASH_LEN)
#define NAMES_TRANS (NAMES_APPS + (uint64_t)APP_MAX * sizeof(struct seg_app))
#define NAMES_SIZE (NAMES_TRANS + (uint64_t)TRAN_MAX * sizeof(struct seg_tran))

/* The metrics that arm_getid describes: a bit for each, as in a buffer, and what they are. */
struct described {
	uint32_t flags;
	struct seg_desc of[METRICS + 1];
};

/* lookup.c: numbers of names. 0: there is no room. */
struct key {
	char text[KEY_MAX + 1];
	uint32_t len;
};
uint32_t lookup_app(struct process *p, const struct key *k, const char *name, const char *user);
uint32_t lookup_tran(struct process *p, uint32_t app, const struct key *k, const char *name,
		     const char *detail, const struct described *d);
bool tran_refresh(struct process *p, uint32_t id);
struct seg_app *app_of(struct process *p, int id);

/* key.c */
bool make_key(struct key *k, const char *name);
void login_name(char *to, size_t size);

/* procfile.c: the process's own file. */
struct proc_file {
	struct held fd;
	char *base;
	uint64_t limit;
	char dir[256], name[96]; /* empty while there is no file */
};
extern struct proc_file rt_proc_file;
int proc_create(struct proc_file *f, const char *dir, uint64_t nonce, uint32_t first_chunk);
void proc_remove(struct proc_file *f);
int proc_own(struct proc_file *f, uint64_t nonce, uint32_t first_chunk);
int proc_make(struct proc_file *f, struct process *p, int dir, struct new_file *n);
int proc_under(struct proc_file *f, struct process *p);
int proc_publish(struct proc_file *f, const char *dir, struct new_file *n);
int proc_reopen(struct proc_file *f);
void proc_tables(struct process *p);
void proc_apart(const struct proc_file *f, struct process *p);

/* publish.c: a process that measures before there is a directory. */
bool publish_enter(struct process *p);
void publish_leave(struct process *p);
void publish_wait(struct process *p);
void publish_try(struct process *p);
void publish_later(struct process *p);
void publish_forget(void);

/* room.c: room in the process's file. Offsets; 0: there is none. */
uint64_t room_take(struct process *p, uint64_t len);
void *room_once(struct process *p, void **pointer, seg_u64 *word, uint64_t len);
void show64(seg_u64 *word, seg_u64 *value);
void show32(uint32_t *word, uint32_t *value);
void room_top_up(struct process *p);

/* block.c */
bool block_shared(struct process *p);
/* The calling thread's block, or the shared one. NULL: nothing is to be measured. */
struct block *block_get(void);
struct block *block_attached(void);

/* cell.c */
extern struct cell rt_no_cell;
bool cell_directory(struct block *b);
struct cell *cell_make(struct process *p, struct block *b, uint32_t tran);

/* slots.c: finds and claims a slot other than the hint. */
extern uint32_t rt_chunks_used;
uint32_t slot_search(struct process *p, struct block *b, uint32_t tran);

/* clock.c */
bool clock_tsc_sound(void);
void clock_begin(struct process *p);
uint64_t clock_slow(struct block *b);
uint64_t clock_monotonic(void);

/* switches.c: what the agent asks to be traced. */
void switches_read(struct process *p, uint64_t now);

/* data.c: buffers. What start, update and stop were given, checked. */
struct given {
	const uint8_t *metrics; /* 48 bytes */
	const uint8_t *string;  /* 32 bytes */
	const uint8_t *parent;  /* NULL, or as long as it says */
	const uint8_t *text;
	uint8_t *buffer;        /* the program's buffer at a start, which says whether it has a correlator */
	uint8_t *own;           /* where the program wants a correlator */
	uint32_t parent_len, text_len, own_max;
	uint8_t flags, which;
	bool bad;
};
enum data_call { DATA_START, DATA_UPDATE, DATA_STOP };
void data_parse(struct given *g, enum data_call call, arm_data_t *data, int size);
void data_answer(const struct given *g, const uint8_t *own, uint32_t len);
bool data_describe(struct described *d, const arm_data_t *data, int size);

/* metric.c */
void metrics_given(struct process *p, struct block *b, struct cell *c, uint32_t slot,
		   struct given *g);

/* pair.c: number plus 1, or 0. */
uint32_t pair_find(struct process *p, uint32_t tran, const struct given *g);
void pair_count(struct process *p, uint32_t pair, uint64_t duration, int status);

/* correlator.c */
bool correlator_flags(const struct given *g, uint8_t *flags);
uint32_t correlator_make(struct process *p, const struct given *g, uint8_t flags, uint32_t handle,
			 uint32_t tran, uint8_t out[CORRELATOR_MAX]);

/* event.c */
struct happened {
	uint32_t kind, tran, handle, status;
	uint64_t time, duration;
	const uint8_t *own;
	uint32_t own_len;
};
void event_write(struct process *p, const struct happened *h, const struct given *g);

/* This library's part of each call, apart from the lower library's. */
int rtarm_init(const char *name, const char *user);
int rtarm_getid(int app, const char *name, const char *detail, const arm_data_t *data, int size);
int rtarm_start(int tran, arm_data_t *data, int size);
int rtarm_update(int handle, arm_data_t *data, int size);
int rtarm_stop(int handle, int status, arm_data_t *data, int size);
int rtarm_end(int app);

#endif
