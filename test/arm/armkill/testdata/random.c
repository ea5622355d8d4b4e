/* Kills at random points. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kill.h"

enum { AT_ONCE = 4 };

static uint64_t progress(int i)
{
	uint64_t n = 0;
	int k;

	for (k = 0; k < THREADS; k++)
		n += __atomic_load_n(&victims[i].thread[k].begun, __ATOMIC_ACQUIRE);
	return n;
}

void nap(long us)
{
	struct timespec t = { 0, us * 1000 };

	nanosleep(&t, NULL);
}

static pid_t spawn(int i, uint32_t seed, const char *exe)
{
	char number[16];
	pid_t pid = child();

	if (pid)
		return pid;
	if (!exe)
		works(i, seed);
	snprintf(number, sizeof(number), "%d", i);
	execl(exe, exe, number, (char *)NULL);
	_exit(127);
}

/* Some at any time after their birth, most when they have done something. */
static void slay(pid_t pid, int i, uint32_t *seed)
{
	uint64_t goal = draw(seed) % 4 ? 1 + draw(seed) % 500 : 0;

	if (!goal)
		nap(draw(seed) % 2000);
	while (progress(i) < goal) {
		int status;

		MUST(waitpid(pid, &status, WNOHANG) == 0);
		nap(20);
	}
	MUST(kill(pid, SIGKILL) == 0);
	end_of(pid, SIGKILL);
}

/* The oldest of some that all work goes first. */
void kill_random(uint32_t seed, const char *exe)
{
	pid_t pids[VICTIMS];
	int i;

	seed = seed * 2654435761u | 1;
	for (i = 0; i < VICTIMS + AT_ONCE; i++) {
		if (i >= AT_ONCE)
			slay(pids[i - AT_ONCE], i - AT_ONCE, &seed);
		if (i < VICTIMS)
			pids[i] = spawn(i, draw(&seed), exe);
	}
}
