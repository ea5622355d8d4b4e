/* The segment directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "internal.h"

int open_directory(struct held *h)
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
