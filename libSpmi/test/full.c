/* A full directory only causes errors. As root: it mounts a small tmpfs. */
#include <sched.h>

#include "helpers.h"

static void mount_small(void)
{
	char path[96];

	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	make_dir();
	snprintf(path, sizeof(path), "%s/claims", test_dir);
	CHECK(rmdir(path) == 0);
	CHECK(mount("tmpfs", test_dir, "tmpfs", 0, "size=256k,mode=3773") == 0);
	CHECK(mkdir(path, 01777) == 0 && chmod(path, 01777) == 0);
}

/* Writes a file until there is no room. */
static void fill(const char *path)
{
	char block[4096] = "";
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0);
	while (write(fd, block, sizeof(block)) == sizeof(block))
		;
	CHECK(errno == ENOSPC);
	close(fd);
}

static struct inst *at[100000];

static char *add(int i)
{
	char path[64];

	snprintf(path, sizeof(path), "DDS/IBM/Moretest/n%d", i);
	return SpmiDdsAddCx(0, path, "x", 300 + i);
}

static void fill_with_contexts(void)
{
	struct dat *d;
	SpmiShare *share = guide_init();
	int n, i;

	CHECK(share);
	d = (struct dat *)share->SiShArea;
	for (n = 0; n < 60000 && (at[n] = (struct inst *)add(n)); n++)
		at[n]->b = (unsigned long)n;
	CHECK_ERR(n > 100 && n < 60000, SiCallocFailed);
	CHECK_ERR(!add(n), SiCallocFailed);
	for (i = 0; i < n; i++)
		CHECK(at[i]->b == (unsigned long)i);
	d->a = 1; /* existing contexts go on working */
	CHECK(SpmiDdsDelCx((char *)at[0]) == 0);
	CHECK(add(0) && SpmiErrno == 0);
	SpmiExit();
}

int main(void)
{
	char path[96];

	mount_small();
	CHECK(guide_init());
	SpmiExit();
	snprintf(path, sizeof(path), "%s/fill", test_dir);
	fill(path);
	CHECK_ERR(!guide_init(), SiCallocFailed);
	CHECK(count_files("", NULL) == 1); /* the file that fills it */
	CHECK(unlink(path) == 0);
	fill_with_contexts();
	CHECK(count_files("", NULL) == 0);
	CHECK(umount2(test_dir, MNT_DETACH) == 0);
	rmdir(test_dir);
	return 0;
}
