/* Without pmcd, and perhaps without libpcp, each reading function returns an error that says so. */
#include "helpers.h"

static void expect(int code, const char *in_text, const char *what)
{
	if (SpmiErrno == code && strstr(SpmiErrmsg, in_text))
		return;
	fprintf(stderr, "%s: SpmiErrno %d \"%s\", want %d and \"%s\"\n", what, SpmiErrno, SpmiErrmsg, code, in_text);
	_exit(1);
}

#define FAILS(call) \
	do { \
		CHECK(call); \
		expect(code, text, #call); \
	} while (0)

/* Calls every function that reads. */
static void all(int code, const char *text)
{
	char room[256] = "";
	void *p = room;
	float value = 0;
	char *name;
	int index = 0;

	FAILS(!SpmiPathGetCx("CPU", NULL));
	FAILS(SpmiInstantiate(NULL) == code);
	FAILS(!SpmiFirstCx(NULL));
	FAILS(!SpmiNextCx(p));
	FAILS(!SpmiFirstStat(NULL));
	FAILS(!SpmiNextStat(p));
	FAILS(!SpmiGetCx(NULL));
	FAILS(!SpmiGetStat(p));
	FAILS(!SpmiStatGetPath(NULL, p, 0));
	FAILS(!SpmiCreateStatSet());
	FAILS(!SpmiPathAddSetStat(p, "CPU/cpu0/idle", NULL));
	FAILS(SpmiFreeStatSet(p) == code);
	FAILS(SpmiDelSetStat(p, p) == code);
	FAILS(SpmiGetStatSet(p, TRUE) == code);
	FAILS(!SpmiFirstVals(p));
	FAILS(!SpmiNextVals(p, p));
	FAILS(SpmiGetValue(p, p) <= -1.1f);
	FAILS(!SpmiNextValue(p, NULL, &value));
	FAILS(!SpmiCreateHotSet());
	FAILS(!SpmiAddSetHot(p, "idle", NULL, 0, 0, 0, SiHotAlways, SiNoHotException, 0, 0));
	FAILS(SpmiFreeHotSet(p) == code);
	FAILS(SpmiDelSetHot(p, p) == code);
	FAILS(SpmiGetHotSet(p, TRUE) == code);
	FAILS(!SpmiFirstHot(p));
	FAILS(!SpmiNextHot(p, p));
	FAILS(!SpmiNextHotItem(p, NULL, &index, &value, &name));
}

int main(void)
{
	make_dir();
	CHECK(setenv("SPMI_HOST", "unix:///nonexistent/pmcd.socket", 1) == 0);
	all(SiNotInit, "call SpmiInit");
	CHECK(SpmiInit(15) == 0 && SpmiErrno == 0 && !SpmiErrmsg[0]);
	all(SiInitFailed, "");
	CHECK(strstr(SpmiErrmsg, "install") || strstr(SpmiErrmsg, "start pmcd") || strstr(SpmiErrmsg, "link it"));
	CHECK(setenv("PCP_CONF", "/nonexistent/pcp.conf", 1) == 0);
	CHECK(!SpmiFirstCx(NULL) && SpmiErrno == SiInitFailed);
	SpmiExit();
	CHECK(SpmiErrno == 0 && !SpmiErrmsg[0]);
	all(SiNotInit, "call SpmiInit");
	return done();
}
