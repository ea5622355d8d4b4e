/*
 * Which library is the lower one: ARM_LOWER_LIBRARY in the environment names it, or the line
 * "lower PATH" of the configuration file. For a setuid program only the file counts.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lower.h"

enum { PATH_LEN = 1024, CONF_LEN = 8192 };

struct lower *rt_lower;

static __thread uint32_t loading __attribute__((tls_model("initial-exec")));

/* Takes the path from a line that begins with "lower". False: the line does not, or the path is
 * empty or too long. */
static bool conf_line(const char *line, char path[PATH_LEN])
{
	size_t len;

	if (strncmp(line, "lower", 5) != 0 || (line[5] != ' ' && line[5] != '\t'))
		return false;
	line += 5 + strspn(line + 5, " \t");
	len = strcspn(line, " \t\r\n");
	if (len == 0 || len >= PATH_LEN)
		return false;
	memcpy(path, line, len);
	path[len] = 0;
	return true;
}

static bool conf_read(const char *file, char path[PATH_LEN])
{
	char text[CONF_LEN], *line;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	for (line = text; line; line = strchr(line, '\n'))
		if (conf_line(line += *line == '\n', path))
			return true;
	return false;
}

static bool which(char path[PATH_LEN])
{
	const char *name = secure_getenv("ARM_LOWER_LIBRARY"), *file = secure_getenv("RTIME_ARM_CONF");

	if (!name)
		return conf_read(file ? file : "/etc/rtime/libarm.conf", path);
	if (!*name || strlen(name) >= PATH_LEN)
		return false;
	strcpy(path, name);
	return true;
}

static bool is_own(void *address)
{
	Dl_info theirs, ours;

	return !dladdr(address, &theirs) || !dladdr(&rt_lower, &ours) || theirs.dli_fbase == ours.dli_fbase;
}

/* Finds the six calls. False: the library lacks one, or is this library. */
static bool resolve(struct lower *l)
{
	static const char *const names[] = { "arm_init", "arm_getid", "arm_start", "arm_update", "arm_stop", "arm_end" };
	void *to[6];
	int i;

	for (i = 0; i < 6; i++)
		if (!(to[i] = dlsym(l->handle, names[i])) || is_own(to[i]))
			return false;
	memcpy(&l->init, &to[0], sizeof(to[0]));
	memcpy(&l->getid, &to[1], sizeof(to[1]));
	memcpy(&l->start, &to[2], sizeof(to[2]));
	memcpy(&l->update, &to[3], sizeof(to[3]));
	memcpy(&l->stop, &to[4], sizeof(to[4]));
	memcpy(&l->end, &to[5], sizeof(to[5]));
	return true;
}

static void set_up(struct lower *l)
{
	l->alone = rt_off();
	l->apps = (struct xref){ XREF_APP_BITS, l->app_words };
	l->trans = (struct xref){ XREF_TRAN_BITS, l->tran_words };
	l->starts = (struct xref){ XREF_START_BITS, l->start_words };
}

static struct lower *open_lower(const char *path)
{
	struct lower *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (l == MAP_FAILED)
		return NULL;
	if ((l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL))) {
		if (resolve(l)) {
			set_up(l);
			return l;
		}
		dlclose(l->handle);
	}
	dlerror();
	munmap(l, sizeof(*l));
	return NULL;
}

static void find(void)
{
	const char *invoke = getenv("INVOKE_ARMPREV");
	char path[PATH_LEN];
	struct lower *l, *none = NULL;

	if ((invoke && strcmp(invoke, "false") == 0) || !which(path) || !(l = open_lower(path)))
		return;
	if (!cas(&rt_lower, &none, l)) {
		dlclose(l->handle);
		munmap(l, sizeof(*l));
	}
}

/*
 * Looks for the lower library once. Threads that come at the same time all look, and dlopen gives
 * them the same library. No thread waits for another, because a fork may have left the other
 * behind. The lower library may call arm_init while it is being loaded; that call finds no lower
 * library.
 */
void lower_load(void)
{
	static uint32_t looked;
	int state, err = errno;

	if (load_acquire(&looked) || loading)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	loading = 1;
	find();
	loading = 0;
	store_release(&looked, 1);
	pthread_setcancelstate(state, &state);
	errno = err;
}
