/* The interface. flags are reserved, and so are the data of arm_init and arm_end. Only a lower
 * library gets them. */
#include "lower.h"

#define REST ((struct rest){ flags, data, data_size })

#define PUBLIC __attribute__((visibility("default")))

PUBLIC arm_appl_id_t arm_init(const arm_ptr_t *appname, const arm_ptr_t *appl_user_id, arm_flag_t flags,
			      arm_data_t *data, arm_data_sz_t data_size)
{
	lower_load();
	if (unlikely(RT_LOWER))
		return lower_init(appname, appl_user_id, REST);
	return rtarm_init(appname, appl_user_id);
}

PUBLIC arm_tran_id_t arm_getid(arm_appl_id_t appl_id, const arm_ptr_t *tran_name,
			       const arm_ptr_t *tran_detail, arm_flag_t flags, arm_data_t *data,
			       arm_data_sz_t data_size)
{
	if (unlikely(RT_LOWER))
		return lower_getid(appl_id, tran_name, tran_detail, REST);
	return rtarm_getid(appl_id, tran_name, tran_detail, data, data_size);
}

PUBLIC arm_start_handle_t arm_start(arm_tran_id_t tran_id, arm_flag_t flags, arm_data_t *data,
				    arm_data_sz_t data_size)
{
	if (unlikely(RT_LOWER))
		return lower_start(tran_id, REST);
	return rtarm_start(tran_id, data, data_size);
}

PUBLIC arm_ret_stat_t arm_update(arm_start_handle_t arm_handle, arm_flag_t flags, arm_data_t *data,
				 arm_data_sz_t data_size)
{
	if (unlikely(RT_LOWER))
		return lower_update(arm_handle, REST);
	return rtarm_update(arm_handle, data, data_size);
}

PUBLIC arm_ret_stat_t arm_stop(arm_start_handle_t arm_handle, const arm_status_t comp_status,
			       arm_flag_t flags, arm_data_t *data, arm_data_sz_t data_size)
{
	if (unlikely(RT_LOWER))
		return lower_stop(arm_handle, comp_status, REST);
	return rtarm_stop(arm_handle, comp_status, data, data_size);
}

PUBLIC arm_ret_stat_t arm_end(arm_appl_id_t appl_id, arm_flag_t flags, arm_data_t *data,
			      arm_data_sz_t data_size)
{
	if (unlikely(RT_LOWER))
		return lower_end(appl_id, REST);
	return rtarm_end(appl_id);
}
