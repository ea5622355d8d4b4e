/* How a process begins to measure: with its first arm_init, or, if it is a child, with its first call. If
 * there is no directory, it measures in memory, and publish.c turns that memory into files later. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hot.h"

struct names_file rt_names_file;

static const uint64_t retry_ns = 1000000000;

/* For each application, calls of arm_init less calls of arm_end. A child takes them over from its
 * parent. */
int32_t rt_inits[APP_MAX];
static uint64_t inits_nonce; /* of the file of names that rt_inits is about */

static __thread uint32_t attaching __attribute__((tls_model("initial-exec")));

/* Reports whether INVOKE_ARM turns measurement off. It reads the variable once. */
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

/* Opens both files. The agent first takes the name from a file of names and then looks for processes that
 * use it. This process first publishes its own file and then looks at the name. So one of the two sees the
 * other. */
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

/* A child also uses the applications that its parent had begun, except those that have ended meanwhile. */
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

/* Copies the fields of the header that the process needs, because others can write there. */
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

/* Measures in memory. The child of a process that measures in memory has its parent's names. */
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

/* Reports whether there is no directory, or something unusable in the place of the file of names, where any
 * user can put it. The process then measures in memory, and its names get a file of another name. */
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

/* A child must find its parent's names, because it has numbers from there. */
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
	/* In a child these are the parent's descriptors. The parent's mappings stay, because the thread may
	 * be in the middle of a call. */
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

/* Waits while another thread attaches, for two seconds at most. No thread needs that long. */
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

/* Returns the process if it measures, or else NULL. A process that does not measure tries to begin once a
 * second. */
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
