/*
 * What the files of the reading half share. The reading half has its own lock, in read_lock.c.
 * All of its functions are called with that lock held, except where it says otherwise.
 *
 * The contexts form a tree of nodes. A node's context may be a line of the table of contexts
 * (struct class), a supplier's context, or part of the name of a PCP metric. Statistics belong
 * to a class, whose contexts share them, or to one node.
 */
#ifndef SPMI_READER_H
#define SPMI_READER_H

#include <sys/time.h>

#include "internal.h"
#include "pcp.h"

/* read_lock.c: returns 0, or SiLocked or SiNotInit with the error set. */
struct read_entry {
	int err;
	int cancel;
};
int read_enter(struct read_entry *st);
void read_leave(struct read_entry *st);
bool read_try_exit(void); /* for SpmiExit: whether no thread is inside */
void read_exit_done(void);

/* pool.c: zeroed memory from an arena that can be given back piece by piece. */
#define POOL_CLASSES 40
struct pool {
	struct arena arena;
	void *free[POOL_CLASSES];
};
void *pool_alloc(struct pool *p, size_t len); /* NULL with the error set if there is no memory */
void pool_free(struct pool *p, void *at, size_t len);
char *pool_text(struct pool *p, const char *text, size_t len);

/* What the table finds by number: the handles and structures that programs hold. */
enum { KIND_CX = 16, KIND_STAT, KIND_NAME, KIND_METRIC, KIND_SET, KIND_VALS,
       KIND_HOTSET, KIND_HOT, KIND_PEER, KIND_CLASS };

struct metric {
	struct entry by_name;
	char *name;       /* the name in PCP */
	char *expression; /* of a derived metric, or NULL */
	unsigned int pmid, indom;
	int type, sem;
	char where[64];   /* file and line of an expression */
	int status;       /* 0, or libpcp's error code if it is not there */
	uint32_t gen;     /* of the connection that all this was read from */
	bool listed;      /* it is in the list of the suppliers' metrics */
	uint32_t stamp;   /* scratch for code that collects metrics */
	int index;
};

struct stat {
	struct SpmiStat pub;
	struct SpmiStatLink link;
	struct entry by_handle;
	struct stat *next;
	struct metric *metric;
	double scale;
	int inst;       /* PCP_NO_INST: the instance is that of the context */
	bool gone;      /* a node's own statistic that is not there any more */
	uint32_t mark;
};

enum naming { NAME_WHOLE, NAME_WORD }; /* of instances: as they are, or up to the first blank */

struct class { /* a line of the table of contexts, with the lines of its statistics */
	struct entry by_path;
	struct class *parent, *child, *next;
	char *path;
	const char *name; /* the last part of the path */
	char description[SI_MAXLNAME];
	unsigned short asnno;
	enum SiInstFreq freq;
	bool star;        /* instances of a metric's domain */
	enum naming naming;
	struct metric *metric; /* whose instances these are; NULL: the instances of the class below, grouped */
	struct stat *stats;
};

enum origin { FROM_CLASS, FROM_DDS, FROM_PCP };

struct node {
	struct SpmiCx pub;
	struct SpmiCxLink link;
	struct entry by_handle, by_name;
	struct node *parent, *child, *last, *next;
	struct node *younger, *older; /* neighbours in the list of deleted nodes */
	enum origin origin;
	struct class *class;
	struct stat *stats; /* its own, if it has no class */
	char *path;         /* FROM_PCP: the metric's name so far */
	struct metric *metric; /* FROM_PCP: its instances are the statistics */
	int inst;
	int refs;           /* number of sets that use it */
	uint32_t mark;
	uint32_t gen;       /* the connection that its subcontexts were read from */
	int64_t when;       /* when they were last asked for, in ms */
};

struct reading {
	bool is;
	uint32_t gen; /* of the connection */
	bool whole; /* the value is an integer, in l; otherwise it is in d */
	int64_t l;
	double d;
	struct timespec at;
};

struct set { /* of either kind */
	struct entry by_set;
	struct set *next, *prev;
	bool hot;
	struct SpmiStatSet pub; /* SpmiHotSet has the same layout */
	struct { int64_t t[4]; } wide; /* the same for programs with a wider time */
	struct vals *vals;  /* the last one added comes first */
	struct hot *hots;   /* the first one added comes first */
	struct timespec time;
	uint32_t force;     /* the last forced reading that this set has followed */
	bool read, changed; /* changed: it has statistics that were never read */
	uint32_t version;   /* of the list of vals; no two sets share a number */
};

struct vals {
	struct SpmiStatVals pub;
	struct entry by_pub;
	struct vals *next;
	struct set *set;
	struct node *node;
	struct stat *stat;
	struct reading now;
	bool has_rate;
	double rate; /* of a counter, per second */
	uint32_t in_profile; /* scratch */
	int hint;
};

struct peer { /* a subcontext of a hotset's grandparent */
	struct peer *next;
	struct node *node;
	struct stat *stat;
	struct reading now;
	bool has_rate;
	double change;
	double value; /* what is compared: a level, or a rate per second */
	int hint;
};

struct hot {
	struct SpmiHotVals pub;
	struct entry by_pub;
	struct hot *next;
	struct set *set;
	struct node *node;  /* the grandparent */
	char name[SI_MAXNAME];
	bool group;         /* it stands for a set of peers below each subcontext of the grandparent */
	struct hot *owner;  /* the group that it belongs to, or NULL */
	struct peer *peers; /* in the order of the subcontexts */
	int room;           /* number of items and values that fit */
	float *values;
	struct peer **order;
};

struct reader {
	struct pool pool;
	struct table table;
	const struct pcp *pcp;
	struct class *classes; /* that of Top */
	struct node *top;
	struct node *oldest, *youngest; /* in the list of deleted nodes */
	int deleted;
	struct dds_stat *dds; /* the statistics of suppliers; see read_dds.c */
	struct set *sets;
	char *path; /* the path that SpmiStatGetPath returned last */
	size_t path_len;
	char refused[160]; /* the first line of the table that was refused, with the reason */
	uint32_t force, mark, stamp, versions;
	bool up;
};
extern struct reader reader;

/* read_calls.c, hot_calls.c: what programs call. */
int reader_ready(void);
int reader_ready_to_ask(void);
void *set_create(bool hot, bool wide);
int set_end(const void *pub, bool hot);
void reader_end(void);

/* source.c: the connection to pmcd, or the archive. */
int source_open(void);
void source_leave(void);
void source_park(void);
void source_forget(void);
uint32_t source_gen(void); /* changes with each connection; 0: there is none */
bool source_broken(int code);
struct metric *metric_get(const char *name, size_t len, const char *expression);
bool metric_ready(struct metric *m);
int source_instances(unsigned int indom, int **insts, char ***names);
int source_instance(unsigned int indom, const char *name);
struct pcp_result *source_fetch(unsigned int *pmids, int n);
void profile_all(void);
bool profile_is(const struct set *s);
void profile_begin(const struct set *s);
void profile_add(unsigned int indom, int count, int *insts);
struct timespec result_time(const struct pcp_result *r);
bool value_read(const struct metric *m, const struct pcp_result *r, int inst, int *hint, struct reading *to);

/* classes.c: the table of contexts */
int classes_load(void);

/* tree.c */
struct node *node_of(SpmiCxHdl handle); /* NULL is Top; returns NULL with the error set */
struct node *node_of_link(const struct SpmiCxLink *link);
struct stat *stat_of(SpmiStatHdl handle);
struct stat *stat_of_link(const struct SpmiStatLink *link);
void register_object(struct entry *e, int kind, void *object);
void *object_of(int kind, const void *candidate);
int tree_begin(void);
int instantiate(struct node *n, bool always);
void refresh(struct node *n);
struct node *node_find(const struct node *parent, const char *name, size_t len);
struct node *node_ensure(struct node *parent, const char *name, int inst);
struct node *node_path(struct node *from, const char *path);
struct node *node_first(const struct node *n);
struct node *node_next(const struct node *n);
void node_sweep(struct node *n, uint32_t mark);
bool node_is(const struct node *n); /* whether it is there */
struct stat *node_stats(struct node *n);
struct stat *stat_first(struct stat *s); /* returns s, or the next one that is there */
struct stat *node_stat(struct node *n, const char *name);
int stat_path(struct node *from, const char *path, struct node **node, struct stat **stat);
struct stat *stat_new(const char *name, struct metric *m);
struct stat *stat_ensure(struct node *n, const char *name, struct metric *m, unsigned short asn);
bool is_group(const struct class *c);
void stat_sweep(struct node *n, uint32_t mark);
int64_t clock_ms(void);
void copy_text(char *to, size_t size, const char *from, size_t len);
bool stat_is(struct stat *s);

/* read_dds.c: the contexts of suppliers. */
int dds_instantiate(struct node *dds);

/* sets.c; hotsets.c */
struct set *set_new(bool hot);
struct set *set_of(const void *pub, bool hot);
void *set_pub(struct set *s, bool wide);
void set_free(struct set *s);
bool set_stale(struct set *s, bool force);
void set_time(struct set *s, const struct timespec *at);
struct timespec now_time(void);
struct vals *vals_of(struct set *s, const void *pub);
struct vals *vals_add(struct set *s, struct node *n, struct stat *st);
void vals_remove(struct set *s, struct vals *v);
void set_read(struct set *s);
struct wanted { /* the metrics of one fetch */
	unsigned int *pmids;
	int count, room;
};
bool want(struct wanted *w, struct metric *m);
void want_free(struct wanted *w);
bool take_reading(const struct stat *st, const struct reading *old, const struct reading *new, double *change,
		  double *rate);
void show_value(const struct stat *st, const struct reading *r, union Value *val);
void show_change(const struct stat *st, double change, union Value *to);
struct hot *hot_of(struct set *s, const void *pub);
struct hot *hot_add(struct set *s, struct node *n, const char *name, const struct SpmiHotVals *arguments);
int hot_check(const struct SpmiHotVals *arguments, int maxresp, int frequency, int severity, int trap_no);
void hot_free(struct set *s, struct hot *h);
void hot_read(struct set *s);
struct hot *hot_shown(struct hot *h); /* returns h, or the next one that programs may see */

#endif
