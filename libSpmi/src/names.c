/* Which paths and names are allowed. */
#include <string.h>

#include "internal.h"

static bool name_is_legal(const char *name, size_t len)
{
	size_t i;

	if (len == 0 || len >= SI_MAXNAME || name[0] == ' ' || name[len - 1] == ' ')
		return false;
	for (i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || name[i] == '/')
			return false;
	return true;
}

int check_name(const char *name, size_t len)
{
	if (name_is_legal(name, len))
		return 0;
	return spmi_fail(SiBadArgument, "name \"%.*s\": want 1 to %d bytes, no slash, "
			 "no control character, no blank first or last",
			 (int)len, name, SI_MAXNAME - 1);
}

int check_path(const char *path, size_t len)
{
	size_t from = 0, to;
	int err;

	if (len >= SI_MAXLNAME)
		return spmi_fail(SiBadArgument, "path \"%.*s...\" is longer than %d bytes",
				 SI_MAXLNAME - 1, path, SI_MAXLNAME - 1);
	if (strncmp(path, "DDS", 3) != 0 || (len > 3 && path[3] != '/'))
		return spmi_fail(SiBadArgument, "path \"%.*s\" does not begin with DDS",
				 (int)len, path);
	for (; from <= len; from = to + 1) {
		for (to = from; to < len && path[to] != '/';)
			to++;
		if ((err = check_name(path + from, to - from)))
			return err;
	}
	return 0;
}

size_t parent_len(const char *path, size_t len)
{
	while (len > 0 && path[len - 1] != '/')
		len--;
	return len ? len - 1 : 0;
}

/* DDS itself and a vendor's DDS/x belong to all suppliers. */
bool shared_path(const char *path, size_t len)
{
	size_t parent = parent_len(path, len);

	return parent == 0 || parent_len(path, parent) == 0;
}
