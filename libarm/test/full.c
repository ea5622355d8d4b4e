/* A file system without room: calls answer negative, and work again when there is
 * room. */
#include <sched.h>

#include "guest.h"

static void full_file_system(void)
{
	char path[100];
	int fd, i, n, had;

	CHECK(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("none", test_dir, "tmpfs", 0, "size=2m,mode=3773") == 0);
	snprintf(path, sizeof(path), "%s/ballast", test_dir);
	CHECK((fd = open(path, O_CREAT | O_WRONLY, 0600)) >= 0);
	CHECK(posix_fallocate(fd, 0, 2 << 20) == 0);
	nothing_works();
	CHECK_EQ(files(".new-", true), 0);
	CHECK(ftruncate(fd, 0) == 0);
	all_works();
	CHECK(posix_fallocate(fd, 0, 64 << 10) == 0);
	for (i = 64 << 10; posix_fallocate(fd, i, 4096) == 0;)
		i += 4096;
	/* Nothing can be allocated. As many transactions start as there is room for, then
	 * none. */
	for (n = 0; n < 200000 && (held[n] = begin(tran)) > 0;)
		n++;
	CHECK(n > 0 && n < 131072);
	for (i = 0; i < 100000; i++)
		CHECK_EQ(begin(tran), -1);
	for (i = 0; i < 3000; i++) {
		char name[24];

		snprintf(name, sizeof(name), "more %d", i);
		if (arm_getid(1, name, NULL, 0, NULL, 0) < 0)
			break;
	}
	CHECK(i < 3000);
	CHECK_EQ(finish(held[--n]), 0);
	CHECK((held[n++] = begin(tran)) > 0);
	CHECK(ftruncate(fd, 0) == 0);
	all_works(); /* makes room ahead */
	for (had = n; n < had + 100; n++)
		CHECK((held[n] = begin(tran)) > 0);
	while (n--)
		CHECK_EQ(finish(held[n]), 0);
	close(fd);
}

int main(void)
{
	make_dir();
	in_child(full_file_system);
	return done();
}
