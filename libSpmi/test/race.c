/*
 * Of several suppliers that want one path at the same time, exactly one gets it,
 * whichever users run them. A supplier that finds another user's claim waits a little,
 * because that claim may be given up.
 */
#include <poll.h>

#include "helpers.h"

enum { RACERS = 6, ROUNDS = 20, PAUSES = 4, USERS = 60000 };

static int users; /* the number of different users */
static int number;

/* The library's pauses while another user's claim is in its way. */
static int pauses, freed_in;
static struct child holder;

int nanosleep(const struct timespec *t, struct timespec *left)
{
	(void)left;
	if (freed_in && ++pauses == freed_in) {
		tell(holder.to, 'f');
		CHECK(hear(holder.from) == 'f');
	}
	return poll(NULL, 0, (int)(t->tv_nsec / 1000000));
}

static bool attempt(void)
{
	cx_create t[] = { VENDOR, CONTEXT("DDS/IBM/P", "", 3, NULL, 0), CONTEXT("DDS/IBM/Q", "", 4, NULL, 0) };
	cx_create swap = t[1];

	if (number % 2) { /* so that not all have the same order */
		t[1] = t[2];
		t[2] = swap;
	}
	if (SpmiDdsInit(t, 3, NULL, 0, test_file))
		return true;
	CHECK(SpmiErrno == SiDuplicate);
	return false;
}

static bool told(int from)
{
	struct pollfd p = { .fd = from, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/*
 * Tries until it has the path or learns that another supplier has it. Users see each
 * other's locks and give way; sometimes all of them do.
 */
static void racer(int from, int to)
{
	uid_t uid = users > 1 ? (uid_t)(USERS + number % users) : 0;
	bool won;

	if (uid)
		CHECK(setresuid(uid, uid, uid) == 0);
	tell(to, 'r');
	CHECK(hear(from) == 'g');
	while (!(won = attempt()) && users > 1 && !told(from))
		;
	tell(to, won ? 'y' : 'd');
	CHECK(hear(from) == 'q');
	CHECK(hear(from) == 'e');
}

/* Waits for the first supplier that has the path. */
static void await_winner(struct child *c)
{
	struct pollfd p[RACERS];
	int i;

	for (i = 0; i < RACERS; i++)
		p[i] = (struct pollfd){ .fd = c[i].from, .events = POLLIN };
	while (poll(p, RACERS, -1) < 0)
		CHECK(errno == EINTR);
}

static void one_round(void)
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
	await_winner(c);
	for (i = 0; i < RACERS; i++)
		tell(c[i].to, 'q');
	for (i = 0; i < RACERS; i++) {
		char answer = hear(c[i].from);

		CHECK(answer == 'y' || answer == 'd');
		won += answer == 'y';
	}
	CHECK(won == 1);
	for (i = 0; i < RACERS; i++) {
		tell(c[i].to, 'e');
		CHECK(reap(c[i]) == 0);
	}
}

/* Has the path, and gives it up when told to. */
static void hold_path(int from, int to)
{
	CHECK(setresuid(USERS, USERS, USERS) == 0);
	CHECK(attempt());
	tell(to, 'y');
	if (hear(from) != 'f')
		return;
	SpmiExit();
	tell(to, 'f');
}

static void waiter(int from, int to)
{
	(void)from;
	CHECK(setresuid(USERS + 1, USERS + 1, USERS + 1) == 0); /* root would not wait */
	tell(to, attempt() ? 'y' : 'd');
	CHECK(pauses == (freed_in <= PAUSES ? freed_in : PAUSES));
	SpmiExit();
}

static void waits(void)
{
	struct child w;

	for (freed_in = 1; freed_in <= PAUSES + 1; freed_in++) {
		holder = spawn(hold_path);
		CHECK(hear(holder.from) == 'y');
		pauses = 0;
		w = spawn(waiter);
		CHECK(hear(w.from) == (freed_in <= PAUSES ? 'y' : 'd'));
		CHECK(reap(w) == 0 && reap(holder) == 0);
	}
	freed_in = 0;
}

static void turncoat(int from, int to)
{
	CHECK(guide_init() && setresuid(USERS, USERS, USERS) == 0);
	CHECK(SpmiDdsAddCx(0, "DDS/IBM/Bingo", "x", 9)); /* reads the claims of all users */
	tell(to, 'y');
	CHECK(hear(from) == 'q');
}

static void rival(int from, int to)
{
	(void)from;
	tell(to, guide_init() ? 'y' : 'd');
}

/* A process that has become another user keeps its claims. */
static void changed_user(void)
{
	struct child c = spawn(turncoat), r;

	CHECK(hear(c.from) == 'y');
	r = spawn(rival);
	CHECK(hear(r.from) == 'd' && reap(r) == 0);
	tell(c.to, 'q');
	CHECK(reap(c) == 0);
}

int main(void)
{
	int i;

	make_dir();
	CHECK(close(open(test_file, O_CREAT | O_WRONLY, 0666)) == 0 && chmod(test_file, 0666) == 0);
	for (users = 1; users <= 3; users += 2)
		for (i = 0; i < ROUNDS; i++)
			one_round();
	waits();
	changed_user();
	return done();
}
