/* Of suppliers that want one path at the same time exactly one gets it, whoever runs them. */
#include "helpers.h"

enum { RACERS = 6, ROUNDS = 20 };

static int users; /* how many different ones */
static int number;

static void racer(int from, int to)
{
	cx_create t[] = { VENDOR, CONTEXT("DDS/IBM/P", "", 3, NULL, 0), CONTEXT("DDS/IBM/Q", "", 4, NULL, 0) };
	cx_create swap = t[1];
	uid_t uid = users > 1 ? (uid_t)(60000 + number % users) : 0;

	if (number % 2) { /* not all in one order */
		t[1] = t[2];
		t[2] = swap;
	}
	if (uid)
		CHECK(setresuid(uid, uid, uid) == 0);
	tell(to, 'r');
	CHECK(hear(from) == 'g');
	if (SpmiDdsInit(t, 3, NULL, 0, test_file))
		tell(to, 'y');
	else
		tell(to, SpmiErrno == SiDuplicate ? 'd' : '?');
	hear(from);
}

/* Returns how many won. */
static int round_of(void)
{
	struct child c[RACERS];
	int i, won = 0;

	for (i = 0; i < RACERS; i++) {
		number = i;
		c[i] = spawn(racer);
		CHECK(hear(c[i].from) == 'r');
	}
	for (i = 0; i < RACERS; i++)
		tell(c[i].to, 'g');
	for (i = 0; i < RACERS; i++) {
		char answer = hear(c[i].from);

		CHECK(answer == 'y' || answer == 'd');
		won += answer == 'y';
	}
	for (i = 0; i < RACERS; i++) {
		tell(c[i].to, 'q');
		CHECK(reap(c[i]) == 0);
	}
	return won;
}

int main(void)
{
	int i, lost = 0, won;

	make_dir();
	CHECK(close(open(test_file, O_CREAT | O_WRONLY, 0666)) == 0 && chmod(test_file, 0666) == 0);
	users = 1;
	for (i = 0; i < ROUNDS; i++)
		CHECK(round_of() == 1);
	/* Users see each other's locks and give way: all may, rarely, but never two win. */
	users = 3;
	for (i = 0; i < ROUNDS; i++) {
		won = round_of();
		CHECK(won <= 1);
		lost += won == 0;
	}
	CHECK(lost < ROUNDS / 2);
	return done();
}
