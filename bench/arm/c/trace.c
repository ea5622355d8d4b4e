/*
 * Prints what a pair of pmtracebegin and pmtraceend takes in nanoseconds, waiting for the agent's
 * answer (sync) or not (async): the best of some batches. "tags N" makes N tags known instead.
 *
 * cc -O2 -o trace trace.c -l:libpcp_trace.so.2
 */
#include "batch.h"

#include <string.h>
#include <unistd.h>

/* pcp/trace.h is not in every package of PCP. */
extern int pmtracebegin(const char *tag);
extern int pmtraceend(const char *tag);
extern char *pmtraceerrstr(int code);
extern int pmtracestate(int flags);

enum { ASYNC = 32, BATCHES = 40, BATCH = 50, REST_US = 5000 };

static void pair(const char *tag)
{
	int e = pmtracebegin(tag);

	if (e >= 0)
		e = pmtraceend(tag);
	if (e < 0) {
		fprintf(stderr, "trace: %s\n", pmtraceerrstr(e));
		exit(1);
	}
}

static void tags(int n)
{
	char tag[32];

	while (n--) {
		snprintf(tag, sizeof(tag), "tag%d", n);
		pair(tag);
	}
}

int main(int argc, char **argv)
{
	double best = 1e9;
	int64_t begin;
	int i, j;

	if (argc > 2) {
		tags(atoi(argv[2]));
		return 0;
	}
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "async") == 0)
		pmtracestate(ASYNC);
	for (i = 0; i < BATCHES; i++) {
		begin = clock_ns();
		for (j = 0; j < BATCH; j++)
			pair("bench");
		lower(&best, (double)(clock_ns() - begin) / BATCH);
		usleep(REST_US); /* the agent catches up: it must not stall the socket */
	}
	printf("%.0f\n", best);
	return 0;
}
