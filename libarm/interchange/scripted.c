/* A lower library that answers what the test says, and remembers what it was called with. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <arm.h>

#include "scripted.h"

struct script script;

static void note(const char *call, long long id, const char *name, arm_flag_t flags, int size)
{
	size_t len = strlen(script.calls);

	snprintf(script.calls + len, sizeof(script.calls) - len, "%s(%lld%s%s,%d,%d) ", call, id, name ? "," : "",
		 name ? name : "", flags, size);
}

/* Comes back to the library above, as one that does not bind its own calls would. */
static void call_back(void)
{
	arm_start_handle_t (*start)(arm_tran_id_t, arm_flag_t, arm_data_t *, arm_data_sz_t);
	void *found = script.calls_back ? dlsym(RTLD_DEFAULT, "arm_start") : NULL;

	if (!found)
		return;
	memcpy(&start, &found, sizeof(found));
	script.called_back = start(script.calls_back, 0, NULL, 0);
}

static unsigned long long taken; /* a bit for each of the numbers 1 to 64 */

static int take_number(void)
{
	unsigned long long old = __atomic_load_n(&taken, __ATOMIC_ACQUIRE);

	while (!__atomic_compare_exchange_n(&taken, &old, old | (old + 1), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	return __builtin_ctzll(~old) + 1;
}

static int free_number(int number)
{
	__atomic_fetch_and(&taken, ~(1ull << (number - 1)), __ATOMIC_ACQ_REL);
	return 0;
}

arm_appl_id_t arm_init(const arm_ptr_t *name, const arm_ptr_t *user, arm_flag_t flags, arm_data_t *data,
		       arm_data_sz_t size)
{
	(void)user;
	(void)data;
	if (!script.quiet)
		note("init", 0, name, flags, size);
	return script.answer;
}

arm_tran_id_t arm_getid(arm_appl_id_t app, const arm_ptr_t *name, const arm_ptr_t *detail, arm_flag_t flags,
			arm_data_t *data, arm_data_sz_t size)
{
	(void)detail;
	(void)data;
	note("getid", app, name, flags, size);
	return script.answer;
}

arm_start_handle_t arm_start(arm_tran_id_t tran, arm_flag_t flags, arm_data_t *data, arm_data_sz_t size)
{
	if (!script.quiet)
		note("start", tran, NULL, flags, size);
	call_back();
	if (script.correlator && data && size == 256) {
		data[4] |= ARM_CORRELATOR_GIVEN;
		memcpy(data + 88, "\0\005low", 5);
	}
	if (script.reusing)
		return take_number();
	return script.counting ? __atomic_add_fetch(&script.answer, 1, __ATOMIC_RELAXED) : script.answer;
}

arm_ret_stat_t arm_update(arm_start_handle_t handle, arm_flag_t flags, arm_data_t *data, arm_data_sz_t size)
{
	(void)data;
	note("update", handle, NULL, flags, size);
	return script.answer;
}

arm_ret_stat_t arm_stop(arm_start_handle_t handle, const arm_status_t status, arm_flag_t flags, arm_data_t *data,
			arm_data_sz_t size)
{
	(void)data;
	(void)status;
	if (!script.quiet)
		note("stop", handle, NULL, flags, size);
	if (script.reusing)
		return free_number(handle);
	return script.counting ? 0 : script.answer;
}

arm_ret_stat_t arm_end(arm_appl_id_t app, arm_flag_t flags, arm_data_t *data, arm_data_sz_t size)
{
	(void)data;
	note("end", app, NULL, flags, size);
	return script.answer;
}
