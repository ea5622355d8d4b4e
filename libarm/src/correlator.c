/* Correlators of the ARM 2.0 guide's appendix, format 1, in network byte order. */
#include <string.h>

#include "internal.h"
#include "correlator.h"

static uint32_t get(const uint8_t *at, uint32_t bytes)
{
	uint32_t n = 0;

	while (bytes--)
		n = n << 8 | *at++;
	return n;
}

static uint8_t *put(uint8_t *at, uint32_t n, uint32_t bytes)
{
	while (bytes--)
		*at++ = (uint8_t)(n >> 8 * bytes);
	return at;
}

/* Reads a correlator of any vendor. False: it has another format, or is cut. */
bool correlator_read(struct correlator *c, const uint8_t *b, uint32_t len)
{
	if (!b || len < CORRELATOR_HEAD || len > CORRELATOR_MAX || b[2] != 1)
		return false;
	c->flags = b[3];
	c->addr_format = (uint16_t)get(b + 4, 2);
	c->vendor = (uint16_t)get(b + 6, 2);
	c->version = (uint16_t)get(b + 8, 2);
	c->instance = (uint16_t)get(b + 10, 2);
	c->handle = get(b + 12, 4);
	c->class = get(b + 16, 4);
	c->addr_len = (uint16_t)get(b + 20, 2);
	c->address = b + CORRELATOR_HEAD;
	return c->addr_len <= len - CORRELATOR_HEAD;
}

uint32_t correlator_write(const struct correlator *c, uint8_t out[CORRELATOR_MAX])
{
	uint8_t *at = put(out, CORRELATOR_HEAD + c->addr_len, 2);

	at = put(at, 1, 1);
	at = put(at, c->flags, 1);
	at = put(at, c->addr_format, 2);
	at = put(at, c->vendor, 2);
	at = put(at, c->version, 2);
	at = put(at, c->instance, 2);
	at = put(at, c->handle, 4);
	at = put(at, c->class, 4);
	at = put(at, c->addr_len, 2);
	memcpy(at, c->address, c->addr_len);
	return CORRELATOR_HEAD + c->addr_len;
}

bool correlator_is_w3c(const struct correlator *c)
{
	return c->vendor == CORRELATOR_VENDOR && c->addr_format == CORRELATOR_W3C && c->addr_len == W3C_LEN;
}

/* Reports whether the program, or whoever traces the parent, wants the transaction traced; flags are what
 * a correlator passes on. */
bool correlator_flags(const struct given *g, uint8_t *flags)
{
	struct correlator parent;

	*flags = g->flags & ARM_TRACE_WANTED ? CORRELATOR_USER_TRACE : 0;
	if (correlator_read(&parent, g->parent, g->parent_len))
		*flags |= parent.flags & (CORRELATOR_AGENT_TRACE | CORRELATOR_USER_TRACE);
	return *flags != 0;
}

/* Makes eight bytes, not all of them 0, that no other call gets. This needs no system call. */
static void span_id(struct process *p, uint8_t out[8])
{
	uint64_t n = __atomic_add_fetch(&p->random, UINT64_C(0x9e3779b97f4a7c15), __ATOMIC_RELAXED);

	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	n ^= n >> 31;
	memcpy(out, &n, sizeof(n));
	if (!n)
		out[7] = 1;
}

/* Makes a transaction's own correlator. It carries the parent's trace context with a new id in it, or
 * this host's address if the parent has none. */
uint32_t correlator_make(struct process *p, const struct given *g, uint8_t flags, uint32_t handle,
			 uint32_t tran, uint8_t out[CORRELATOR_MAX])
{
	struct correlator c, parent;
	uint8_t address[W3C_LEN];

	c.flags = flags;
	c.vendor = CORRELATOR_VENDOR;
	c.version = CORRELATOR_VERSION;
	c.instance = (uint16_t)p->uid;
	c.handle = handle;
	c.class = tran;
	c.addr_format = p->addr_format;
	c.addr_len = p->addr_len;
	c.address = p->address;
	if (correlator_read(&parent, g->parent, g->parent_len) && correlator_is_w3c(&parent)) {
		memcpy(address, parent.address, W3C_LEN);
		span_id(p, address + W3C_TRACE_ID);
		c.addr_format = CORRELATOR_W3C;
		c.addr_len = W3C_LEN;
		c.address = address;
	}
	return correlator_write(&c, out);
}
