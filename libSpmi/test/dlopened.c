/* Loads, uses and unloads the library at run time. Its argument is the library. */
#include <dlfcn.h>

#include "helpers.h"

/* The macros of helpers.h need these; the program is not linked with the library. */
int SpmiErrno;
char SpmiErrmsg[256];

/* Address space in use, in bytes. */
static uint64_t space(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%llu", &pages) == 1);
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
	uint64_t before = space();
	int i;

	CHECK(argc == 2);
	make_dir();
	for (i = 0; i < 100; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		SpmiShare *(*init)(const cx_create *, int, const cx_create *, int, const char *, ...);
		char *(*add)(int, const char *, const char *, int);
		void (*leave)(void);
		SpmiShare *share;

		CHECK(lib);
		*(void **)&init = dlsym(lib, "SpmiDdsInit");
		*(void **)&add = dlsym(lib, "SpmiDdsAddCx");
		*(void **)&leave = dlsym(lib, "SpmiExit");
		CHECK(init && add && leave);
		share = init(guide_table, 4, guide_inst, 2, test_file);
		CHECK(share && add(0, "DDS/IBM/Moretest/Bingo", "x", 1));
		CHECK(count_files(".dds", NULL) == 1);
		if (i % 2)
			leave();
		CHECK(dlclose(lib) == 0);
		CHECK(count_files("", NULL) == 0);
		((struct dat *)share->SiShArea)->a = 1; /* as by a thread that has not noticed yet */
	}
	/* At least 64 MiB are reserved for a segment to grow. */
	CHECK(space() < before + (64 << 20));
	return done();
}
