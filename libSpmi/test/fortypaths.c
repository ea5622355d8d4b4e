/*
 * A supplier of some of forty paths, for a test in Go. When it reads a line it publishes and
 * prints the result: 0 or an error code. When it reads the next line it withdraws, and so on.
 * The arguments are "up" or "down", which is the order of the paths in its table, and the
 * first and the last path.
 */
#include <stdio.h>
#include <string.h>

#include <sys/Spmidef.h>

enum { PATHS = 40 };

int main(int argc, char **argv)
{
	static cx_create table[1 + PATHS];
	char line[16];
	int i, on = 0, first = 0, last = PATHS - 1, n;

	if (argc != 4 || sscanf(argv[2], "%d", &first) != 1 || sscanf(argv[3], "%d", &last) != 1 ||
	    first < 0 || last < first || last >= PATHS)
		return 2;
	n = last - first + 1;
	strcpy(table[0].path, "DDS/V");
	for (i = 0; i < n; i++)
		sprintf(table[1 + i].path, "DDS/V/p%d", strcmp(argv[1], "down") == 0 ? last - i : first + i);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (on) {
			SpmiExit();
			on = 0;
			puts("off");
			continue;
		}
		on = SpmiDdsInit(table, 1 + n, NULL, 0, "/dev/null") != NULL;
		printf("%d\n", SpmiErrno);
		if (!on && SpmiErrno == SiSuccess)
			return 1;
		if (!on) { /* so that both sides have counted the same number of lines */
			if (!fgets(line, sizeof(line), stdin))
				return 0;
			puts("off");
		}
	}
	return 0;
}
