/*
 * Takes orders from standard input, a line each, and answers "ok" and a number:
 *
 *	random SEED [PROGRAM]    kills 64 processes at random points
 *	step WHAT FROM STRIDE    kills 64, the i-th after FROM + i * STRIDE instructions
 *	calls WHAT FROM STRIDE   the same, entries into the kernel and returns counted instead
 *	both WHAT FROM STRIDE    the same, and up to 198 instructions more
 *	newcomer                 a process finds names and identifiers as they were
 *	end                      the process that has been counting all the time ends
 *
 * Its arguments are the file of notes and the directory of segments.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kill.h"

struct victim *victims;
static int witness_end[2];
static pid_t witness_pid;

uint32_t draw(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* A process that does not outlive this one. */
pid_t child(void)
{
	pid_t parent = getpid(), pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		MUST(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
		if (getppid() != parent)
			_exit(1);
		close(witness_end[1]);
	}
	return pid;
}

/* Waits for the end of a process, by this signal or, if it is 0, with success. */
void end_of(pid_t pid, int how)
{
	int status;

	MUST(waitpid(pid, &status, 0) == pid);
	MUST(how ? WIFSIGNALED(status) && WTERMSIG(status) == how : status == 0);
}

static void begin_witness(void)
{
	MUST(pipe(witness_end) == 0);
	if ((witness_pid = child()) == 0)
		witness(witness_end[0]);
	close(witness_end[0]);
	while (!__atomic_load_n(&victims[WITNESS].thread[0].stopped[0], __ATOMIC_ACQUIRE))
		nap(1000); /* the others find its names */
}

static void end_witness(void)
{
	close(witness_end[1]);
	end_of(witness_pid, 0);
}

static int order(char *line)
{
	char *what = strtok(line, " \n"), *first = strtok(NULL, " \n"), *second = strtok(NULL, " \n");
	char *third = strtok(NULL, " \n");

	if (strcmp(what, "newcomer") == 0) {
		newcomer();
		return 0;
	}
	if (strcmp(what, "end") == 0) {
		end_witness();
		return 0;
	}
	memset(victims, 0, VICTIMS * sizeof(*victims));
	if (strcmp(what, "random") == 0) {
		kill_random((uint32_t)atoi(first), second);
		return 0;
	}
	return kill_steps(first, *what == 's' ? BY_STEP : *what == 'c' ? BY_CALL : BY_BOTH, atol(second), atol(third));
}

int main(int argc, char **argv)
{
	char line[4096];
	int fd;

	MUST(argc == 3);
	MUST(setenv("KILL_NOTES", argv[1], 1) == 0 && setenv("RTIME_ARM_DIR", argv[2], 1) == 0);
	MUST((fd = open(argv[1], O_RDWR)) >= 0);
	victims = mmap(NULL, (VICTIMS + 1) * sizeof(*victims), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(victims != MAP_FAILED);
	begin_witness();
	while (fgets(line, sizeof(line), stdin)) {
		printf("ok %d\n", order(line));
		fflush(stdout);
	}
	return 0;
}
