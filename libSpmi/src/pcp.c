/* Loads libpcp: once, completely or not at all, and never unloads it. */
#include <errno.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "internal.h"
#include "pcp.h"

/* Weak, so that no program needs another library to be linked because of it. */
extern void *dlsym(void *, const char *) __attribute__((weak));

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pcp loaded;
static bool is_loaded;

static const char *const names[] = {
#define X(type, name, args) #name,
	PCP_FUNCTIONS(X)
#undef X
};

/* libpcp ends a program that calls it if PCP's configuration is not there. */
static bool configured(char *path, size_t size)
{
	const char *conf = getenv("PCP_CONF"), *dir = getenv("PCP_DIR");

	if (conf)
		snprintf(path, size, "%s", conf);
	else
		snprintf(path, size, "%s/etc/pcp.conf", dir ? dir : "");
	return access(path, R_OK) == 0;
}

static int resolve(void *library, void **addresses)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		addresses[i] = dlsym(library, names[i]);
		if (!addresses[i])
			return spmi_fail(SiInitFailed, "libpcp has no function %s: install PCP 5 or newer", names[i]);
	}
	return 0;
}

/*
 * Calls dlopen; returns NULL in a program without a dynamic linker. It finds dlopen by its
 * name, because the linker warns about each use of it in a static program, and most static
 * programs only supply.
 */
static void *open_library(const char *name)
{
	void *(*open)(const char *, int) = NULL;
	void *address = dlsym(RTLD_DEFAULT, "dlopen");

	memcpy(&open, &address, sizeof(open));
	return open ? open(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
}

static int load(struct pcp *p)
{
	void *library, *addresses[sizeof(names) / sizeof(*names)];
	char conf[200];
	int err;

	if (!dlsym || !getauxval(AT_BASE)) /* AT_BASE: where the dynamic linker is */
		return spmi_fail(SiInitFailed, "a statically linked program cannot load libpcp: link it dynamically");
	if (!configured(conf, sizeof(conf)))
		return spmi_fail(SiInitFailed, "cannot read %s: install PCP", conf);
	library = open_library("libpcp.so.3");
	p->nanoseconds = !library;
	if (!library)
		library = open_library("libpcp.so.4");
	if (!library)
		return spmi_fail(SiInitFailed, "there is no libpcp.so.3 or libpcp.so.4 of %d bits: install PCP's library",
				 (int)sizeof(void *) * 8);
	err = resolve(library, addresses);
	if (!err)
		memcpy(p, addresses, sizeof(addresses));
	return err;
}

const struct pcp *pcp_load(void)
{
	const struct pcp *p;
	struct pcp new;

	pthread_mutex_lock(&mutex);
	memset(&new, 0, sizeof(new));
	if (!is_loaded && !load(&new)) {
		loaded = new;
		is_loaded = true;
	}
	p = is_loaded ? &loaded : NULL;
	pthread_mutex_unlock(&mutex);
	return p;
}
