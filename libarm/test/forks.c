/* Processes: a child counts apart and knows none of its parent's handles; names are common. */
#include <sched.h>

#include "seen.h"

static int app, tran, handle, gate[2];

static void wait_for_child(pid_t pid)
{
	reap(pid);
}

static void child_counts(void)
{
	int i, h;

	CHECK_EQ(finish(handle), -1);
	CHECK_EQ(arm_update(handle, 0, NULL, 0), -1);
	for (i = 0; i < 1000; i++) {
		CHECK((h = begin(tran)) > 0);
		CHECK(h != handle);
		CHECK_EQ(finish(h), 0);
	}
	CHECK_EQ(finish(handle), -1);
	CHECK_EQ(seen(getpid(), tran).count, 1000);
}

static void apart(void)
{
	uint64_t before;

	CHECK((handle = begin(tran)) > 0);
	before = seen(getpid(), tran).count;
	in_child(child_counts);
	CHECK_EQ(seen(getpid(), tran).count, before);
	CHECK_EQ(finish(handle), 0);
}

static void grandchild(void)
{
	child_counts();
	in_child(child_counts);
	CHECK_EQ(seen(getpid(), tran).count, 1000);
}

/* A child that was made by clone, without the C library. */
static void cloned(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0) {
		CHECK_EQ(finish(handle), -1);
		CHECK_EQ(finish(begin(tran)), 0);
		_exit(0);
	}
	wait_for_child(pid);
}

/* Forks while other threads of the parent are in calls. */
static int stop_working;

static void *works(void *unused)
{
	while (!__atomic_load_n(&stop_working, __ATOMIC_RELAXED))
		finish(begin(tran));
	return unused;
}

static void among_threads(void)
{
	pthread_t t[2];
	int i;

	for (i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, works, NULL) == 0);
	for (i = 0; i < 40; i++)
		in_child(child_counts);
	__atomic_store_n(&stop_working, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static uint32_t users(void)
{
	struct segment s = open_names();
	uint32_t n = (uint32_t)app_at(&s, app)->use;

	close_segment(&s);
	return n;
}

/* A child that measures is a user of its parent's applications, because the parent may end. */
static void child_uses(void)
{
	struct segment s;

	CHECK_EQ(users(), 1);
	CHECK_EQ(finish(begin(tran)), 0);
	CHECK_EQ(users(), 2);
	s = open_proc(getpid());
	CHECK_EQ(((int32_t *)(s.base + proc_of(&s)->inits_off))[app - 1], 1);
	CHECK_EQ(arm_end(app, 0, NULL, 0), 0);
	CHECK_EQ(((int32_t *)(s.base + proc_of(&s)->inits_off))[app - 1], 0);
	CHECK_EQ(users(), 1);
}

static void uses(void)
{
	in_child(child_uses);
	CHECK_EQ(users(), 1);
	CHECK_EQ(finish(begin(tran)), 0);
}

/* Another program of the user gets the same numbers, and may use them without having asked. */
static int other_program(int argc, char **argv)
{
	int want_app = atoi(argv[2]), want_tran = atoi(argv[3]);

	CHECK_EQ(argc, 4);
	CHECK_EQ(finish(begin(want_tran)), 0);
	CHECK_EQ(arm_init("us ers", NULL, 0, NULL, 0), want_app);
	CHECK_EQ(arm_getid(want_app, "t", NULL, 0, NULL, 0), want_tran);
	CHECK_EQ(finish(begin(want_tran)), 0);
	CHECK_EQ(arm_end(want_app, 0, NULL, 0), 0);
	return 0;
}

static void exec(char *self)
{
	char a[16], t[16];
	pid_t pid;

	snprintf(a, sizeof(a), "%d", app);
	snprintf(t, sizeof(t), "%d", tran);
	pid = fork();
	if (pid == 0) {
		execl(self, self, "other", a, t, (char *)NULL);
		_exit(127);
	}
	wait_for_child(pid);
	CHECK_EQ(users(), 1);
}

/* Many processes add names at once: each name has one number. */
static void adds_names(void)
{
	char name[16], byte;
	int i;

	CHECK(read(gate[0], &byte, 1) == 0);
	CHECK_EQ(arm_init("race", NULL, 0, NULL, 0), arm_init("race", NULL, 0, NULL, 0));
	for (i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		CHECK(arm_getid(arm_init("race", NULL, 0, NULL, 0), name, NULL, 0, NULL, 0) > 0);
	}
}

static void names_race(void)
{
	struct segment s;
	struct seg_names *n;
	pid_t pid[6];
	uint32_t i, j, published = 0;

	CHECK(pipe(gate) == 0);
	for (i = 0; i < 6; i++)
		if ((pid[i] = fork()) == 0) {
			close(gate[1]);
			adds_names();
			_exit(0);
		}
	close(gate[0]);
	close(gate[1]);
	for (i = 0; i < 6; i++)
		reap(pid[i]);
	s = open_names();
	n = (struct seg_names *)s.base;
	for (i = 1; i <= n->tran_next; i++) {
		struct seg_tran *a = tran_of(&s, (int)i);

		for (j = 1; j < i; j++)
			CHECK(a->state != RECORD_PUBLISHED || tran_of(&s, (int)j)->state != RECORD_PUBLISHED ||
			      tran_of(&s, (int)j)->app != a->app || strcmp(tran_of(&s, (int)j)->key, a->key));
		published += a->state == RECORD_PUBLISHED;
	}
	CHECK_EQ(published, 502);
	close_segment(&s);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return other_program(argc, argv);
	make_dir();
	tran = register_one("forks", "t");
	apart();
	in_child(grandchild);
	cloned();
	among_threads();
	tran = register_one("users", "t");
	app = arm_init("users", NULL, 0, NULL, 0);
	CHECK_EQ(arm_end(app, 0, NULL, 0), 0);
	uses();
	exec(argv[0]);
	names_race();
	return done();
}
