/*
 * A reader may look after any instruction of the writer. So this test runs the writer
 * one instruction at a time, while it adds, deletes and adds again. As long as a slot's
 * seq is even and does not change, the slot's record must not change, nor the new
 * context's data area while the context is active.
 */
#include <sys/ptrace.h>

#include "helpers.h"

enum { ROUNDS = 4 };

static void add_and_delete(int i)
{
	const char *path[] = { "DDS/IBM/Moretest/Bingo", "DDS/IBM/Moretest/another" };
	const char *descr[] = { "a description", "and one that is longer" };
	struct inst *p = (struct inst *)SpmiDdsAddCx(0, path[i % 2], descr[i % 2], i + 1);

	CHECK(p);
	raise(SIGUSR1); /* stores of the program itself are not checked */
	p->a = 1 + i;
	p->b = 47 + i;
	raise(SIGUSR1);
	CHECK(SpmiDdsDelCx((char *)p) == 0);
}

static void writer(int from, int to)
{
	int i;

	(void)from;
	CHECK(guide_init());
	CHECK(SpmiDdsDelCx(SpmiDdsAddCx(0, "DDS/IBM/Moretest/first", "", 0)) == 0);
	CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	tell(to, 'y');
	raise(SIGUSR1);
	for (i = 0; i < ROUNDS; i++)
		add_and_delete(i);
	raise(SIGUSR2);
	_exit(0);
}

/*
 * Returns why the writer stopped: SIGTRAP after a step, or the signal that it sent
 * itself.
 */
static int stopped(struct child *c)
{
	int status;

	CHECK(waitpid(c->pid, &status, 0) == c->pid && WIFSTOPPED(status));
	return WSTOPSIG(status);
}

static bool even(const struct seg_slot *s)
{
	return s->seq % 2 == 0;
}

/* Steps until the writer sends itself a signal. Returns that signal. */
static int look_on(struct child *c, const struct view *v, const struct seg_slot *s, unsigned long *steps)
{
	struct seg_slot was = *s;
	char data[sizeof(struct inst)];
	int sig;

	memcpy(data, v->base + s->data_off, sizeof(data));
	for (;;) {
		CHECK(ptrace(PTRACE_SINGLESTEP, c->pid, NULL, NULL) == 0);
		sig = stopped(c);
		if (sig != SIGTRAP)
			return sig;
		++*steps;
		if (even(s) && even(&was) && s->seq == was.seq) {
			CHECK(memcmp(&was, s, sizeof(was)) == 0);
			CHECK(!s->active || memcmp(data, v->base + s->data_off, sizeof(data)) == 0);
		}
		was = *s;
		memcpy(data, v->base + s->data_off, sizeof(data));
	}
}

/* Lets the writer store values at full speed. */
static void let_store(struct child *c)
{
	CHECK(ptrace(PTRACE_CONT, c->pid, NULL, NULL) == 0);
	CHECK(stopped(c) == SIGUSR1);
}

int main(void)
{
	unsigned long steps = 0;
	struct child c;
	struct view v;
	struct seg_slot *s;
	unsigned seq;

	make_dir();
	c = spawn(writer);
	CHECK(hear(c.from) == 'y' && stopped(&c) == SIGUSR1);
	v = view_segment();
	s = slot_at(&v, 0);
	seq = s->seq;
	while (look_on(&c, &v, s, &steps) == SIGUSR1)
		let_store(&c);
	CHECK(v.h->slots_count == 1 && s->seq == seq + 4 * ROUNDS && steps > 1000);
	CHECK(ptrace(PTRACE_CONT, c.pid, NULL, NULL) == 0 && reap(c) == 0);
	return done();
}
