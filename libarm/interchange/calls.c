/*
 * Calls everything once, and prints what was answered: identifiers as +, as long as they are above
 * 0. Whichever library the program is run with is to be called. An argument is the name of the application.
 */
#include <stdio.h>
#include <string.h>

#include <arm.h>

static int id(const char *call, int answer)
{
	printf(answer > 0 ? "%s + " : answer ? "%s - " : "%s 0 ", call);
	return answer;
}

int main(int argc, char **argv)
{
	arm_data101_t meta;
	arm_data1_t data;
	arm_correlator_t c;
	char trace[ARM_TRACEPARENT_SIZE];
	int app, tran, handle;

	memset(&meta, 0, sizeof(meta));
	meta.format = ARM_FORMAT_META;
	meta.flags[1] = ARM_METRIC_GIVEN(0);
	meta.metric[0].type = ARM_Counter32;
	strcpy(meta.metric[0].name, "This is a Counter32 user metric");
	memset(&data, 0, sizeof(data));
	data.format = ARM_FORMAT_DATA;
	data.flags[1] = ARM_METRIC_GIVEN(0);

	app = id("init", arm_init(argc > 1 ? argv[1] : "Appl_0", "User_0", 0, NULL, 0));
	tran = id("getid", arm_getid(app, "Tran_0", "This is transaction type 0", 0, (arm_data_t *)&meta, sizeof(meta)));
	handle = id("start", arm_start(tran, 0, (arm_data_t *)&data, sizeof(data)));
	data.metric[0].counter32 = 2;
	id("update", arm_update(handle, 0, (arm_data_t *)&data, sizeof(data)));
	data.metric[0].counter32 = 4;
	id("stop", arm_stop(handle, ARM_GOOD, 0, (arm_data_t *)&data, sizeof(data)));
	id("again", arm_stop(handle, ARM_GOOD, 0, NULL, 0));
	id("end", arm_end(app, 0, NULL, 0));
	id("from", arm_correlator_from_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", &c));
	id("to", arm_correlator_to_traceparent(&c, trace));
	printf("<%s>\n", trace);
	return 0;
}
