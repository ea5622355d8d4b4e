/* Texts, numbers and random numbers. */
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

/* Length of s, or max if there is no NUL within max bytes. */
size_t bounded_len(const char *s, size_t max)
{
	const char *end = memchr(s, 0, max);

	return end ? (size_t)(end - s) : max;
}

/* Writes n, with zeros in front if it has fewer digits than asked for. Returns where it
 * ends. */
char *put_number(char *to, uint64_t n, unsigned int base, int digits)
{
	char text[24];
	int len = 0;

	do {
		text[len++] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n || len < digits);
	while (len)
		*to++ = text[--len];
	*to = 0;
	return to;
}

uint64_t random_u64(void)
{
	struct timespec t;
	uint64_t n;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) == sizeof(n))
		return n;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_nsec * 6364136223846793005u + (uint64_t)t.tv_sec + ((uint64_t)getpid() << 32);
}
