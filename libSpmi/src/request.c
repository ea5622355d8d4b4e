/* Checks the arguments of SpmiDdsInit before anything is done. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/*
 * The file must be writable, or it is created. An existing one is not opened: closing it
 * would drop locks that the program may hold on it.
 */
static int check_file(const char *name)
{
	char what[160];
	struct stat st;
	int fd, err = 0;

	if (!name || !*name)
		return spmi_fail(SiBadArgument, "no file name");
	if (faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) == 0) {
		if (stat(name, &st) == 0 && S_ISDIR(st.st_mode))
			err = EISDIR;
	} else if (errno != ENOENT) {
		err = errno;
	} else {
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
		if (fd >= 0)
			close(fd);
		else if (errno != EEXIST)
			err = errno;
	}
	if (!err)
		return 0;
	snprintf(what, sizeof(what), "file %s", name);
	return spmi_fail_errno(what, err);
}

int request_check(const struct request *r, int fixed_count, int inst_count)
{
	if (fixed_count < 0 || inst_count < 0 || (fixed_count && !r->fixed) || (inst_count && !r->inst))
		return spmi_fail(SiBadArgument, "%d fixed and %d volatile contexts: a count is negative, or its table is NULL",
				 fixed_count, inst_count);
	if (!fixed_count && !inst_count)
		return spmi_fail(SiBadArgument, "both tables are empty; one must have a context");
	if (fixed_count && inst_count && r->fixed == r->inst)
		return spmi_fail(SiBadArgument, "the tables of fixed and volatile contexts are the same; give two");
	return check_file(r->file);
}
