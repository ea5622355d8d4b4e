/* Values of metrics that the program has described: counters, gauges, numbers, strings. */
#include <string.h>

#include "hot.h"

struct value {
	uint64_t word;  /* an integer, sign extended, or a double, or 8 bytes of text */
	uint32_t divisor;
	bool is_double;
};

static double as_double(uint64_t word)
{
	double d;

	memcpy(&d, &word, sizeof(d));
	return d;
}

static uint64_t as_word(double d)
{
	uint64_t word;

	memcpy(&word, &d, sizeof(word));
	return word;
}

/* Reads the value of a field. False: its divisor is 0. */
static bool read_value(struct value *v, uint32_t type, const uint8_t *from)
{
	uint32_t low;
	int32_t gauge;

	memcpy(&v->word, from, 8);
	memcpy(&low, from, 4);
	memcpy(&gauge, from, 4);
	memcpy(&v->divisor, from + 4, 4);
	v->is_double = type == ARM_CntrDivr32 || type == ARM_GaugeDivr32;
	if (v->is_double && !v->divisor)
		return false;
	if (type == ARM_Counter32 || type == ARM_NumericID32)
		v->word = low;
	else if (type == ARM_Gauge32)
		v->word = (uint64_t)(int64_t)gauge;
	else if (type == ARM_CntrDivr32)
		v->word = as_word((double)low / v->divisor);
	else if (type == ARM_GaugeDivr32)
		v->word = as_word((double)gauge / v->divisor);
	return true;
}

static void add_double(seg_u64 *at, double d)
{
	uint64_t old = load(at);

	while (!cas(at, &old, as_word(as_double(old) + d)))
		;
}

/* By how much a counter has grown. After the largest value of its width a counter begins again at 0. */
static uint64_t grown(uint32_t type, const struct value *v, uint64_t before)
{
	double d;

	if (type == ARM_Counter32)
		return (uint32_t)(v->word - before);
	if (type == ARM_Counter64)
		return v->word - before;
	d = as_double(v->word) - as_double(before);
	if (d < 0)
		d += 4294967296.0 / v->divisor;
	return as_word(d < 0 ? 0 : d); /* with another divisor than before it may still be less */
}

/* The latest values of a running transaction's counters. NULL: no room. */
static struct seg_ext *ext_of(struct process *p, uint32_t slot)
{
	uint32_t n = slot / CHUNK_SLOTS;
	struct seg_slot *s = slot_at(p, slot);
	struct seg_ext *e = room_once(p, (void **)&p->exts[n], &p->chunks[n]->ext_off, CHUNK_SLOTS * sizeof(*e));

	if (!e)
		return NULL;
	e += slot % CHUNK_SLOTS;
	if (!(load(&s->flags) & SLOT_METRICS)) { /* what stands there is an earlier transaction's */
		store(&e->flags, 0);
		__atomic_fetch_or(&s->flags, SLOT_METRICS, __ATOMIC_RELEASE);
	}
	return e;
}

static bool count_counter(struct process *p, struct block *b, struct seg_metric *m, uint32_t i,
			  uint32_t type, const struct value *v, uint32_t slot)
{
	struct seg_ext *e = ext_of(p, slot);
	uint64_t before;

	if (!e)
		return false;
	before = __atomic_exchange_n(&e->prev[i], v->word, __ATOMIC_ACQ_REL);
	if (!(__atomic_fetch_or(&e->flags, 1u << i, __ATOMIC_ACQ_REL) & 1u << i))
		return true; /* the first value only says where the counter begins */
	if (v->is_double)
		add_double(&m->sum, as_double(grown(type, v, before)));
	else
		add_block(b, &m->sum, grown(type, v, before));
	return true;
}

static bool less(uint32_t type, uint64_t a, uint64_t b)
{
	if (type == ARM_GaugeDivr32)
		return as_double(a) < as_double(b);
	return (int64_t)a < (int64_t)b;
}

static bool is_gauge(uint32_t type)
{
	return type >= ARM_Gauge32 && type <= ARM_GaugeDivr32;
}

/* Writes the values that must agree. It writes nothing if another writer is doing so: the thread that this
 * signal handler has interrupted, or another thread in a shared block. */
static void write_latest(struct seg_metric *m, uint32_t type, uint64_t word)
{
	uint32_t seq = load(&m->seq);

	if ((seq & 1) || !cas(&m->seq, &seq, seq + 1))
		return;
	store_barrier();
	if (is_gauge(type)) {
		bool first = !load(&m->type);

		if (first || less(type, word, load(&m->min)))
			store(&m->min, word);
		if (first || less(type, load(&m->max), word))
			store(&m->max, word);
	}
	store(&m->last, word);
	store(&m->type, type);
	store_release(&m->seq, seq + 2);
}

static void write_text(struct seg_metric *m, const uint8_t *text)
{
	uint32_t seq = load(&m->seq), i;

	if ((seq & 1) || !cas(&m->seq, &seq, seq + 1))
		return;
	store_barrier();
	for (i = 0; i < sizeof(m->text); i++)
		store(&m->text[i], (char)text[i]);
	store(&m->type, ARM_String32);
	store_release(&m->seq, seq + 2);
}

/* NULL: no room. */
static struct seg_metric *metrics_of(struct process *p, struct cell *c)
{
	return room_once(p, (void **)&c->metrics, &c->record->metrics_off, (METRICS + 1) * sizeof(struct seg_metric));
}

/* Counts the value of one field. False: it cannot be used. The count is stored last, because it tells a
 * reader that there is a value. */
static bool metric_given(struct process *p, struct block *b, struct seg_metric *m, uint32_t i,
			 uint32_t type, const uint8_t *from, uint32_t slot)
{
	struct value v;

	if (!read_value(&v, type, from))
		return false;
	if (type <= ARM_CntrDivr32 && !count_counter(p, b, m, i, type, &v, slot))
		return false;
	if (type == ARM_GaugeDivr32)
		add_double(&m->sum, as_double(v.word));
	else if (is_gauge(type))
		add_block(b, &m->sum, v.word);
	write_latest(m, type, v.word);
	add_block(b, &m->count, 1);
	return true;
}

/* Counts the given values of metrics that arm_getid has described. Values of other metrics make the buffer
 * a bad one. */
void metrics_given(struct process *p, struct block *b, struct cell *c, uint32_t slot, struct given *g)
{
	struct seg_tran *t = &p->trans[c->tran - 1];
	uint32_t known = load_acquire(&t->meta) == RECORD_PUBLISHED ? load(&t->meta_flags) : 0, i;
	struct seg_metric *m;

	if (g->which & ~known)
		g->bad = true;
	if (!(g->which & known) || !(m = metrics_of(p, c)))
		return;
	for (i = 0; i < METRICS; i++)
		if ((g->which & known & 0x80 >> i) &&
		    !metric_given(p, b, &m[i], i, load(&t->descs[i].type), g->metrics + 8 * i, slot))
			g->bad = true;
	if (g->which & known & ARM_STRING_GIVEN) {
		write_text(&m[METRICS], g->string);
		add_block(b, &m[METRICS].count, 1);
	}
}
