/*
 * Prints the numbers of an application and three transactions, each measured once as the
 * child of the correlator given in hexadecimal, and the correlator of a trace context.
 */
#include <stdio.h>
#include <string.h>
#include <arm.h>

static int from_hex(unsigned char *to, const char *text)
{
	int n = 0;

	for (; sscanf(text, "%2hhx", to) == 1; text += 2, to++)
		n++;
	return n;
}

int main(int argc, char **argv)
{
	static struct {
		int format;
		unsigned char flags[4], metrics[80], correlator[168];
	} data = { 1, { 0x80 }, { 0 }, { 0 } };
	const char *names[] = { "C first", "sha red", "Go first" };
	arm_correlator_t context;
	arm_appl_id_t app;
	int i;

	if (argc != 3)
		return 2;
	from_hex(data.correlator, argv[1]);
	app = arm_init("Shared Application", "*", 0, 0, 0);
	for (i = 0; i < 3; i++) {
		arm_tran_id_t tran = arm_getid(app, (char *)names[i], 0, 0, 0, 0);
		arm_start_handle_t handle = arm_start(tran, 0, (void *)&data, sizeof(data));

		printf("%d %d %d\n", (int)app, (int)tran, (int)arm_stop(handle, ARM_GOOD, 0, 0, 0));
	}
	if (arm_correlator_from_traceparent(argv[2], &context) != 0)
		return 3;
	for (i = 0; i < 47; i++)
		printf("%02x", ((unsigned char *)&context)[i]);
	printf("\n");
	return 0;
}
