/*
 * libarmnull: every call answers zero. A program is linked and shipped with it where there may be
 * no library that measures; any other libarm.so.2 takes its place when the program is run.
 */
#include <arm.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC arm_appl_id_t arm_init(const arm_ptr_t *appname, const arm_ptr_t *appl_user_id, arm_flag_t flags,
			      arm_data_t *data, arm_data_sz_t data_size)
{
	(void)appname;
	(void)appl_user_id;
	(void)flags;
	(void)data;
	(void)data_size;
	return 0;
}

PUBLIC arm_tran_id_t arm_getid(arm_appl_id_t appl_id, const arm_ptr_t *tran_name,
			       const arm_ptr_t *tran_detail, arm_flag_t flags, arm_data_t *data,
			       arm_data_sz_t data_size)
{
	(void)appl_id;
	(void)tran_name;
	(void)tran_detail;
	(void)flags;
	(void)data;
	(void)data_size;
	return 0;
}

PUBLIC arm_start_handle_t arm_start(arm_tran_id_t tran_id, arm_flag_t flags, arm_data_t *data,
				    arm_data_sz_t data_size)
{
	(void)tran_id;
	(void)flags;
	(void)data;
	(void)data_size;
	return 0;
}

PUBLIC arm_ret_stat_t arm_update(arm_start_handle_t arm_handle, arm_flag_t flags, arm_data_t *data,
				 arm_data_sz_t data_size)
{
	(void)arm_handle;
	(void)flags;
	(void)data;
	(void)data_size;
	return 0;
}

PUBLIC arm_ret_stat_t arm_stop(arm_start_handle_t arm_handle, const arm_status_t comp_status,
			       arm_flag_t flags, arm_data_t *data, arm_data_sz_t data_size)
{
	(void)arm_handle;
	(void)comp_status;
	(void)flags;
	(void)data;
	(void)data_size;
	return 0;
}

PUBLIC arm_ret_stat_t arm_end(arm_appl_id_t appl_id, arm_flag_t flags, arm_data_t *data,
			      arm_data_sz_t data_size)
{
	(void)appl_id;
	(void)flags;
	(void)data;
	(void)data_size;
	return 0;
}

/* A correlator of length 0 is none; a program that goes on with it does no harm. */
PUBLIC arm_ret_stat_t arm_correlator_from_traceparent(const char *traceparent, arm_correlator_t *out)
{
	(void)traceparent;
	if (out)
		out->length[0] = out->length[1] = 0;
	return 0;
}

PUBLIC arm_ret_stat_t arm_correlator_to_traceparent(const arm_correlator_t *correlator,
						    char out[ARM_TRACEPARENT_SIZE])
{
	(void)correlator;
	if (out)
		out[0] = 0;
	return 0;
}
