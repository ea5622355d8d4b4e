/* The system refuses something. Calls answer negative, and work again when the system gives it. */
#include <stdarg.h>

#include "guest.h"

/* The program is measured in memory meanwhile. early.c tests how the counts come into files. */
static void works_in_memory(void)
{
	int i;

	all_works();
	for (i = 0; i < 1000; i++)
		CHECK((held[i] = begin(tran)) > 0);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(finish(held[i]), 0);
	CHECK_EQ(arm_end(1, 0, NULL, 0), 0);
}

static void missing_directory(void)
{
	char elsewhere[80];

	snprintf(elsewhere, sizeof(elsewhere), "%s-elsewhere", test_dir);
	CHECK(rename(test_dir, elsewhere) == 0);
	works_in_memory();
	CHECK(rename(elsewhere, test_dir) == 0);
	all_works();
}

static void not_a_directory(void)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/file", test_dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	setenv("RTIME_ARM_DIR", path, 1);
	works_in_memory();
	CHECK(unlink(path) == 0);
	setenv("RTIME_ARM_DIR", test_dir, 1);
	all_works();
}

static void unwritable(void)
{
	CHECK(chmod(test_dir, 0755) == 0);
	CHECK(seteuid(65534) == 0);
	works_in_memory();
	CHECK(seteuid(0) == 0 && chmod(test_dir, 03773) == 0 && seteuid(65534) == 0);
	all_works();
}

/* Something else in the place of the file of names is left alone. early.c tests what the process does
 * instead. */
static void strange_names(void)
{
	char names[100], target[100];
	int i, fd;

	snprintf(names, sizeof(names), "%s/0.names", test_dir);
	snprintf(target, sizeof(target), "%s/target", test_dir);
	for (i = 0; i < 6; i++) {
		if (i == 0)
			CHECK(mkfifo(names, 0600) == 0);
		if (i == 1)
			CHECK(mkdir(names, 0700) == 0);
		if (i == 2)
			CHECK(symlink("target", names) == 0);
		if (i == 3)
			close(open(names, O_CREAT | O_WRONLY, 0600));
		if (i == 4) { /* long enough, but of zeros */
			CHECK((fd = open(names, O_CREAT | O_WRONLY, 0600)) >= 0 && ftruncate(fd, 64 << 20) == 0);
			close(fd);
		}
		if (i == 5) { /* another user's */
			CHECK((fd = open(names, O_CREAT | O_WRONLY, 0666)) >= 0 && fchown(fd, 65534, 65534) == 0);
			close(fd);
		}
		in_child(all_works);
		CHECK(remove(names) == 0);
	}
	all_works();
}

static void file_size_limit(void)
{
	struct rlimit none = { 0, 0 }, some = { 50 << 20, 50 << 20 };
	int n;

	/* All of a process's file lies beyond this limit. SIGXFSZ would end the process. */
	if (fork() == 0) {
		CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
		nothing_works();
		_exit(0);
	}
	wait(&n);
	CHECK_EQ(n, 0);
	CHECK(setrlimit(RLIMIT_FSIZE, &some) == 0);
	all_works();
	some.rlim_cur = 128 << 10;
	CHECK(setrlimit(RLIMIT_FSIZE, &some) == 0);
	for (n = 0; n < 200000 && (held[n] = begin(tran)) > 0;)
		n++;
	CHECK(n > 0 && n < 131072);
	while (n--)
		CHECK_EQ(finish(held[n]), 0);
	CHECK_EQ(finish(begin(tran)), 0);
}

static void no_descriptors(void)
{
	struct rlimit few = { 3, 1024 };

	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	nothing_works();
	few.rlim_cur = 64;
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	all_works();
}

static void no_memory(void)
{
	struct rlimit little = { 0, RLIM_INFINITY };

	CHECK(setrlimit(RLIMIT_AS, &little) == 0);
	nothing_works();
	little.rlim_cur = RLIM_INFINITY;
	CHECK(setrlimit(RLIMIT_AS, &little) == 0);
	all_works();
}

/* Less address space than the library would like. */
static void little_memory(void)
{
	struct rlimit little = { 500 << 20, RLIM_INFINITY };

	CHECK(setrlimit(RLIMIT_AS, &little) == 0);
	all_works();
}

static bool locked(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	pid_t pid = getpid(), child = fork();
	int status;

	if (child == 0) {
		char name[48];
		DIR *d = opendir(test_dir);
		struct dirent *e;

		snprintf(name, sizeof(name), "0-%d-", (int)pid);
		while (d && (e = readdir(d)))
			if (strncmp(e->d_name, name, strlen(name)) == 0) {
				int fd = openat(dirfd(d), e->d_name, O_RDWR);

				_exit(fd >= 0 && fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_WRLCK && l.l_pid == pid);
			}
		_exit(2);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

/* Closes descriptors, as daemons do. What the program opens after that is not the library's. */
static void closed_descriptors(void)
{
	char name[24];
	int i, fds[20];

	all_works();
	CHECK(locked());
	for (i = 3; i < 100; i++)
		close(i);
	CHECK(!locked());
	for (i = 0; i < 20; i++)
		CHECK((fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0);
	CHECK_EQ(finish(begin(tran)), 0);
	all_works();
	CHECK(locked());
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		register_one("closed", name);
	}
	for (i = 0; i < 1000; i++)
		CHECK((held[i] = begin(tran)) > 0);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(finish(held[i]), 0);
	for (i = 0; i < 20; i++) {
		struct stat st;

		CHECK(fstat(fds[i], &st) == 0 && S_ISCHR(st.st_mode));
	}
}

static void closed_standard(void)
{
	char line[] = "from the program\n";

	close(0);
	close(1);
	all_works();
	CHECK(write(0, line, sizeof(line)) < 0 && write(1, line, sizeof(line)) < 0);
}

/* How often the agent takes the name from the file of names just when a process has published its own. */
static int takes;

/* The library's calls come through here. */
long syscall(long number, ...)
{
	static int taken;
	char from[100], to[100];
	va_list ap;
	int dir, dir2, err;
	const char *old, *new;

	if (number == SYS_gettid)
		return gettid();
	if (number == SYS_userfaultfd) { /* the kernel refuses it in many containers */
		errno = EPERM;
		return -1;
	}
	CHECK_EQ(number, SYS_renameat2);
	va_start(ap, number);
	dir = va_arg(ap, int);
	old = va_arg(ap, const char *);
	dir2 = va_arg(ap, int);
	new = va_arg(ap, const char *);
	err = renameat2(dir, old, dir2, new, va_arg(ap, unsigned int));
	va_end(ap);
	if (takes && !err && strcmp(new + strlen(new) - 4, ".arm") == 0) {
		takes--;
		snprintf(from, sizeof(from), "%s/0.names", test_dir);
		snprintf(to, sizeof(to), "%s/.aside-0-%016x", test_dir, ++taken);
		CHECK(rename(from, to) == 0);
	}
	return err;
}

static void names_taken_away(void)
{
	takes = 2;
	all_works();
	CHECK_EQ(takes, 0);
	CHECK_EQ(files(".arm", false), 1);
	CHECK_EQ(files(".aside-", true), 2);
	CHECK_EQ(files(".names", false), 1);
}

static void names_taken_for_good(void)
{
	takes = 1000;
	CHECK(arm_init("guest", NULL, 0, NULL, 0) < 0);
	CHECK_EQ(files(".arm", false), 0);
	CHECK_EQ(files(".new-", true), 0);
	takes = 0;
	all_works();
}

static void *waits_to_be_cancelled(void *unused)
{
	pthread_cancel(pthread_self());
	CHECK(register_one("guest", "cancelled") > 0);
	pthread_testcancel();
	_exit(1);
	return unused;
}

static void cancelled(void)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, waits_to_be_cancelled, NULL) == 0);
	pthread_join(t, NULL);
	all_works();
}

static void small_things(void)
{
	static void (*const each[])(void) = { missing_directory, not_a_directory, unwritable, strange_names,
		file_size_limit, no_descriptors, no_memory, little_memory, closed_descriptors,
		closed_standard, cancelled, names_taken_away, names_taken_for_good };
	unsigned int i;

	for (i = 0; i < sizeof(each) / sizeof(*each); i++) {
		if (getenv("NO_LIMITS") && (each[i] == no_memory || each[i] == little_memory))
			continue; /* a sanitizer wants all of the address space */
		in_child(each[i]);
		empty_dir(test_dir);
	}
}

int main(void)
{
	make_dir();
	small_things();
	return done();
}
