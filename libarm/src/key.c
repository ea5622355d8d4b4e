/* Names as they are given, and as keys. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Removes blanks and keeps the first 31 bytes of the rest. False: the name is too long, or
 * nothing is left. */
bool make_key(struct key *k, const char *name)
{
	size_t len, i;

	memset(k, 0, sizeof(*k));
	if (!name || (len = bounded_len(name, NAME_MAX_LEN + 1)) > NAME_MAX_LEN)
		return false;
	for (i = 0; i < len && k->len < KEY_MAX; i++)
		if (name[i] != ' ')
			k->text[k->len++] = name[i];
	return k->len > 0;
}

/* The next line of a file, without its end and cut at size; false at the file's end. */
static bool next_line(int fd, char *line, size_t size)
{
	static const char newline = '\n';
	size_t len = 0;
	char c;

	while (read(fd, &c, 1) == 1 && c != newline)
		if (len < size - 1)
			line[len++] = c;
	line[len] = 0;
	return len > 0;
}

/* Takes the name out of NAME:PASSWORD:UID:... if the line is of this user. */
static bool line_is_of(char *line, const char *uid)
{
	char *name_end = strchr(line, ':'), *id = name_end ? strchr(name_end + 1, ':') : NULL;
	size_t digits = strlen(uid);

	if (!id || strncmp(id + 1, uid, digits) != 0 || id[1 + digits] != ':')
		return false;
	*name_end = 0;
	return true;
}

/*
 * The login name of the user who runs this: from /etc/passwd, else from LOGNAME, else the
 * number. The name service is not asked, because it allocates, loads libraries, and may wait
 * for a network.
 */
void login_name(char *to, size_t size)
{
	char uid[24], line[256];
	const char *env = NULL, *found = NULL;
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	memset(to, 0, size);
	put_number(uid, getuid(), 10, 1);
	while (fd >= 0 && !found && next_line(fd, line, sizeof(line)))
		if (line_is_of(line, uid))
			found = line;
	if (fd >= 0)
		close(fd);
	if (!found)
		env = secure_getenv("LOGNAME");
	if (!found)
		found = env && *env ? env : uid;
	memcpy(to, found, bounded_len(found, size - 1));
}
