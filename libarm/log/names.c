/* What the program has begun, in tables of a fixed size. Numbers begin with 1; 0 says that there is no room. */
#include <limits.h>
#include <string.h>

#include "log.h"

static struct log_app apps[LOG_APPS];
static struct log_tran trans[LOG_TRANS];
static struct log_start starts[LOG_STARTS];
static int apps_len, trans_len, last_handle;

struct log_app *log_app(int id)
{
	return id > 0 && id <= apps_len ? &apps[id - 1] : NULL;
}

struct log_tran *log_tran(int id)
{
	return id > 0 && id <= trans_len ? &trans[id - 1] : NULL;
}

struct log_start *log_start(int handle)
{
	struct log_start *s = &starts[(unsigned int)handle % LOG_STARTS];

	return handle > 0 && s->handle == handle ? s : NULL;
}

/* Reports whether a handle that is not running was given out. */
bool log_stopped(int handle)
{
	return handle > 0 && handle <= last_handle;
}

int log_add_app(const char *name, const char *user, bool *is_new)
{
	int i;

	for (i = 0; i < apps_len; i++)
		if (strcmp(apps[i].name, name) == 0 && strcmp(apps[i].user, user) == 0)
			break;
	*is_new = i == apps_len;
	if (i == LOG_APPS)
		return 0;
	if (*is_new) {
		strcpy(apps[i].name, name);
		strcpy(apps[i].user, user);
		apps_len++;
	}
	apps[i].uses++;
	return i + 1;
}

/* Other metrics make another transaction. */
int log_add_tran(int app, const char *name, const char *detail, const struct described *d, bool *is_new)
{
	int i;

	for (i = 0; i < trans_len; i++)
		if (trans[i].app == app && strcmp(trans[i].name, name) == 0 &&
		    memcmp(&trans[i].described, d, sizeof(*d)) == 0)
			break;
	*is_new = i == trans_len;
	if (i == LOG_TRANS)
		return 0;
	if (*is_new) {
		trans[i].app = app;
		strcpy(trans[i].name, name);
		strcpy(trans[i].detail, detail);
		trans[i].described = *d;
		trans_len++;
	}
	return i + 1;
}

int log_add_start(int tran)
{
	int tries;

	for (tries = 0; tries < LOG_STARTS; tries++) {
		struct log_start *s;

		last_handle = last_handle == INT_MAX ? 1 : last_handle + 1;
		s = &starts[(unsigned int)last_handle % LOG_STARTS];
		if (s->handle)
			continue;
		s->handle = last_handle;
		s->tran = tran;
		return last_handle;
	}
	return 0;
}

/* How many of an application's transactions run. */
uint32_t log_running(int app)
{
	uint32_t i, n = 0;

	for (i = 0; i < LOG_STARTS; i++)
		n += starts[i].handle && trans[starts[i].tran - 1].app == app;
	return n;
}
