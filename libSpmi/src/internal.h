/*
 * What the files of the library share. Each group of declarations belongs to one file.
 * All functions are called with the lock held, except where it says otherwise.
 *
 * The library's own memory comes from arena.c, never from malloc, because SpmiExit may
 * run in a signal handler that has interrupted malloc.
 */
#ifndef SPMI_INTERNAL_H
#define SPMI_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sys/Spmidef.h>

#include "base.h"
#include "layout.h"

/* error.c: SpmiErrno and SpmiErrmsg. Any thread. */
int spmi_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
int spmi_fail_errno(const char *what, int err);
void spmi_ok(void);
int spmi_error_code(int err);
void spmi_set_silent(bool on);
uintptr_t spmi_collect(uintptr_t thread); /* 0: no thread; returns the thread before */
void spmi_show_collected(void);
int spmi_collected(void);

/*
 * lock.c: one lock for the library. spmi_enter returns 0, or SiLocked with the error
 * set. It keeps the program's errno. A thread cannot be cancelled while it is inside,
 * because it would keep the lock.
 */
struct entry_state {
	int err;
	int cancel;
};
int spmi_enter(struct entry_state *st);
bool spmi_enter_late(struct entry_state *st);
void spmi_leave(struct entry_state *st);
bool spmi_enter_to_exit(struct entry_state *st);
bool spmi_enter_update(struct entry_state *st);
void spmi_leave_unlocked(struct entry_state *st);

/* arena.c: memory that is zeroed, never moves, and is given back all at once. */
struct arena {
	struct arena_chunk *chunks;
};
void *arena_alloc(struct arena *a, size_t len);
void arena_free(struct arena *a);

/* names.c: what may be a path, a name, a description. Any thread. */
int check_path(const char *path, size_t len);
int check_name(const char *name, size_t len);
size_t parent_len(const char *path, size_t len);
bool shared_path(const char *path, size_t len);

/* table.c: a hash table. An insertion never costs more than a few steps. */
enum key_kind { KEY_PATH, KEY_PATH_ASN, KEY_STAT, KEY_STAT_ASN, KEY_AREA };

struct key {
	const char *text; /* must live as long as the entry */
	size_t len;
	uint64_t number;
	enum key_kind kind;
};

struct entry {
	struct key key;
	struct entry *next;
	uint64_t hash;
	void *owner;
};

#define TABLE_DIRS 28
struct table {
	struct arena *arena;
	struct entry **dir[TABLE_DIRS];
	uint64_t seed;
	uint32_t buckets;
	uint32_t entries;
};
int table_init(struct table *t, struct arena *a, uint64_t seed);
struct entry *table_find(const struct table *t, const struct key *k);
void table_add(struct table *t, struct entry *e, void *owner);
void table_remove(struct table *t, struct entry *e);

/* directory.c: where segments and claims lie, and the descriptors that stay open. */
struct place {
	struct held dir, claims, file;
	uid_t uid;      /* owner of these claims; the process may become another user */
	char name[96]; /* name of the segment in the directory */
};
int places_open(struct place *p);
void places_close(struct place *p);

/* claims.c: a path belongs to one living supplier. */
int claims_open(struct place *p);
int claims_take(struct place *p, const char **paths, size_t n);
void claims_drop(struct place *p, const char *path);
int claims_taken(struct place *p, const char *path, bool *taken);

/* segment.c: the file, its mapping and its growth. */
struct region {
	uint64_t at, end;
};

struct segment {
	char *base;
	uint64_t limit; /* of the reserved address space */
	uint64_t end;   /* of the used part of the file */
	struct seg_header *header;
	struct region data;  /* where the next volatile data areas go */
	uint32_t blocks;     /* of slots, so far */
	uint64_t guard;      /* a page that does not accept stores; 0: there is none */
	bool own;            /* the segment is private memory of this process, without a file */
};
int segment_create(struct segment *s, struct place *p);
int segment_own(struct segment *s);
int segment_to_file(struct segment *s, struct place *p);
bool segment_is_own(void);
int segment_extend(struct segment *s, struct place *p, uint64_t end);
int segment_guard(struct segment *s, struct place *p);
int segment_publish(struct segment *s, struct place *p);
void segment_withdraw(const struct segment *s, const struct place *p);
void segment_remove(const struct place *p);
void segment_detach(struct segment *s);
void segment_trim(void);
void segment_disown(void);
char *segment_range(uint64_t *end);
uint64_t page_size(void);
int segment_data(struct segment *s, struct place *p, uint64_t len, uint64_t *off);
int segment_slot(struct segment *s, struct place *p, uint32_t n, struct seg_slot **slot);
struct seg_slot *segment_slot_at(const struct segment *s, uint32_t n);

/* supplier.c: all that the process knows about itself as a supplier. */
struct cx { /* a context that exists or, if volatile, has existed */
	struct entry by_path, by_asn, by_area;
	struct cx *next_free;
	struct seg_slot *slot; /* NULL for a fixed context */
	uint32_t number;       /* of the slot */
	uint32_t record;       /* of the context, or of the template */
	uint32_t seq;
	uint32_t children;     /* subcontexts of this supplier; of a volatile context, all subcontexts */
	uint64_t data_off;
	bool active;
	bool claimed;
	char path[SI_MAXLNAME];
};

struct raw { /* a statistic */
	struct entry by_name, by_asn;
	uint32_t asn;
	char name[SI_MAXNAME];
};

struct record { /* a context's record in the segment */
	uint32_t first_stat, stat_count, data_len;
	struct cx *free; /* deleted contexts of this template, for reuse */
	const cx_create *source; /* the program's table, during SpmiDdsInit */
};

struct supplier {
	struct arena arena;
	struct table table;
	struct place place;
	struct segment segment;
	struct record *records; /* those of fixed contexts first, then the templates */
	struct raw *stats;      /* names and numbers, in the order of the records */
	struct cx *contexts;    /* the fixed ones */
	uint32_t fixed, inst;   /* how many records there are of each */
	uint32_t stats_count;
	uint32_t slots_count;
	uint32_t changes;
	uint32_t area_len;
	uint64_t area_off, contexts_off, stats_off;
	SpmiShare *share;
	bool published;
	bool told; /* the agent's notice is in the control area */
};

/* A call of SpmiDdsInit. */
struct request {
	const cx_create *fixed;
	uint32_t fixed_count;
	const cx_create *inst;
	uint32_t inst_count;
	const char *file;
	uint32_t timeout; /* as in the segment's header */
	bool time64; /* the program's struct timeval is wider than ours */
};

/* request.c: the arguments and the file of a call. */
int request_check(const struct request *r, int fixed_count, int inst_count);

/* tables.c: the program's tables, checked and entered. Fills in all but offsets. */
int tables_check(struct supplier *s, const struct request *r);
int tables_parents(struct supplier *s);
int tables_claim(struct supplier *s);

/* image.c: the segment's fixed part. */
int image_write(struct supplier *s, const struct request *r);

/* share.c: the control area; share64.c: the same for programs with a wider time. */
uint64_t share_size(void);
SpmiShare *share_write(const struct supplier *s, const struct request *r);
uint64_t share64_size(void);
SpmiShare *share64_write(const struct supplier *s, const struct request *r);

/* update.c: updates of several values. */
struct area_head { /* before each data area */
	seg_i64 to_word; /* from the area */
	uint32_t words;
};
void update_head(char *base, uint64_t data_off, uint64_t word_off, uint32_t words);

/* contexts.c: contexts that come and go. */
char *context_add(struct supplier *s, uint32_t ix, const char *path, const char *descr, uint32_t asn);
int context_del(struct supplier *s, char *area);
int context_enter(struct supplier *s, struct cx *c, size_t len, uint32_t asn);
int context_clashes(struct supplier *s, const struct cx *c, size_t len, uint32_t asn);
struct cx *context_find(const struct supplier *s, const char *path, size_t len);
int context_parent(struct supplier *s, const char *path, size_t len);

/* notice.c: what the agent tells the supplier. */
bool notice_map(const struct supplier *s);

/* publish.c: work that could not be done at once. */
void publish_begin(void);
void publish_wait(void);
void publish_forget(void);

#endif
