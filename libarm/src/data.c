/*
 * The data buffers of the ARM 2.0 guide. They may lie at any address. If some part of a buffer is not
 * understood, the whole buffer is ignored and counted as bad.
 */
#include <string.h>

#include "internal.h"

enum { HEAD = 8, METRIC_SIZE = 8, STRING_AT = 56, CORRELATOR_AT = 88, DESC_SIZE = 48 };

static int format_of(const uint8_t *b)
{
	int32_t format;

	memcpy(&format, b, sizeof(format));
	return format;
}

/* The position of the last field that flags name, plus 1. 0: they name none. */
static uint32_t fields(uint8_t flags)
{
	uint32_t n = METRICS + 1;

	while (n && !(flags & 0x80 >> (n - 1)))
		n--;
	return n;
}

/* Takes the parent's correlator, with the length that it states. False: it is longer than its place. */
static bool take_parent(struct given *g, const uint8_t *b, uint32_t size)
{
	uint32_t len;

	if (size < CORRELATOR_AT + 2)
		return false;
	len = (uint32_t)b[CORRELATOR_AT] << 8 | b[CORRELATOR_AT + 1];
	if (len > CORRELATOR_MAX || len > size - CORRELATOR_AT)
		return false;
	if (len >= 2) {
		g->parent = b + CORRELATOR_AT;
		g->parent_len = len;
	}
	return true;
}

static bool take_values(struct given *g, enum data_call call, uint8_t *b, uint32_t size)
{
	uint8_t first = call == DATA_START ? b[4] : 0, which = b[5];
	uint32_t n = fields(which);

	if ((first & 0x0f) || (which & 1) || b[6] || b[7])
		return false;
	if (size < (n > METRICS ? CORRELATOR_AT : HEAD + n * METRIC_SIZE))
		return false;
	if ((first & ARM_PARENT_GIVEN) && !take_parent(g, b, size))
		return false;
	g->flags = first;
	g->which = which;
	g->metrics = b + HEAD;
	g->string = b + STRING_AT;
	if (call == DATA_START)
		g->buffer = b;
	if ((first & ARM_CORRELATOR_WANTED) && size > CORRELATOR_AT) {
		g->own = b + CORRELATOR_AT;
		g->own_max = size - CORRELATOR_AT;
	}
	return true;
}

static bool take(struct given *g, enum data_call call, uint8_t *b, int size)
{
	if (!b || size < 4)
		return false;
	if (format_of(b) == ARM_FORMAT_TEXT && call == DATA_UPDATE) {
		g->text = b + 4;
		g->text_len = size - 4 < TEXT_MAX ? (uint32_t)size - 4 : TEXT_MAX;
		return true;
	}
	return format_of(b) == ARM_FORMAT_DATA && size >= HEAD && take_values(g, call, b, (uint32_t)size);
}

void data_parse(struct given *g, enum data_call call, arm_data_t *data, int size)
{
	memset(g, 0, sizeof(*g));
	if ((data || size) && !take(g, call, (uint8_t *)data, size)) {
		memset(g, 0, sizeof(*g));
		g->bad = true;
	}
}

/* Puts the correlator into the program's buffer, if there is one and it has room, and says so there. */
void data_answer(const struct given *g, const uint8_t *own, uint32_t len)
{
	bool fits = g->own && len && len <= g->own_max;

	if (!g->buffer)
		return;
	if (fits)
		memcpy(g->own, own, len);
	if (fits != !!(g->flags & ARM_CORRELATOR_GIVEN))
		g->buffer[4] ^= ARM_CORRELATOR_GIVEN;
}

static bool types_are_good(const uint8_t *b, uint8_t which)
{
	int32_t type;
	uint32_t i;

	for (i = 0; i <= METRICS; i++) {
		if (!(which & 0x80 >> i))
			continue;
		memcpy(&type, b + HEAD + i * DESC_SIZE, sizeof(type));
		if (i == METRICS ? type != ARM_String32 : type < ARM_Counter32 || type > ARM_String8)
			return false;
	}
	return true;
}

/* Reads the descriptions of a transaction's metrics. False: the buffer holds no descriptions, and none
 * is taken. */
bool data_describe(struct described *d, const arm_data_t *data, int size)
{
	const uint8_t *b = (const uint8_t *)data;
	uint32_t i;

	memset(d, 0, sizeof(*d));
	if (!b && !size)
		return true;
	if (!b || size < HEAD || format_of(b) != ARM_FORMAT_META || b[4] || (b[5] & 1) || b[6] || b[7])
		return false;
	if ((uint32_t)size < HEAD + fields(b[5]) * DESC_SIZE || !types_are_good(b, b[5]))
		return false;
	d->flags = b[5];
	for (i = 0; i <= METRICS; i++) {
		const uint8_t *from = b + HEAD + i * DESC_SIZE;
		struct seg_desc *to = &d->of[i];

		if (!(d->flags & 0x80 >> i))
			continue;
		memcpy(&to->type, from, sizeof(to->type));
		memcpy(to->name, from + 4, bounded_len((const char *)from + 4, sizeof(to->name) - 1));
	}
	return true;
}
