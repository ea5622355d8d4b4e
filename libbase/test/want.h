/* What the tests say when something is not so. */
#ifndef WANT_H
#define WANT_H

#include <stdio.h>
#include <stdlib.h>

#define WANT(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			exit(1); \
		} \
	} while (0)

#endif
