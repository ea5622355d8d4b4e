/* The library is loaded, used and unloaded at run time, and threads that have used it end later.
 * The argument is the library. */
#include <dlfcn.h>

#include "seen.h"

struct calls {
	arm_appl_id_t (*init)(const char *, const char *, int, char *, int);
	arm_tran_id_t (*getid)(int, const char *, const char *, int, char *, int);
	arm_start_handle_t (*start)(int, int, char *, int);
	arm_ret_stat_t (*stop)(int, int, int, char *, int);
};

static struct calls calls;
static int tran;
static pthread_barrier_t gate;

static void *works(void *unused)
{
	CHECK_EQ(calls.stop(calls.start(tran, 0, NULL, 0), 0, 0, NULL, 0), 0);
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate); /* it is unloaded meanwhile */
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int i;

	CHECK(argc == 2);
	make_dir();
	pthread_barrier_init(&gate, NULL, 2);
	for (i = 0; i < 50; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);

		CHECK(lib);
		*(void **)&calls.init = dlsym(lib, "arm_init");
		*(void **)&calls.getid = dlsym(lib, "arm_getid");
		*(void **)&calls.start = dlsym(lib, "arm_start");
		*(void **)&calls.stop = dlsym(lib, "arm_stop");
		CHECK(calls.init && calls.getid && calls.start && calls.stop);
		tran = calls.getid(calls.init("dlopened", NULL, 0, NULL, 0), "t", NULL, 0, NULL, 0);
		CHECK(tran > 0);
		CHECK(pthread_create(&t, NULL, works, NULL) == 0);
		pthread_barrier_wait(&gate);
		CHECK(dlclose(lib) == 0);
		pthread_barrier_wait(&gate);
		pthread_join(t, NULL);
	}
	CHECK_EQ(seen(getpid(), tran).count, 50);
	CHECK_EQ(files(".arm", false), 1);
	return done();
}
