/*
 * A supplier of forty paths, for a test in Go: with each line that it reads it becomes one,
 * says in a line how that went (0 or an error code), and is none any more with the next line.
 * The argument is "up" or "down", the order in which its table has the paths.
 */
#include <stdio.h>
#include <string.h>

#include <sys/Spmidef.h>

enum { PATHS = 40 };

int main(int argc, char **argv)
{
	static cx_create table[1 + PATHS];
	char line[16];
	int i, on = 0;

	strcpy(table[0].path, "DDS/V");
	for (i = 0; i < PATHS; i++)
		sprintf(table[1 + i].path, "DDS/V/p%d", argc > 1 && strcmp(argv[1], "down") == 0 ? PATHS - 1 - i : i);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (on) {
			SpmiExit();
			on = 0;
			puts("off");
			continue;
		}
		on = SpmiDdsInit(table, 1 + PATHS, NULL, 0, "/dev/null") != NULL;
		printf("%d\n", SpmiErrno);
		if (!on && SpmiErrno == SiSuccess)
			return 1;
		if (!on) { /* so that both sides count the same lines */
			if (!fgets(line, sizeof(line), stdin))
				return 0;
			puts("off");
		}
	}
	return 0;
}
