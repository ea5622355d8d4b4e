/* SpmiErrno and SpmiErrmsg. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

#define EXPORT __attribute__((visibility("default")))

/* Programs bind to this object at its size: it must never change. */
EXPORT char SpmiErrmsg[256];
EXPORT int SpmiErrno;

/* The thread that publishes late, or 0. Its errors are not shown to the program. */
static uintptr_t silent;

void spmi_set_silent(bool on)
{
	__atomic_store_n(&silent, on ? (uintptr_t)pthread_self() : 0, __ATOMIC_RELAXED);
}

static bool is_silent(void)
{
	return __atomic_load_n(&silent, __ATOMIC_RELAXED) == (uintptr_t)pthread_self();
}

void spmi_ok(void)
{
	if (is_silent())
		return;
	SpmiErrno = SiSuccess;
	SpmiErrmsg[0] = 0;
}

int spmi_fail(int code, const char *format, ...)
{
	va_list args;

	if (is_silent())
		return code;
	va_start(args, format);
	vsnprintf(SpmiErrmsg, sizeof(SpmiErrmsg), format, args);
	va_end(args);
	SpmiErrno = code;
	return code;
}

/* The texts are English whatever the program's locale, and need no memory. */
static const char *text_of(int err)
{
	switch (err) {
	case EACCES:
	case EPERM: return "permission denied";
	case ENOENT: return "no such file or directory";
	case ENOTDIR: return "not a directory";
	case EISDIR: return "is a directory";
	case ELOOP: return "is a symbolic link";
	case EROFS: return "read-only file system";
	case ENOSPC:
	case EDQUOT: return "no space left";
	case ENOMEM: return "out of memory";
	case EMFILE:
	case ENFILE: return "too many open files";
	case EFBIG: return "larger than allowed";
	case ENAMETOOLONG: return "name too long";
	case EAGAIN: return "resource temporarily unavailable";
	}
	return NULL;
}

/* The SPMI's code for an error of the system. */
int spmi_error_code(int err)
{
	switch (err) {
	case ENOSPC:
	case EDQUOT:
	case ENOMEM:
	case EFBIG:
	case EAGAIN: return SiCallocFailed;
	case ENOENT: return SiNoShmPtr;
	}
	return SiShmemFailed;
}

int spmi_fail_errno(const char *what, int err)
{
	const char *text = text_of(err);

	if (text)
		return spmi_fail(spmi_error_code(err), "%s: %s", what, text);
	return spmi_fail(spmi_error_code(err), "%s: error %d", what, err);
}
