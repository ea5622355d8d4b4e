/* How a process begins to measure: with its first arm_init, or, if it is a child, with its first call. Where
 * there is no directory it measures in memory, and publish.c makes files of that later. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hot.h"

struct names_file rt_names_file;

static const uint64_t retry_ns = 1000000000;

/* How far each arm_init is ahead of arm_end: a child takes over what its parent had begun. */
int32_t rt_inits[APP_MAX];
static uint64_t inits_nonce; /* of the file of names that they are about */

static __thread uint32_t attaching __attribute__((tls_model("initial-exec")));

/* INVOKE_ARM is looked at once. */
bool rt_off(void)
{
	static uint32_t invoke;
	uint32_t now = load(&invoke);
	const char *value;

	if (now == INVOKE_UNKNOWN) {
		value = getenv("INVOKE_ARM");
		now = value && strcmp(value, "false") == 0 ? INVOKE_OFF : INVOKE_ON;
		store(&invoke, now);
	}
	return now == INVOKE_OFF;
}

static void pause_ms(int ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

/* Opens both files. The agent may be about to remove a file of names without users: it takes the name
 * from it and looks for users after that. Here the process becomes a user, and the name is looked at
 * after that. So one of the two sees the other. */
static int open_files(const char *dir, bool create)
{
	struct seg_names *n;
	int tries, err;

	for (tries = 0; tries < 5; tries++) {
		if ((err = names_open(&rt_names_file, dir, create)))
			return err;
		n = (struct seg_names *)rt_names_file.base;
		err = proc_create(&rt_proc_file, dir, n->nonce, rt_chunks_used % CHUNK_MAX);
		if (!err && names_named(&rt_names_file, dir))
			return 0;
		if (!err)
			proc_remove(&rt_proc_file);
		names_close(&rt_names_file);
		if (err)
			return err;
		pause_ms(4);
	}
	return EAGAIN;
}

/* What the parent had begun is the child's, too, where it has not ended meanwhile. */
static void inherit(struct process *p)
{
	uint32_t i;

	if (inits_nonce != p->nonce)
		memset(rt_inits, 0, sizeof(rt_inits));
	inits_nonce = p->nonce;
	for (i = 0; i < APP_MAX; i++) {
		int32_t n = rt_inits[i];
		uint64_t use = n > 0 ? load(&p->apps[i].use) : 0;

		while ((uint32_t)use && !cas(&p->apps[i].use, &use, use + (uint32_t)n))
			;
		if (n > 0)
			rt_inits[i] = (uint32_t)use ? n : 0;
		store(&p->inits[i], rt_inits[i]);
	}
}

/* Copies what the process needs of the header: others can write there. */
static void take_names(struct process *p)
{
	struct seg_names *n = (struct seg_names *)rt_names_file.base;

	p->names = n;
	p->apps = (struct seg_app *)(rt_names_file.base + NAMES_APPS);
	p->trans = (struct seg_tran *)(rt_names_file.base + NAMES_TRANS);
	p->uid = geteuid();
	p->nonce = load(&n->nonce);
	p->addr_format = load(&n->addr_format);
	p->addr_len = load(&n->addr_len);
	if (p->addr_len > sizeof(p->address))
		p->addr_len = 0;
	memcpy(p->address, n->address, sizeof(p->address));
}

/* Measures in memory. A child of a process that does so has its parent's names. */
static bool in_memory(struct process *p, struct process *parent)
{
	if (names_own(&rt_names_file, parent ? (char *)parent->names : NULL))
		return false;
	if (proc_own(&rt_proc_file, ((struct seg_names *)rt_names_file.base)->nonce, rt_chunks_used % CHUNK_MAX))
		return false;
	if (parent)
		inits_nonce = ((struct seg_names *)rt_names_file.base)->nonce;
	store(&p->place, IN_MEMORY);
	return true;
}

/* There is no directory, or something that the process cannot use has the name of the user's names, where
 * any user can put it. Names in memory get a file of another name. */
static bool no_place(int err)
{
	switch (err) {
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EPERM: /* another user's, or too short */
	case ELOOP:
	case EISDIR:
	case ENXIO:
	case EPROTO: /* of another version */
		return true;
	}
	return false;
}

/* A child must find its parent's names, since it has numbers of them. */
static bool begin(struct process *p, bool create)
{
	struct process *parent = process_parent();
	int err;

	if (parent && load(&parent->place) == IN_MEMORY)
		return !parent->names_moved && in_memory(p, parent);
	err = open_files(file_dir("RTIME_ARM_DIR", "/run/rtime/arm"), create);
	return !err || (create && !parent && no_place(err) && in_memory(p, NULL));
}

static bool attach(struct process *p, bool create)
{
	/* The parent's descriptors. Its mappings stay, as a thread may be in the middle of a call. */
	let_go(&rt_names_file.fd);
	let_go(&rt_proc_file.fd);
	if (!begin(p, create))
		return false;
	p->base = rt_proc_file.base;
	p->limit = rt_proc_file.limit;
	p->header = (struct seg_proc *)p->base;
	proc_tables(p);
	take_names(p);
	p->chunk_first = p->chunk_next = rt_chunks_used % CHUNK_MAX;
	p->random = random_u64();
	clock_begin(p);
	block_shared(p);
	inherit(p);
	tran_refresh(p, 0);
	switches_read(p, clock_monotonic());
	return true;
}

/* Waits for another thread that is doing this, at most two seconds. No thread needs that long. */
static struct process *attach_wait(struct process *p)
{
	const struct timespec pause = { 0, 100000 };
	int tries;

	for (tries = 0; tries < 20000 && load_acquire(&p->state) == PROCESS_ATTACHING; tries++)
		nanosleep(&pause, NULL);
	return load_acquire(&p->state) == PROCESS_READY ? p : NULL;
}

/* Returns NULL if the process cannot measure. Creates a file of names only if create is true. */
struct process *rt_attach(bool create)
{
	struct process *p = process_memory();
	uint32_t state = PROCESS_NEW;
	pid_t pid = getpid();
	sigset_t before;
	bool done;

	if (!p || load_acquire(&p->state) == PROCESS_READY)
		return p;
	signals_off(&before);
	if (!cas(&p->state, &state, PROCESS_ATTACHING)) {
		signals_back(&before);
		if (state == PROCESS_READY)
			return p;
		return attaching ? NULL : attach_wait(p);
	}
	attaching = 1;
	done = attach(p, create) && pid == getpid();
	if (done)
		process_begun(p);
	store_release(&p->state, done ? PROCESS_READY : PROCESS_NEW);
	attaching = 0;
	signals_back(&before);
	return done ? p : NULL;
}

/* The process, if it measures. Where it does not it tries once a second. */
struct process *rt_attached(void)
{
	struct process *p = load_acquire(&rt_process);
	uint64_t now;
	int state;

	if (p && load_acquire(&p->state) == PROCESS_READY)
		return p;
	now = clock_monotonic();
	if (now < load(&rt_wiped.is.next_attach))
		return NULL;
	store(&rt_wiped.is.next_attach, now + retry_ns);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	p = rt_attach(false);
	pthread_setcancelstate(state, &state);
	return p;
}
