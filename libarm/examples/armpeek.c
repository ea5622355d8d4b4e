/*
 * armpeek: asks the pmcd of a host about itself, and has each question measured.
 *
 *	armpeek [-a | -l] [HOST]
 *
 * Without a flag it says whether pmcd answers; -l lists the agents that it runs, -a all
 * metrics. It is the instrumented sample program of the Performance Toolbox guide, for PCP: the
 * application is called armpeek, and there is a transaction for each combination of host and
 * flag, such as myhost-l; "armpeek" alone is localhost. What a transaction consists of is an
 * application of its own, "armpeek steps", and its transactions are children of the former.
 *
 *	cc -o armpeek armpeek.c -larm -lpcp
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arm.h>
#include <pcp/pmapi.h>

enum { CONNECT, ASK, STEPS };

static const char *const step_names[STEPS] = { "connect", "ask" };
static arm_tran_id_t steps[STEPS];
static unsigned int lines;

static void print_line(const char *line)
{
	puts(line);
	lines++;
}

static int is_alive(void)
{
	print_line("pmcd answers");
	return 0;
}

static int agents(void)
{
	const char *name = "pmcd.agent.status";
	pmID id;
	pmDesc desc;
	int *numbers, i, n;
	char **names;

	if ((n = pmLookupName(1, &name, &id)) < 0 || (n = pmLookupDesc(id, &desc)) < 0)
		return n;
	if ((n = pmGetInDom(desc.indom, &numbers, &names)) < 0)
		return n;
	for (i = 0; i < n; i++)
		print_line(names[i]);
	if (n > 0) {
		free(numbers);
		free(names);
	}
	return 0;
}

static int metrics(void)
{
	int n = pmTraversePMNS("", print_line);

	return n < 0 ? n : 0;
}

/* A step is a child of the transaction whose correlator it is given. */
static arm_start_handle_t start_step(int step, const arm_correlator_t *parent)
{
	arm_data1_t data;

	memset(&data, 0, sizeof(data));
	data.format = ARM_FORMAT_DATA;
	if (ARM_CORRELATOR_LENGTH(parent) > 0) {
		data.flags[0] = ARM_PARENT_GIVEN;
		data.correlator = *parent;
	}
	return arm_start(steps[step], 0, (arm_data_t *)&data, sizeof(data));
}

/* What the system failed is aborted, what PCP refuses is failed. */
static arm_status_t status_of(int error)
{
	switch (error) {
	case PM_ERR_TIMEOUT:
	case PM_ERR_IPC:
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EPIPE:
	case -ETIMEDOUT:
		return ARM_ABORT;
	}
	return error < 0 ? ARM_FAILED : ARM_GOOD;
}

static int connect_to(const char *host, const arm_correlator_t *parent)
{
	arm_start_handle_t handle = start_step(CONNECT, parent);
	int context = pmNewContext(PM_CONTEXT_HOST, host);

	arm_stop(handle, status_of(context), 0, NULL, 0);
	return context;
}

static int ask(int (*question)(void), const arm_correlator_t *parent)
{
	arm_start_handle_t handle = start_step(ASK, parent);
	int error = question();

	arm_stop(handle, status_of(error), 0, NULL, 0);
	return error;
}

/* A transaction's one metric: how many lines the answer has. */
static arm_tran_id_t define(arm_appl_id_t app, const char *name)
{
	arm_data101_t meta;

	memset(&meta, 0, sizeof(meta));
	meta.format = ARM_FORMAT_META;
	meta.flags[1] = ARM_METRIC_GIVEN(0);
	meta.metric[0].type = ARM_Gauge64;
	strcpy(meta.metric[0].name, "lines of the answer");
	return arm_getid(app, name, "question to pmcd", 0, (arm_data_t *)&meta, sizeof(meta));
}

static int peek(arm_tran_id_t tran, const char *host, int (*question)(void))
{
	static const arm_correlator_t none;
	arm_start_handle_t handle;
	arm_data1_t data;
	int error;

	memset(&data, 0, sizeof(data));
	data.format = ARM_FORMAT_DATA;
	data.flags[0] = ARM_CORRELATOR_WANTED;
	handle = arm_start(tran, 0, (arm_data_t *)&data, sizeof(data));
	if (!(data.flags[0] & ARM_CORRELATOR_GIVEN))
		data.correlator = none;
	error = connect_to(host, &data.correlator);
	if (error >= 0)
		error = ask(question, &data.correlator);
	data.flags[0] = 0;
	data.flags[1] = ARM_METRIC_GIVEN(0);
	data.metric[0].gauge64 = lines;
	arm_stop(handle, status_of(error), 0, (arm_data_t *)&data, sizeof(data));
	return error;
}

int main(int argc, char **argv)
{
	int (*question)(void) = is_alive;
	char name[ARM_NAME_MAX];
	const char *flag = "", *host;
	arm_appl_id_t app, parts;
	int c, i, error;

	while ((c = getopt(argc, argv, "al")) != -1) {
		if (c == '?' || *flag) {
			fprintf(stderr, "usage: armpeek [-a | -l] [HOST]\n");
			return 2;
		}
		flag = c == 'a' ? "-a" : "-l";
		question = c == 'a' ? metrics : agents;
	}
	host = optind < argc ? argv[optind] : "localhost";

	/* None of these calls need be checked: what they answer when they fail does nothing. */
	app = arm_init("armpeek", "*", 0, NULL, 0);
	parts = arm_init("armpeek steps", "*", 0, NULL, 0);
	for (i = 0; i < STEPS; i++)
		steps[i] = arm_getid(parts, step_names[i], NULL, 0, NULL, 0);
	snprintf(name, sizeof(name), "%s%s", host, flag);

	error = peek(define(app, name), host, question);
	arm_end(parts, 0, NULL, 0);
	arm_end(app, 0, NULL, 0);
	if (error < 0)
		fprintf(stderr, "armpeek: %s: %s\n", host, pmErrStr(error));
	return error < 0;
}
