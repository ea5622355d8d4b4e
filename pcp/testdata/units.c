/* Read units line by line and print the word that pmParseUnitsStr(3) makes of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>

int
main(void)
{
    char line[256], *error;
    struct pmUnits units;
    unsigned int word;
    double factor;

    while (fgets(line, sizeof(line), stdin) != NULL) {
	line[strcspn(line, "\n")] = '\0';
	error = NULL;
	memset(&units, 0, sizeof(units));
	if (pmParseUnitsStr(line, &units, &factor, &error) < 0) {
	    printf("error %s\n", error);
	    free(error);
	    continue;
	}
	memcpy(&word, &units, sizeof(word));
	printf("%08x\n", word);
    }
    return 0;
}
