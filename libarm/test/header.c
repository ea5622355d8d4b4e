/* The header as programs of every standard see it. Compiled, not run. */
#include <arm.h>

typedef char data1_is_256[sizeof(arm_data1_t) == 256 ? 1 : -1];
typedef char data2_is_1024[sizeof(arm_data2_t) == 1024 ? 1 : -1];
typedef char data101_is_344[sizeof(arm_data101_t) == 344 ? 1 : -1];
typedef char correlator_is_168[sizeof(arm_correlator_t) == 168 ? 1 : -1];
typedef char int64_is_8[sizeof(int64) == 8 && sizeof(unsigned64) == 8 ? 1 : -1];
typedef char int32_is_4[sizeof(int32) == 4 && sizeof(unsigned32) == 4 && sizeof(unsigned16) == 2 &&
			sizeof(unsigned8) == 1 && sizeof(bit8) == 1 ? 1 : -1];

int header_test(void);

int header_test(void)
{
	arm_data1_t values;
	char name[] = "name";
	int32 appl_id = arm_init("application", "*", 0, 0, 0);
	arm_tran_id_t tran_id = arm_getid(appl_id, name, 0, 0, 0, 0);
	arm_start_handle_t handle;

	values.format = ARM_FORMAT_DATA;
	values.flags[0] = ARM_CORRELATOR_WANTED;
	values.flags[1] = ARM_METRIC_GIVEN(0) | ARM_STRING_GIVEN;
	values.flags[2] = values.flags[3] = 0;
	values.metric[0].counter32 = 1;
	handle = arm_start(tran_id, 0, (arm_data_t *)&values, (arm_data_sz_t)sizeof(values));
	arm_update(handle, 0, 0, 0);
	arm_stop(handle, ARM_GOOD, 0, 0, 0);
	return arm_end(appl_id, 0, 0, 0) + ARM_CORRELATOR_LENGTH(&values.correlator);
}
