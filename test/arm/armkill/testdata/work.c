/* What is killed: processes whose threads start, update and stop, with data and without. */
#include <arm.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "kill.h"
#include "work.h"

/* Data of all kinds: a parent, an own correlator, a trace, a metric. */
void fill(arm_data1_t *d, int parent)
{
	memset(d, 0, sizeof(*d));
	d->format = ARM_FORMAT_DATA;
	d->flags[0] = ARM_CORRELATOR_WANTED | ARM_TRACE_WANTED;
	d->flags[1] = ARM_METRIC_GIVEN(0);
	d->metric[0].counter64 = 7;
	if (parent) { /* of another host: 10.0.0.1 */
		static const unsigned char p[] = { 0, 26, 1, 0, 0, 1, 0, 1, 0, 2, 0,  3, 0,
						   0, 0,  9, 0, 0, 0, 5, 0, 4, 10, 0, 0, 1 };

		d->flags[0] |= ARM_PARENT_GIVEN;
		memcpy(&d->correlator, p, sizeof(p));
	}
}

int start(struct victim *v, struct note *n, arm_data1_t *d)
{
	int h;

	NOTE(n->begun);
	h = arm_start((int)v->tran, 0, (arm_data_t *)d, d ? (int)sizeof(*d) : 0);
	NOTE(n->started);
	RIGHT(v, h > 0);
	return h;
}

void update(struct victim *v, struct note *n, int h, arm_data1_t *d)
{
	int answer;

	NOTE(n->update_begun);
	answer = arm_update(h, 0, (arm_data_t *)d, d ? (int)sizeof(*d) : 0);
	NOTE(n->updated);
	RIGHT(v, answer == 0);
}

void stop(struct victim *v, struct note *n, int h, int status, arm_data1_t *d)
{
	int answer;

	NOTE(n->stop_begun[status]);
	answer = arm_stop(h, status, 0, (arm_data_t *)d, d ? (int)sizeof(*d) : 0);
	NOTE(n->stopped[status]);
	RIGHT(v, answer == 0);
}

/* A transaction with the metric that all of them have. */
int with_sevens(int app, const char *name)
{
	arm_data101_t meta;

	memset(&meta, 0, sizeof(meta));
	meta.format = ARM_FORMAT_META;
	meta.flags[1] = ARM_METRIC_GIVEN(0);
	meta.metric[0].type = ARM_Counter64;
	strcpy(meta.metric[0].name, "sevens");
	return arm_getid(app, name, NULL, 0, (arm_data_t *)&meta, sizeof(meta));
}

/* The i-th victim has a transaction of its own. */
void registers(int i)
{
	struct victim *v = &victims[i];
	char name[16];
	int app, tran;

	RIGHT(v, (app = arm_init("Kill", "*", 0, NULL, 0)) > 0);
	v->app = (uint64_t)app;
	snprintf(name, sizeof(name), i == WITNESS ? "witness" : "t%d", i);
	RIGHT(v, (tran = with_sevens(app, name)) > 0);
	v->tran = (uint64_t)tran;
}

struct thread {
	struct victim *v;
	struct note *n;
	uint32_t seed;
};

static int handed; /* from thread to thread */

static void *toil(void *arg)
{
	struct thread *t = arg;
	int held[8] = { 0 }, *h;
	arm_data1_t data, *d;

	for (;;) {
		h = &held[draw(&t->seed) % 8];
		if (draw(&t->seed) % 16 == 0)
			*h = __atomic_exchange_n(&handed, *h, __ATOMIC_ACQ_REL);
		d = draw(&t->seed) % 8 == 0 ? &data : NULL;
		if (d)
			fill(d, (int)(draw(&t->seed) % 2));
		if (*h == 0) {
			*h = start(t->v, t->n, d);
		} else if (draw(&t->seed) % 8 == 0) {
			update(t->v, t->n, *h, d);
		} else {
			uint32_t luck = draw(&t->seed) % 8;

			stop(t->v, t->n, *h, luck < 6 ? ARM_GOOD : luck < 7 ? ARM_ABORT : ARM_FAILED, d);
			*h = 0;
		}
	}
	return NULL;
}

void works(int i, uint32_t seed)
{
	struct thread t[THREADS];
	pthread_t id;
	int k, threads = 1 + (int)(draw(&seed) % THREADS);

	registers(i);
	for (k = 0; k < threads; k++)
		t[k] = (struct thread){ &victims[i], &victims[i].thread[k], draw(&seed) };
	for (k = 1; k < threads; k++)
		MUST(pthread_create(&id, NULL, toil, &t[k]) == 0);
	toil(&t[0]);
}

/* Counts all the time, whatever happens to the others, until the pipe is closed. */
void witness(int until)
{
	struct pollfd p = { .fd = until };
	struct victim *v = &victims[WITNESS];
	int h;

	registers(WITNESS);
	while (poll(&p, 1, 1) == 0) {
		h = start(v, &v->thread[0], NULL);
		stop(v, &v->thread[0], h, ARM_GOOD, NULL);
	}
	RIGHT(v, arm_end((int)v->app, 0, NULL, 0) == 0);
	_exit(0);
}
