/*
 * Once a thread has begun, start and stop make no system call, except for a look at the agent's
 * file once a second. A filter in the kernel checks that. They allocate no memory. The allocator
 * below checks that, where it can replace the C library's.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>

#include "seen.h"

static uint64_t allocations;

#ifdef COUNT_MALLOC
extern void *__libc_malloc(size_t len);
extern void *__libc_calloc(size_t n, size_t len);
extern void *__libc_realloc(void *p, size_t len);

void *malloc(size_t len)
{
	allocations++;
	return __libc_malloc(len);
}

void *calloc(size_t n, size_t len)
{
	allocations++;
	return __libc_calloc(n, len);
}

void *realloc(void *p, size_t len)
{
	allocations++;
	return __libc_realloc(p, len);
}
#endif

static int tran, described;

/* The look begins with open, which fails here, so nothing may follow it. */
static bool forbidden;
static uint64_t looks;

int open(const char *path, int flags, ...)
{
	int mode = 0;
	va_list ap;

	if (forbidden) {
		looks++;
		errno = ENOSYS;
		return -1;
	}
	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, int);
	va_end(ap);
	return openat(AT_FDCWD, path, flags, (mode_t)mode);
}

static void register_all(void)
{
	arm_data101_t b;
	int app = arm_init("quiet", NULL, 0, NULL, 0);

	memset(&b, 0, sizeof(b));
	b.format = ARM_FORMAT_META;
	b.flags[1] = 0xc2;
	b.metric[0].type = ARM_Counter32;
	b.metric[1].type = ARM_GaugeDivr32;
	b.string1.type = ARM_String32;
	tran = arm_getid(app, "t", NULL, 0, NULL, 0);
	described = arm_getid(app, "described", NULL, 0, (arm_data_t *)&b, sizeof(b));
	CHECK(tran > 0 && described > 0);
}

/* Every kind of start, update and stop, with several at once. */
static void all_kinds(void)
{
	arm_data1_t b;
	arm_data2_t text;
	int h[100], i;

	memset(&b, 0, sizeof(b));
	b.format = ARM_FORMAT_DATA;
	b.flags[0] = ARM_CORRELATOR_WANTED | ARM_TRACE_WANTED;
	b.flags[1] = 0xc2;
	b.metric[1].gaugedivr32.divisor = 1;
	text.format = ARM_FORMAT_TEXT;
	memset(text.text, 'x', sizeof(text.text));
	for (i = 0; i < 100; i++)
		CHECK((h[i] = arm_start(described, 0, (arm_data_t *)&b, sizeof(b))) > 0);
	b.flags[0] = ARM_PARENT_GIVEN;
	for (i = 0; i < 100; i++) {
		CHECK_EQ(arm_update(h[i], 0, (arm_data_t *)&b, sizeof(b)), 0);
		CHECK_EQ(arm_update(h[i], 0, (arm_data_t *)&text, sizeof(text)), 0);
		CHECK_EQ(arm_stop(h[i], i % 3, 0, (arm_data_t *)&b, sizeof(b)), 0);
		CHECK_EQ(finish(arm_start(described, 0, (arm_data_t *)&b, sizeof(b))), 0);
		CHECK_EQ(finish(h[i]), -1);
	}
	for (i = 0; i < 1000; i++)
		CHECK_EQ(finish(begin(tran)), 0);
	CHECK(begin(tran + 1000) < 0);
}

/* From here on the kernel kills a process that does more than write and exit. */
static void forbid(void)
{
	struct sock_filter only[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(only) / sizeof(*only), only };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static time_t seconds(void)
{
	struct timespec t;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return t.tv_sec;
}

static void silent(void)
{
	time_t begun, now;

	all_kinds();
	forbid();
	forbidden = true;
	allocations = 0;
	begun = seconds();
	do {
		all_kinds();
		now = seconds();
	} while (now - begun < 3 || (looks < 2 && now - begun < 60)); /* it may not run for a second or two */
	CHECK_EQ(allocations, 0);
	CHECK(looks >= 2 && looks <= (uint64_t)(now - begun) + 1);
	syscall(SYS_exit, 0);
}


/* Checks that forbid works. */
static void in_killed_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		forbid();
		getppid();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

int main(void)
{
	make_dir();
	register_all();
	in_child(silent);
	in_killed_child();
	/* Checks that allocations are counted. */
	allocations = 0;
	free(malloc(100));
#ifdef COUNT_MALLOC
	CHECK(allocations > 0);
#endif
	return done();
}
