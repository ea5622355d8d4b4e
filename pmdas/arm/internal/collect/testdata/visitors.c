/*
 * Processes that come one after the other, count one transaction each and end: so a file of names is
 * without users again and again, and the next user comes at any moment. The argument is their number.
 */
#include <arm.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The library tries five times to find names that stay, which may not be enough here. */
static int visit(void)
{
	int app = -1, tran, tries;

	for (tries = 0; app < 0 && tries < 1000; tries++)
		app = arm_init("Visit", NULL, 0, NULL, 0);
	tran = arm_getid(app, "one", NULL, 0, NULL, 0);
	return arm_stop(arm_start(tran, 0, NULL, 0), ARM_GOOD, 0, NULL, 0);
}

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 0, status;

	for (; left > 0; left--) {
		if (fork() == 0)
			_exit(visit() == 0 ? 0 : 1);
		if (wait(&status) < 0 || status)
			return 1;
	}
	return 0;
}
