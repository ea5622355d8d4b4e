/* The calls. A misuse gives a line with ERROR. What may be meant, but should be looked at, gives one
 * with INFO. */
#include <string.h>

#include "log.h"

#define PUBLIC __attribute__((visibility("default")))

#define ERROR(w, ...) (who_say(w, " ERROR: " __VA_ARGS__), -1)
#define INFO(w, ...) who_say(w, " INFO: " __VA_ARGS__)

static void reserved(const struct who *w, arm_flag_t flags)
{
	if (flags)
		INFO(w, "flags <%d> are reserved, and to be 0", flags);
}

static void reserved_data(const struct who *w, const arm_data_t *data, int size)
{
	if (data || size)
		INFO(w, "data and data_size <%d> are reserved, and to be 0", size);
}

/* For an identifier that a failed call has returned. The call with it does nothing. */
static int no_operation(const struct who *w, const char *text, int id)
{
	INFO(w, "%s <%d> is no identifier: this call does nothing", text, id);
	return id < 0 ? -1 : 0;
}

static bool too_long(const char *text)
{
	return text && bounded_len(text, NAME_MAX_LEN + 1) > NAME_MAX_LEN;
}

static int bad_name(const struct who *w, const char *name, const char *second)
{
	if (!name || !*name)
		return ERROR(w, "the name is missing");
	return too_long(name) || too_long(second) ? ERROR(w, "a name is longer than %d bytes", NAME_MAX_LEN) : 0;
}

static int log_init(const char *name, const char *user)
{
	struct who w = { "arm_init", NULL, NULL, 0 };
	char login[NAME_MAX_LEN + 1];
	bool is_new;
	int id;

	if (bad_name(&w, name, user))
		return -1;
	if (user && strcmp(user, "*") == 0) {
		login_name(login, sizeof(login));
		user = login;
	}
	if (!(id = log_add_app(name, user ? user : "", &is_new)))
		return ERROR(&w, "more than %d applications", LOG_APPS);
	w.app = log_app(id);
	who_say(&w, " = Appl_id <%d>", id);
	if (!is_new)
		INFO(&w, "begun again, appl_id <%d> is in use <%d> times", id, w.app->uses);
	return id;
}

PUBLIC arm_appl_id_t arm_init(const arm_ptr_t *appname, const arm_ptr_t *appl_user_id, arm_flag_t flags,
			      arm_data_t *data, arm_data_sz_t data_size)
{
	struct who w = { "arm_init", NULL, NULL, 0 };
	struct log_guard g;

	log_enter(&g);
	line_zone();
	reserved(&w, flags);
	reserved_data(&w, data, data_size);
	return log_leave(&g, log_init(appname, appl_user_id));
}

/* Does the work of arm_getid for w's application. */
static int log_getid(struct who *w, int app, const char *name, const char *detail, const arm_data_t *data, int size)
{
	struct log_tran *t;
	struct described d;
	bool is_new, good;
	int id;

	if (bad_name(w, name, detail))
		return -1;
	good = data_describe(&d, data, size);
	if (!(id = log_add_tran(app, name, detail ? detail : "", &d, &is_new)))
		return ERROR(w, "more than %d transactions", LOG_TRANS);
	w->tran = t = log_tran(id);
	if (detail && strcmp(detail, t->detail) != 0)
		INFO(w, "Detail <%s> is ignored, the first one stays", detail);
	else if (detail)
		who_say(w, " Detail <%s>", detail);
	who_say(w, " = Tran_id <%d>", id);
	if (!good)
		log_refused(w, "101", data, size);
	if (is_new)
		log_described(w, &d);
	return id;
}

PUBLIC arm_tran_id_t arm_getid(arm_appl_id_t appl_id, const arm_ptr_t *tran_name,
			       const arm_ptr_t *tran_detail, arm_flag_t flags, arm_data_t *data,
			       arm_data_sz_t data_size)
{
	struct who w = { "arm_getid", NULL, NULL, 0 };
	struct log_guard g;

	log_enter(&g);
	w.app = log_app(appl_id);
	reserved(&w, flags);
	if (appl_id <= 0)
		return log_leave(&g, no_operation(&w, "appl_id", appl_id));
	if (!w.app)
		return log_leave(&g, ERROR(&w, "appl_id <%d> is unknown", appl_id));
	if (!w.app->uses)
		return log_leave(&g, ERROR(&w, "appl_id <%d> has ended", appl_id));
	return log_leave(&g, log_getid(&w, appl_id, tran_name, tran_detail, data, data_size));
}

static int log_begin(struct who *w, int tran, arm_data_t *data, int size)
{
	struct given given;
	int handle = log_add_start(tran);

	if (!handle)
		return ERROR(w, "more than %d transactions run", LOG_STARTS);
	who_say(w, " = Start_handle <%d>", handle);
	w->handle = handle;
	if (log_given(w, DATA_START, data, size, &given)) {
		log_values(w, &given);
		log_correlators(w, &given, tran);
	}
	return handle;
}

PUBLIC arm_start_handle_t arm_start(arm_tran_id_t tran_id, arm_flag_t flags, arm_data_t *data,
				    arm_data_sz_t data_size)
{
	struct who w = { "arm_start", NULL, NULL, 0 };
	struct log_guard g;

	log_enter(&g);
	w.tran = log_tran(tran_id);
	w.app = w.tran ? log_app(w.tran->app) : NULL;
	reserved(&w, flags);
	if (tran_id <= 0)
		return log_leave(&g, no_operation(&w, "tran_id", tran_id));
	if (!w.tran)
		return log_leave(&g, ERROR(&w, "tran_id <%d> is unknown", tran_id));
	if (!w.app->uses)
		return log_leave(&g, ERROR(&w, "tran_id <%d> is of an application that has ended", tran_id));
	return log_leave(&g, log_begin(&w, tran_id, data, data_size));
}

/* Finds out whose handle it is, for arm_update and arm_stop. Above 0: the call goes on. */
static int log_handle(struct who *w, int handle, arm_flag_t flags)
{
	struct log_start *s = log_start(handle);

	if (handle > 0 && !s)
		return log_stopped(handle) ? ERROR(w, "Start_handle <%d> has been stopped before", handle) :
					     ERROR(w, "Start_handle <%d> is unknown", handle);
	if (handle <= 0)
		return no_operation(w, "Start_handle", handle);
	w->tran = log_tran(s->tran);
	w->app = log_app(w->tran->app);
	w->handle = handle;
	reserved(w, flags);
	return 1;
}

PUBLIC arm_ret_stat_t arm_update(arm_start_handle_t arm_handle, arm_flag_t flags, arm_data_t *data,
				 arm_data_sz_t data_size)
{
	struct who w = { "arm_update", NULL, NULL, 0 };
	struct given given;
	struct log_guard g;
	int go;

	log_enter(&g);
	if ((go = log_handle(&w, arm_handle, flags)) <= 0)
		return log_leave(&g, go);
	if (!data && !data_size)
		who_say(&w, "%s", "");
	else if (log_given(&w, DATA_UPDATE, data, data_size, &given))
		log_values(&w, &given);
	return log_leave(&g, 0);
}

static int log_stop(struct who *w, int status, arm_data_t *data, int size)
{
	struct given given;

	if ((unsigned int)status > ARM_FAILED)
		return ERROR(w, "Status <%d> is none of 0, 1 and 2: the transaction goes on", status);
	who_say(w, " Status <%d>", status);
	if (log_given(w, DATA_STOP, data, size, &given))
		log_values(w, &given);
	log_start(w->handle)->handle = 0;
	return 0;
}

PUBLIC arm_ret_stat_t arm_stop(arm_start_handle_t arm_handle, const arm_status_t comp_status,
			       arm_flag_t flags, arm_data_t *data, arm_data_sz_t data_size)
{
	struct who w = { "arm_stop", NULL, NULL, 0 };
	struct log_guard g;
	int go;

	log_enter(&g);
	go = log_handle(&w, arm_handle, flags);
	return log_leave(&g, go > 0 ? log_stop(&w, comp_status, data, data_size) : go);
}

static int log_end(struct who *w, int id)
{
	struct log_app *a = log_app(id);
	uint32_t running;

	if (id <= 0)
		return no_operation(w, "appl_id", id);
	if (!a)
		return ERROR(w, "appl_id <%d> is unknown", id);
	w->app = a;
	if (!a->uses)
		return ERROR(w, "appl_id <%d> has ended before", id);
	who_say(w, " appl_id <%d>", id);
	a->uses--;
	running = log_running(id);
	if (!a->uses && running)
		INFO(w, "<%u> transactions were started and not stopped", running);
	return 0;
}

PUBLIC arm_ret_stat_t arm_end(arm_appl_id_t appl_id, arm_flag_t flags, arm_data_t *data,
			      arm_data_sz_t data_size)
{
	struct who w = { "arm_end", NULL, NULL, 0 };
	struct log_guard g;

	log_enter(&g);
	reserved(&w, flags);
	reserved_data(&w, data, data_size);
	return log_leave(&g, log_end(&w, appl_id));
}
