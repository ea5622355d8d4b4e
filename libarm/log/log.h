/*
 * libarmlog: writes each call into a text file, for testing that a program calls as it should.
 * It measures nothing. All of its state is behind one lock, with signals blocked; it allocates
 * no memory, so that signal handlers may call it, too.
 */
#ifndef ARMLOG_H
#define ARMLOG_H

#include <signal.h>
#include <stdarg.h>

#include "internal.h"

/* guard.c */
/* Keeps errno, cancellation and signals away from the program while the lock is held. */
struct log_guard {
	int err, cancel;
	bool pending; /* a signal that a write may raise was pending before */
	sigset_t signals;
};
void log_enter(struct log_guard *g);
int log_leave(struct log_guard *g, int answer);

/* A line of the log. */
struct line {
	char text[3072];
	size_t len;
};

/* line.c */
void line_zone(void);
void line_begin(struct line *l, const char *call);
void line_add(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void line_vadd(struct line *l, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void line_bytes(struct line *l, const uint8_t *from, uint32_t n);
void line_hex(struct line *l, const uint8_t *from, uint32_t n);
void line_end(struct line *l);

/* names.c: what the program has begun. */
enum { LOG_APPS = 1024, LOG_TRANS = 8192, LOG_STARTS = 65536 };

struct log_app {
	char name[NAME_MAX_LEN + 1], user[NAME_MAX_LEN + 1];
	int uses;
};

struct log_tran {
	int app;
	char name[NAME_MAX_LEN + 1], detail[NAME_MAX_LEN + 1];
	struct described described;
};

struct log_start {
	int handle, tran; /* handle is 0 when nothing runs there */
};

struct log_app *log_app(int id);
struct log_tran *log_tran(int id);
struct log_start *log_start(int handle);
bool log_stopped(int handle);
int log_add_app(const char *name, const char *user, bool *is_new);
int log_add_tran(int app, const char *name, const char *detail, const struct described *d, bool *is_new);
int log_add_start(int tran);
uint32_t log_running(int app);

/* data.c: what the buffers say. who holds what a line begins with. */
struct who {
	const char *call;
	const struct log_app *app;
	const struct log_tran *tran;
	int handle; /* 0: none */
};
void who_begin(struct line *l, const struct who *w);
void who_say(const struct who *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_described(const struct who *w, const struct described *d);
void log_refused(const struct who *w, const char *formats, const arm_data_t *data, int size);
bool log_given(const struct who *w, enum data_call call, arm_data_t *data, int size, struct given *g);
void log_values(const struct who *w, const struct given *g);
void log_correlators(const struct who *w, const struct given *g, int tran);

#endif
