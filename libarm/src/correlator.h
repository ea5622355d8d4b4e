/* A correlator of format 1, taken apart. */
#ifndef RT_CORRELATOR_H
#define RT_CORRELATOR_H

#include "layout.h"

enum {
	CORRELATOR_HEAD = 22, /* bytes in front of the address */
	CORRELATOR_VENDOR = 41377,
	CORRELATOR_VERSION = 2,
	CORRELATOR_W3C = 41377, /* address format: trace id, parent id, flags */
	CORRELATOR_AGENT_TRACE = 0x80,
	CORRELATOR_USER_TRACE = 0x40,
	W3C_TRACE_ID = 16,
	W3C_SPAN_ID = 8,
	W3C_LEN = W3C_TRACE_ID + W3C_SPAN_ID + 1
};

struct correlator {
	uint8_t flags;
	uint16_t addr_format, vendor, version, instance, addr_len;
	uint32_t handle, class;
	const uint8_t *address;
};

bool correlator_read(struct correlator *c, const uint8_t *b, uint32_t len);
uint32_t correlator_write(const struct correlator *c, uint8_t out[CORRELATOR_MAX]);
bool correlator_is_w3c(const struct correlator *c);

#endif
