/*
 * The guide's programs as they run. Arguments: the permanent one, the volatile one.
 * Both are compiled with -DFILE_NAME='"hook"' and run in the segment directory; the
 * volatile one with short times.
 */
#include "helpers.h"

static pid_t start(const char *program)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chdir("/") || chdir(test_dir) || chdir("claims"))
			_exit(1);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* Waits, at most a minute, for a condition on shared memory. */
#define AWAIT(cond) \
	do { \
		int tries_ = 0; \
		while (!(cond) && tries_++ < 6000) \
			usleep(10000); \
		CHECK(cond); \
	} while (0)

static void stop(pid_t pid, int sig)
{
	int status;

	if (sig)
		CHECK(kill(pid, sig) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(count_files("", NULL) == 0);
}

static void check_tree(struct view *v)
{
	static const char *const paths[] = { "DDS/IBM", "DDS/IBM/Test", "DDS/IBM/Moretest", "DDS/IBM/Moretest/SubTest" };
	static const char *const descr[] = { "IBM-defined Dynamic Data-Suppliers", "Bogus Context Number 1",
					     "Bogus Context Number 2", "Bogus Context Number 3" };
	static const char *const stats[] = { "gadgets", "widgets", "level", "queue" };
	int i;

	CHECK(v->h->contexts_count >= 4 && v->h->stats_count >= 4);
	for (i = 0; i < 4; i++) {
		CHECK(strcmp(v->cx[i].path, paths[i]) == 0 && strcmp(v->cx[i].descr, descr[i]) == 0);
		CHECK(strcmp(v->stats[i].name, stats[i]) == 0);
	}
}

static void permanent(const char *program)
{
	volatile unsigned long *d;
	pid_t pid = start(program);
	struct view v;

	AWAIT(count_files(".dds", NULL) == 1);
	v = view_segment();
	check_tree(&v);
	d = (unsigned long *)(v.base + v.cx[1].data_off);
	AWAIT(d[0] > 22 && d[3] > 62);
	stop(pid, SIGTERM);
	CHECK(v.h->state == SEG_ENDED);
	pid = start(program);
	AWAIT(count_files(".dds", NULL) == 1);
	v = view_segment();
	give_notice(1, 0, 0);
	stop(pid, 0);
}

static void volatile_one(const char *program)
{
	pid_t pid = start(program);
	volatile struct seg_slot *s;
	struct view v;
	int i;

	AWAIT(count_files(".dds", NULL) == 1);
	v = view_segment();
	check_tree(&v);
	give_notice(0, 20, 1);
	AWAIT(*(volatile uint32_t *)&v.h->slots_count == 1);
	munmap(v.base, v.len);
	v = view_segment();
	s = slot_at(&v, 0);
	for (i = 0; i < 2; i++) {
		AWAIT(s->active == 1);
		CHECK(strcmp((const char *)s->path, "DDS/IBM/Moretest/Bingo") == 0);
		CHECK(strcmp((const char *)s->descr, "Dynamically added") == 0 && s->asn == 1);
		AWAIT(s->active == 0);
	}
	stop(pid, SIGINT);
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	make_dir();
	permanent(argv[1]);
	volatile_one(argv[2]);
	return done();
}
