/* SpmiErrno and SpmiErrmsg. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define EXPORT __attribute__((visibility("default")))

/* Programs are linked with this object and its size. The size must never change. */
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

/*
 * The thread that is inside the reading half, or 0. Its error is collected separately,
 * and shown when its call ends.
 */
static uintptr_t collecting;
static char collected_text[sizeof(SpmiErrmsg)];
static int collected;

uintptr_t spmi_collect(uintptr_t thread)
{
	return __atomic_exchange_n(&collecting, thread, __ATOMIC_RELAXED);
}

void spmi_show_collected(void)
{
	SpmiErrno = collected;
	memcpy(SpmiErrmsg, collected_text, sizeof(SpmiErrmsg));
}

int spmi_collected(void)
{
	return collected;
}

static bool is_collecting(void)
{
	return __atomic_load_n(&collecting, __ATOMIC_RELAXED) == (uintptr_t)pthread_self();
}

void spmi_ok(void)
{
	if (is_silent())
		return;
	if (is_collecting()) {
		collected = SiSuccess;
		collected_text[0] = 0;
		return;
	}
	SpmiErrno = SiSuccess;
	SpmiErrmsg[0] = 0;
}

int spmi_fail(int code, const char *format, ...)
{
	va_list args;

	if (is_silent())
		return code;
	va_start(args, format);
	if (is_collecting()) {
		vsnprintf(collected_text, sizeof(collected_text), format, args);
		collected = code;
	} else {
		vsnprintf(SpmiErrmsg, sizeof(SpmiErrmsg), format, args);
		SpmiErrno = code;
	}
	va_end(args);
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
