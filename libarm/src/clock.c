/*
 * The clock is CLOCK_MONOTONIC. If the kernel takes it from the processor's counter, threads read the
 * counter themselves and convert it. About once a second a thread asks the kernel for the time, and
 * computes from this answer and the last one how long a count is. So it follows the adjustments of the
 * kernel's clock, and notices that the counter has jumped before it uses it. A reading of the counter does
 * not wait until earlier instructions, some tens of them, are done.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "hot.h"

/* BRACKET and BRACKET_GOOD are counts between two readings of the counter; the others are nanoseconds. */
enum { BRACKET = 6000, BRACKET_GOOD = 300, BASE_NS = 100000000, SPAN_NS = 1000000000 };

uint64_t clock_monotonic(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#ifdef RT_TSC
#include <cpuid.h>

static const uint64_t first_ns = 10000000000; /* the greatest age of the base that a first rate is computed from */

static bool kernel_uses_tsc(void)
{
	char name[8];
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof(name));

	if (fd >= 0)
		close(fd);
	return n == 4 && memcmp(name, "tsc\n", 4) == 0;
}

/* Reports whether the counter has the same constant rate on all processors, is the kernel's own clock, and
 * may be read by this process. */
bool clock_tsc_sound(void)
{
	unsigned int a, b, c, d;
	int mode = 0;

#ifdef RT_TSC_UNSOUND /* for tests of what other machines do */
	return false;
#endif
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8) &&
	       prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_ENABLE && kernel_uses_tsc();
}

/* Reads the kernel's clock and the counter at the same moment, as well as a few tries allow. False: each
 * try was interrupted. */
static bool both(uint64_t *tsc, uint64_t *ns)
{
	uint64_t before, after, now, best = BRACKET;
	int tries;

	for (tries = 0; tries < 4 && best > BRACKET_GOOD; tries++) {
		before = __rdtsc();
		now = clock_monotonic();
		after = __rdtsc();
		if (after - before < best) {
			best = after - before;
			*tsc = before + best / 2;
			*ns = now;
		}
	}
	return best < BRACKET;
}

void clock_begin(struct process *p)
{
	p->tsc_sound = clock_tsc_sound() && both(&p->base_tsc, &p->base_ns);
}

/* Nanoseconds per count, times 2^MULT_SHIFT, or 0 if no counter can be so fast or so slow. */
static uint64_t rate(uint64_t ns, uint64_t counts)
{
	while (ns >> (63 - MULT_SHIFT)) {
		ns >>= 1;
		counts >>= 1;
	}
	if (counts < ns / 16 || counts > ns * 16)
		return 0;
	return (ns << MULT_SHIFT) / counts;
}

/* Begins anew to measure the rate. */
static void forget(struct clock *c, uint64_t tsc, uint64_t ns)
{
	store(&c->mult, 0);
	store(&c->seq, c->seq + 1);
	c->base_tsc = tsc;
	c->base_ns = ns;
}

/* Sets the clock. Nobody uses it meanwhile, because the span is 0. */
static void set(struct clock *c, uint64_t tsc, uint64_t ns)
{
	uint64_t mult = rate(ns - c->base_ns, tsc - c->base_tsc);
	uint64_t off = mult > c->mult ? mult - c->mult : c->mult - mult;

	/* No adjustment changes the rate by that much, so the counter has jumped. */
	if (!mult || tsc < c->base_tsc || (c->mult && off > c->mult >> 9)) {
		forget(c, tsc, ns);
		return;
	}
	store(&c->tsc, tsc);
	store(&c->ns, ns);
	store(&c->mult, mult);
	store(&c->seq, c->seq + 1);
	c->base_tsc = tsc;
	c->base_ns = ns;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(&c->span, ((uint64_t)SPAN_NS << MULT_SHIFT) / mult);
}

static void adjust(struct clock *c, uint64_t *ns)
{
	uint64_t tsc = 0;

	if (!both(&tsc, ns))
		return;
	store(&c->span, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* A first rate cannot be compared with an earlier one, so its base must not be old. The system may
	 * have slept since then, and the counter goes on during sleep while the clock does not. */
	if (c->base_tsc && *ns - c->base_ns >= BASE_NS && (c->mult || *ns - c->base_ns < first_ns))
		set(c, tsc, *ns);
	else
		forget(c, tsc, *ns); /* no base, or the counter left its span so soon that it has jumped */
}

uint64_t clock_slow(struct block *b)
{
	struct clock *c = &b->clock;
	uint64_t ns = clock_monotonic();

	if (b->mode != MODE_OWN || !b->process->tsc_sound || load(&c->busy))
		return ns;
	if (ns - c->base_ns < BASE_NS && !c->mult)
		return ns;
	store(&c->busy, 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	adjust(c, &ns);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(&c->busy, 0);
	return ns;
}

#else

bool clock_tsc_sound(void)
{
	return false;
}

void clock_begin(struct process *p)
{
	p->tsc_sound = 0;
}

uint64_t clock_slow(struct block *b)
{
	(void)b;
	return clock_monotonic();
}

#endif
