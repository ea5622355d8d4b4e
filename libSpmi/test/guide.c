/*
 * Runs the guide's programs. Arguments: the permanent one, the volatile one, and
 * SpmiDds. All are compiled with -DFILE_NAME='"hook"' and run in the segment
 * directory. The volatile one has short times.
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

/* Waits at most a minute for a condition on shared memory. */
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

/* Returns the slot that is in use for a path, or NULL. */
static volatile struct seg_slot *active(struct view *v, const char *path)
{
	uint32_t i, n = *(volatile uint32_t *)&v->h->slots_count;

	for (i = 0; i < n; i++) {
		volatile struct seg_slot *s = slot_at(v, i);

		if (s->active == 1 && strcmp((const char *)s->path, path) == 0)
			return s;
	}
	return NULL;
}

/* Checks that a context of the template with this ASN.1 number comes and goes. */
static void comes_and_goes(struct view *v, const char *path, const char *descr, int asn, int template_asn)
{
	volatile struct seg_slot *s;
	int i;

	for (i = 0; i < 2; i++) {
		AWAIT((s = active(v, path)) != NULL);
		CHECK(strcmp((const char *)s->descr, descr) == 0 && (int)s->asn == asn);
		CHECK((int)v->cx[s->template].asn == template_asn);
		AWAIT(active(v, path) == NULL);
	}
}

static void volatile_one(const char *program)
{
	pid_t pid = start(program);
	struct view v;

	AWAIT(count_files(".dds", NULL) == 1);
	v = view_segment();
	check_tree(&v);
	give_notice(0, 20, 1);
	AWAIT(*(volatile uint32_t *)&v.h->slots_count == 2);
	munmap(v.base, v.len);
	v = view_segment();
	comes_and_goes(&v, "DDS/IBM/Moretest/Bingo", "Dynamically added", 1, 215);
	comes_and_goes(&v, "DDS/IBM/Moretest/Bongo", "Also added dynamically", 2, 216);
	stop(pid, SIGINT);
}

/*
 * SpmiDds ends properly after each of the guide's signals, and when it is told to
 * go.
 */
static void signals(const char *program)
{
	static const int how[] = { SIGTERM, SIGHUP, SIGINT, SIGSEGV, 0 };
	volatile unsigned long *d;
	struct view v;
	pid_t pid;
	int i;

	for (i = 0; i < (int)(sizeof(how) / sizeof(how[0])); i++) {
		pid = start(program);
		AWAIT(count_files(".dds", NULL) == 1);
		v = view_segment();
		CHECK(v.h->contexts_count == 2 && v.h->stats_count == 2);
		CHECK(strcmp(v.cx[0].path, "DDS/IBM") == 0 && v.cx[0].asn == 2);
		CHECK(strcmp(v.cx[1].path, "DDS/IBM/sample1") == 0 && v.cx[1].asn == 191);
		CHECK(strcmp(v.stats[0].name, "gadgets") == 0 && strcmp(v.stats[1].name, "widgets") == 0);
		d = (unsigned long *)(v.base + v.cx[1].data_off);
		if (how[i])
			AWAIT(d[0] >= 22 && d[1] >= 42);
		else
			give_notice(1, 0, 0);
		stop(pid, how[i]);
		CHECK(v.h->state == SEG_ENDED);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 4);
	make_dir();
	permanent(argv[1]);
	volatile_one(argv[2]);
	signals(argv[3]);
	return done();
}
