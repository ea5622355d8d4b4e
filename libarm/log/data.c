/* Data buffers in the log: metrics, strings, texts, correlators. */
#include <string.h>

#include "correlator.h"
#include "log.h"

void who_begin(struct line *l, const struct who *w)
{
	line_begin(l, w->call);
	if (w->app)
		line_add(l, " Application <%s> User <%s>", w->app->name, w->app->user);
	if (w->tran)
		line_add(l, " Transaction <%s>", w->tran->name);
	if (w->handle)
		line_add(l, " Start_handle <%d>", w->handle);
}

/* Writes one line, which begins with what the call is about. */
void who_say(const struct who *w, const char *format, ...)
{
	struct line l;
	va_list args;

	who_begin(&l, w);
	va_start(args, format);
	line_vadd(&l, format, args);
	va_end(args);
	line_end(&l);
}

/* Writes what is wrong with a buffer that the common code refuses. */
void log_refused(const struct who *w, const char *formats, const arm_data_t *data, int size)
{
	struct line l;
	int format;

	who_begin(&l, w);
	if (!data || size < 4) {
		line_add(&l, " ERROR: data %s and data_size <%d> do not fit each other", data ? "is there" : "is NULL", size);
	} else {
		memcpy(&format, data, sizeof(format));
		line_add(&l, " ERROR: data of Format <%d> and data_size <%d>", format, size);
		if (size >= 8)
			line_add(&l, ", Flags <%02x %02x %02x %02x>,", data[4] & 255, data[5] & 255, data[6] & 255,
				 data[7] & 255);
		line_add(&l, " is not one of format %s, or is too short", formats);
	}
	line_end(&l);
}

/* Writes the descriptions of a new transaction's metrics. */
void log_described(const struct who *w, const struct described *d)
{
	struct line l;
	uint32_t i;

	for (i = 0; i <= METRICS; i++) {
		if (!(d->flags & 0x80u >> i))
			continue;
		who_begin(&l, w);
		if (i < METRICS)
			line_add(&l, " Metric Field <%u>", i + 1);
		else
			line_add(&l, " String Field <1>");
		line_add(&l, " Type <%u> Name <%s >", d->of[i].type, d->of[i].name);
		line_end(&l);
	}
}

/* Reads a buffer. False: it is ignored, and the log says so. */
bool log_given(const struct who *w, enum data_call call, arm_data_t *data, int size, struct given *g)
{
	data_parse(g, call, data, size);
	if (g->bad)
		log_refused(w, call == DATA_UPDATE ? "1 or 2" : "1", data, size);
	return !g->bad;
}

static void add_value(struct line *l, uint32_t type, const uint8_t *from)
{
	uint32_t half[2];
	uint64_t word;

	memcpy(half, from, 8);
	memcpy(&word, from, 8);
	switch (type) {
	case ARM_Counter32:
	case ARM_NumericID32:
		line_add(l, "%u", half[0]);
		break;
	case ARM_Gauge32:
		line_add(l, "%d", (int)half[0]);
		break;
	case ARM_CntrDivr32:
		line_add(l, "%u/%u", half[0], half[1]);
		break;
	case ARM_GaugeDivr32:
		line_add(l, "%d/%u", (int)half[0], half[1]);
		break;
	case ARM_Gauge64:
		line_add(l, "%lld", (long long)word);
		break;
	case ARM_String8:
		line_bytes(l, from, 8);
		break;
	default:
		line_add(l, "%llu", (unsigned long long)word);
	}
}

static void log_value(const struct who *w, const struct given *g, uint32_t i)
{
	const struct described *t = &w->tran->described;
	const char *field = i < METRICS ? "Metric" : "String";
	const uint8_t *from = i < METRICS ? g->metrics + 8 * i : g->string;
	struct line l;

	if (!(t->flags & 0x80u >> i)) {
		who_say(w, " ERROR: %s Field <%u> has a value, but arm_getid did not describe it", field,
			i < METRICS ? i + 1 : 1);
		return;
	}
	who_begin(&l, w);
	line_add(&l, " %s < %s > : <", field, t->of[i].name);
	if (i < METRICS)
		add_value(&l, t->of[i].type, from);
	else
		line_bytes(&l, from, 32);
	line_add(&l, ">");
	line_end(&l);
}

void log_values(const struct who *w, const struct given *g)
{
	struct line l;
	uint32_t i;

	for (i = 0; g->metrics && i <= METRICS; i++)
		if (g->which & 0x80 >> i)
			log_value(w, g, i);
	if (!g->text)
		return;
	who_begin(&l, w);
	line_add(&l, " Text <");
	line_bytes(&l, g->text, g->text_len);
	line_add(&l, ">");
	line_end(&l);
}

/* Writes the parent's correlator, and one of our own if the program asks for it. Ours has
 * no address. */
void log_correlators(const struct who *w, const struct given *g, int tran)
{
	struct correlator c = { .vendor = CORRELATOR_VENDOR, .version = CORRELATOR_VERSION }, parent;
	uint8_t own[CORRELATOR_MAX];
	struct line l;

	correlator_flags(g, &c.flags);
	if (g->parent) {
		who_begin(&l, w);
		line_add(&l, correlator_read(&parent, g->parent, g->parent_len) ?
			 " Parent correlator <" : " ERROR: correlator of no known format, Parent correlator <");
		line_hex(&l, g->parent, g->parent_len);
		line_add(&l, ">");
		line_end(&l);
	}
	if (g->flags & ARM_TRACE_WANTED)
		who_say(w, " Trace requested");
	c.handle = (uint32_t)w->handle;
	c.class = (uint32_t)tran;
	c.address = own;
	if (!g->own)
		return;
	who_begin(&l, w);
	line_add(&l, " Correlator <");
	line_hex(&l, own, correlator_write(&c, own));
	line_add(&l, ">");
	line_end(&l);
	data_answer(g, own, CORRELATOR_HEAD);
}
