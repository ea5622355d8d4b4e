/*
 * Lines of the log file: its name is ARM_LOGFILE, or "logfile" in the directory that the program
 * is in at its first call. Each line is appended by one write, so that processes can share the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

static struct held file = { .fd = -1 };
static char path[4096];
static long zone; /* seconds that the local time is ahead */

/* Looks up the time zone. Signal handlers do not call this. */
void line_zone(void)
{
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm))
		zone = tm.tm_gmtoff;
}

static bool find_path(void)
{
	const char *name = getenv("ARM_LOGFILE");
	size_t used = 0;

	if (path[0])
		return true;
	if (!name || !*name)
		name = "logfile";
	if (*name != '/' && getcwd(path, sizeof(path) - 1)) {
		used = strlen(path);
		path[used++] = '/';
	}
	if (strlen(name) < sizeof(path) - used && (used || *name == '/'))
		strcpy(path + used, name);
	else
		path[0] = 0;
	return path[0] != 0;
}

/* Opens the log, if it is not open. A setuid program writes none, because its environment must not
 * say what it writes. A pipe is refused, because a write to it might block. */
static bool reopen(void)
{
	struct stat st;
	int fd;

	if (holds(&file))
		return true;
	file.fd = -1;
	if (getauxval(AT_SECURE) || !find_path())
		return false;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode))) {
		close(fd);
		return false;
	}
	return hold(&file, fd) == 0;
}

void line_begin(struct line *l, const char *call)
{
	struct timespec now;
	long seconds;

	clock_gettime(CLOCK_REALTIME, &now);
	seconds = (long)(((long long)now.tv_sec + zone) % 86400);
	l->len = 0;
	line_add(l, "%02ld:%02ld:%02ld.%03ld: %s:", seconds / 3600, seconds / 60 % 60, seconds % 60,
		 now.tv_nsec / 1000000, call);
}

void line_vadd(struct line *l, const char *format, va_list args)
{
	size_t room = sizeof(l->text) - 1 - l->len;
	int n = vsnprintf(l->text + l->len, room, format, args);

	if (n > 0)
		l->len += (size_t)n < room ? (size_t)n : room - 1;
}

void line_add(struct line *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_vadd(l, format, args);
	va_end(args);
}

void line_bytes(struct line *l, const uint8_t *from, uint32_t n)
{
	uint32_t room = (uint32_t)(sizeof(l->text) - 1 - l->len);

	n = n < room ? n : room;
	memcpy(l->text + l->len, from, n);
	l->len += n;
}

void line_hex(struct line *l, const uint8_t *from, uint32_t n)
{
	for (; n; n--)
		line_add(l, "%02x", *from++);
}

/* Whatever a program passes makes one line of the log, not several. */
void line_end(struct line *l)
{
	size_t i;
	ssize_t done;

	for (i = 0; i < l->len; i++)
		if ((unsigned char)l->text[i] < ' ' || l->text[i] == 127)
			l->text[i] = '?';
	l->text[l->len] = '\n';
	if (!reopen())
		return;
	do
		done = write(file.fd, l->text, l->len + 1);
	while (done < 0 && errno == EINTR);
}
