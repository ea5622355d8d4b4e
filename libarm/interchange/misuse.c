/* Does what a program should not, for the log. */
#include <string.h>

#include <arm.h>

#include "../test/helpers.h"

static void buffers(int tran)
{
	unsigned char b[300];
	int handle = begin(tran);

	memset(b, 0, sizeof(b));
	CHECK_EQ(arm_update(handle, 0, NULL, 8), 0);
	CHECK_EQ(arm_update(handle, 0, (arm_data_t *)b, 3), 0);
	b[0] = 7;
	CHECK_EQ(arm_update(handle, 0, (arm_data_t *)b, 256), 0);
	b[0] = 1;
	b[5] = 0x40; /* the second metric, which nobody described */
	CHECK_EQ(arm_update(handle, 0, (arm_data_t *)b, 256), 0);
	CHECK_EQ(arm_update(handle, 0, (arm_data_t *)b, 20), 0);
	b[0] = 2;
	memcpy(b + 4, "two\nlines\033", 10);
	CHECK_EQ(arm_update(handle, 0, (arm_data_t *)b, 14), 0);
	CHECK_EQ(arm_stop(handle, 3, 0, NULL, 0), -1);
	CHECK_EQ(arm_stop(handle, 2, 0, NULL, 0), 0);
	CHECK_EQ(arm_stop(handle, 2, 0, NULL, 0), -1);
	CHECK_EQ(arm_update(handle, 0, NULL, 0), -1);
}

static void correlators(int tran)
{
	arm_data1_t d;

	memset(&d, 0, sizeof(d));
	d.format = ARM_FORMAT_DATA;
	d.flags[0] = ARM_CORRELATOR_WANTED | ARM_TRACE_WANTED;
	CHECK(arm_start(tran, 0, (arm_data_t *)&d, sizeof(d)) > 0);
	CHECK(d.flags[0] & ARM_CORRELATOR_GIVEN && ARM_CORRELATOR_LENGTH(&d.correlator) >= 22);
	d.flags[0] = ARM_PARENT_GIVEN;
	CHECK(arm_start(tran, 0, (arm_data_t *)&d, sizeof(d)) > 0);
	memcpy(&d.correlator, "\0\004??", 4);
	CHECK(arm_start(tran, 0, (arm_data_t *)&d, sizeof(d)) > 0);
}

static void in_handler(int signal)
{
	(void)signal;
	CHECK_EQ(finish(begin(1)), 0);
}

static void child(void)
{
	CHECK_EQ(finish(begin(1)), 0);
}

/* What would end the program is for the log alone: a file that may not grow. */
static void full_disk(int tran)
{
	struct rlimit old, none = { 0, 0 };

	CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
	none.rlim_max = old.rlim_max;
	CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
	CHECK_EQ(finish(begin(tran)), 0);
	CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
}

/* What a program closes and opens again is not written to. */
static void closed(int tran)
{
	int fd, i;

	for (i = 3; i < 20; i++)
		close(i);
	for (i = 3; i < 20; i++)
		CHECK_EQ(fd = open("theirs", O_CREAT | O_RDWR, 0600), i);
	CHECK_EQ(finish(begin(tran)), 0);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 0);
}

int main(void)
{
	char name[129];
	int app, tran;

	memset(name, 'n', sizeof(name));
	name[128] = 0;
	CHECK_EQ(arm_init(NULL, NULL, 0, NULL, 0), -1);
	CHECK_EQ(arm_init(name, NULL, 0, NULL, 0), -1);
	CHECK_EQ(app = arm_init("App", NULL, 4, name, 5), 1);
	CHECK_EQ(arm_init("App", NULL, 0, NULL, 0), 1);
	CHECK_EQ(arm_getid(-7, "T", NULL, 0, NULL, 0), -1);
	CHECK_EQ(arm_getid(0, "T", NULL, 0, NULL, 0), 0);
	CHECK_EQ(arm_getid(9, "T", NULL, 0, NULL, 0), -1);
	CHECK_EQ(arm_getid(app, "", NULL, 0, NULL, 0), -1);
	CHECK_EQ(tran = arm_getid(app, "T", "one", 0, NULL, 0), 1);
	CHECK_EQ(arm_getid(app, "T", "another", 0, name, 128), 1);
	CHECK_EQ(arm_start(8, 0, NULL, 0), -1);
	buffers(tran);
	correlators(tran);
	CHECK(signal(SIGUSR1, in_handler) != SIG_ERR && raise(SIGUSR1) == 0);
	in_child(child);
	full_disk(tran);
	closed(tran);
	errno = 4242;
	CHECK_EQ(arm_end(app, 0, NULL, 0), 0);
	CHECK_EQ(arm_end(app, 0, NULL, 0), 0);
	CHECK_EQ(arm_end(app, 0, NULL, 0), -1);
	CHECK_EQ(arm_getid(app, "T", NULL, 0, NULL, 0), -1);
	CHECK_EQ(arm_start(tran, 0, NULL, 0), -1);
	CHECK_EQ(errno, 4242);
	return 0;
}
