/* W3C trace context, level 1: the header traceparent,
 * 00-32 digits of trace id-16 digits of parent id-2 digits of flags, all in lower case. */
#include <string.h>

#include "correlator.h"
#include "internal.h"

#define PUBLIC __attribute__((visibility("default")))

enum { TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53, LEN = 55, NO_VERSION = 255 };

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads n bytes. seen gets all bits that are set in any of them. */
static bool from_hex(uint8_t *out, const char *text, int n, uint8_t *seen)
{
	*seen = 0;
	for (; n; n--, text += 2) {
		int high = digit(text[0]), low = digit(text[1]);

		if (high < 0 || low < 0)
			return false;
		*out = (uint8_t)(high << 4 | low);
		*seen |= *out++;
	}
	return true;
}

static char *to_hex(char *out, const uint8_t *from, int n)
{
	for (; n; n--, from++) {
		*out++ = "0123456789abcdef"[*from >> 4];
		*out++ = "0123456789abcdef"[*from & 15];
	}
	return out;
}

/* Reports whether the fields stand where they should. Versions above 00 may have more behind
 * them. */
static bool is_header(const char *text)
{
	uint8_t version, seen;

	if (bounded_len(text, LEN) != LEN || !from_hex(&version, text, 1, &seen) || version == NO_VERSION)
		return false;
	return text[TRACE_AT - 1] == '-' && text[SPAN_AT - 1] == '-' && text[FLAGS_AT - 1] == '-' &&
	       (!text[LEN] || (version && text[LEN] == '-'));
}

PUBLIC arm_ret_stat_t arm_correlator_from_traceparent(const char *traceparent, arm_correlator_t *out)
{
	uint8_t context[W3C_LEN], trace, span, flags, whole[CORRELATOR_MAX];
	struct correlator c;

	if (!traceparent || !out || !is_header(traceparent))
		return -1;
	if (!from_hex(context, traceparent + TRACE_AT, W3C_TRACE_ID, &trace) || !trace ||
	    !from_hex(context + W3C_TRACE_ID, traceparent + SPAN_AT, W3C_SPAN_ID, &span) || !span ||
	    !from_hex(context + W3C_TRACE_ID + W3C_SPAN_ID, traceparent + FLAGS_AT, 1, &flags))
		return -1;
	memset(&c, 0, sizeof(c));
	c.vendor = CORRELATOR_VENDOR;
	c.version = CORRELATOR_VERSION;
	c.addr_format = CORRELATOR_W3C;
	c.addr_len = W3C_LEN;
	c.address = context;
	memset(whole, 0, sizeof(whole));
	correlator_write(&c, whole);
	memcpy(out, whole, sizeof(whole));
	return 0;
}

PUBLIC arm_ret_stat_t arm_correlator_to_traceparent(const arm_correlator_t *correlator,
						    char out[ARM_TRACEPARENT_SIZE])
{
	const uint8_t *b = (const uint8_t *)correlator;
	struct correlator c;
	char *at = out;

	if (!correlator || !out || !correlator_read(&c, b, (uint32_t)b[0] << 8 | b[1]) ||
	    !correlator_is_w3c(&c))
		return -1;
	memcpy(at, "00-", 3);
	at = to_hex(at + 3, c.address, W3C_TRACE_ID);
	*at++ = '-';
	at = to_hex(at, c.address + W3C_TRACE_ID, W3C_SPAN_ID);
	*at++ = '-';
	at = to_hex(at, c.address + W3C_TRACE_ID + W3C_SPAN_ID, 1);
	*at = 0;
	return 0;
}
