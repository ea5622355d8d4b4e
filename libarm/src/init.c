/* arm_init, arm_getid, arm_end: the calls that may take their time. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "hot.h"

/* Keeps the program's errno and its thread from being cancelled half way. */
struct guard {
	int err, cancel;
};

static void enter(struct guard *g)
{
	g->err = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
}

static int leave(struct guard *g, int answer)
{
	pthread_setcancelstate(g->cancel, &g->cancel);
	errno = g->err;
	return answer;
}

static bool text_fits(const char *text)
{
	return !text || bounded_len(text, NAME_MAX_LEN + 1) <= NAME_MAX_LEN;
}

/* Counts calls of arm_init less calls of arm_end. The agent needs that number when the process has
 * died. */
static void note(struct process *p, uint32_t app, int32_t by)
{
	add(&p->inits[app - 1], by);
	add(&rt_inits[app - 1], by);
}

/* The lower half counts users, the upper half how often it went from 0 to 1. */
static void use_begin(struct seg_app *a)
{
	uint64_t old = load(&a->use);

	while (!cas(&a->use, &old, old + 1 + ((uint32_t)old ? 0 : UINT64_C(1) << 32)))
		;
}

static bool use_end(struct seg_app *a)
{
	uint64_t old = load(&a->use);

	do {
		if (!(uint32_t)old)
			return false;
	} while (!cas(&a->use, &old, old - 1));
	return true;
}

static int init(const char *name, const char *user)
{
	struct process *p;
	struct key k;
	char login[NAME_MAX_LEN + 1];
	uint32_t app;

	if (!make_key(&k, name) || !text_fits(user) || !(p = rt_attach(true)))
		return -1;
	if (user && strcmp(user, "*") == 0) {
		login_name(login, sizeof(login));
		user = login;
	}
	if (!(app = lookup_app(p, &k, name, user)))
		return -1;
	use_begin(&p->apps[app - 1]);
	note(p, app, 1);
	publish_later(p);
	proc_reopen(&rt_proc_file);
	room_top_up(p);
	return (int)app;
}

int rtarm_init(const char *name, const char *user)
{
	struct guard g;

	if (rt_off())
		return 0;
	enter(&g);
	return leave(&g, init(name, user));
}

/* Reports whether the process names the transaction for the first time. A program may name it at each
 * start. */
static bool named_first(struct process *p, uint32_t i)
{
	uint32_t bit = 1u << i % 32;

	return !(__atomic_fetch_or(&p->named[i / 32], bit, __ATOMIC_RELAXED) & bit);
}

static int getid(int app, const char *name, const char *detail, const arm_data_t *data, int size)
{
	struct process *p;
	struct seg_app *a;
	struct described d;
	struct key k;
	uint64_t use;
	uint32_t tran;
	bool good;

	if (!make_key(&k, name) || !text_fits(detail) || !(p = rt_attached()) || !(a = app_of(p, app)))
		return -1;
	use = load(&a->use);
	good = data_describe(&d, data, size);
	if (!(uint32_t)use || !(tran = lookup_tran(p, (uint32_t)app, &k, name, detail, &d)))
		return -1;
	store(&p->trans[tran - 1].epoch, (uint32_t)(use >> 32));
	if (!good)
		add(&p->header->bad_data, 1);
	if (named_first(p, tran - 1))
		add(&p->registered, 1);
	publish_later(p);
	proc_reopen(&rt_proc_file);
	room_top_up(p);
	return (int)tran;
}

int rtarm_getid(int app, const char *name, const char *detail, const arm_data_t *data, int size)
{
	struct guard g;

	if (rt_off() || app == 0)
		return 0;
	if (app < 0)
		return -1;
	enter(&g);
	return leave(&g, getid(app, name, detail, data, size));
}

static int end(int app)
{
	struct process *p = rt_attached();
	struct seg_app *a = p ? app_of(p, app) : NULL;

	if (!a || !(uint32_t)load(&a->use))
		return -1;
	note(p, (uint32_t)app, -1);
	if (use_end(a))
		return 0;
	note(p, (uint32_t)app, 1);
	return -1;
}

int rtarm_end(int app)
{
	struct guard g;

	if (rt_off() || app == 0)
		return 0;
	if (app < 0)
		return -1;
	enter(&g);
	return leave(&g, end(app));
}
