/* The segment directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "internal.h"

static int open_directory(struct held *h)
{
	const char *path = file_dir("RTIME_DDS_DIR", "/run/rtime/dds");
	char what[200];
	int fd, err;

	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 ? errno : hold(h, fd);
	if (!err)
		return 0;
	snprintf(what, sizeof(what), "segment directory %s", path);
	return spmi_fail_errno(what, err);
}

/*
 * Opens the directory and the user's claims in it. After an error neither is
 * open.
 */
int places_open(struct place *p)
{
	int err = open_directory(&p->dir);

	if (!err)
		err = claims_open(p);
	if (err)
		places_close(p);
	return err;
}

void places_close(struct place *p)
{
	let_go(&p->file); /* before the claims, because others wait for those */
	let_go(&p->claims);
	let_go(&p->dir);
	p->name[0] = 0;
}
