/*
 * The part of the segment that does not change once it is published:
 *
 *	header | control area | contexts | statistics | ... head, data area | guard page
 *
 * The data area ends at the end of a page, and the page behind it is not accessible.
 * As the guide says, a store behind the last field that a statistic names faults. Up
 * to 7 bytes do not fault, because the start of the area is aligned.
 */
#include <string.h>
#include <unistd.h>

#include "barrier.h"
#include "internal.h"

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* The supplier's name is the name of its file. */
static void write_name(char *to, size_t size, const char *file)
{
	const char *base = strrchr(file, '/');
	size_t len;

	base = base ? base + 1 : file;
	len = bounded_len(base, size - 1);
	memcpy(to, base, len);
}

static void write_header(const struct supplier *s, const struct request *r)
{
	struct seg_header *h = s->segment.header;

	memcpy(h->magic, SEG_MAGIC, sizeof(h->magic));
	h->order = SEG_ORDER;
	h->major = SEG_MAJOR;
	h->minor = SEG_MINOR;
	h->header_len = sizeof(*h);
	h->word = sizeof(void *);
	h->size = s->segment.end;
	h->pid = (uint32_t)getpid();
	h->pidns = process_namespace();
	h->start = process_start();
	h->uid = geteuid();
	h->stats_off = s->stats_off;
	h->stats_count = s->stats_count;
	h->stat_len = sizeof(struct seg_stat);
	h->contexts_off = s->contexts_off;
	h->contexts_count = s->fixed + s->inst;
	h->context_len = sizeof(struct seg_context);
	h->slot_len = sizeof(struct seg_slot);
	h->timeout = r->timeout;
	h->language = SEG_LANGUAGE_C;
	write_name(h->name, sizeof(h->name), r->file);
}

/* Copies nothing behind the NUL, because that may be any of the program's memory. */
static void copy_text(char *to, const char *from, size_t size)
{
	memcpy(to, from, bounded_len(from, size - 1));
}

static void write_stat(struct seg_stat *to, const struct SpmiRawStat *from)
{
	copy_text(to->name, from->name, sizeof(to->name));
	copy_text(to->descr, from->description, sizeof(to->descr));
	to->min = from->min;
	to->max = from->max;
	to->value_type = (uint32_t)from->value_type;
	to->data_type = (uint32_t)from->data_type;
	to->type = (uint32_t)from->type;
	to->offset = (uint32_t)from->offset;
	to->size = from->size;
	to->asn = from->asnno;
}

/* A template's path means nothing, but readers demand a valid path. */
static const char *template_path(const char *path)
{
	bool ok = check_path(path, bounded_len(path, SI_MAXLNAME)) == 0;

	spmi_ok();
	return ok ? path : "DDS";
}

static void write_context(const struct supplier *s, uint32_t index)
{
	struct seg_context *to = (struct seg_context *)(s->segment.base + s->contexts_off) + index;
	struct seg_stat *stats = (struct seg_stat *)(s->segment.base + s->stats_off);
	const struct record *r = &s->records[index];
	bool fixed = index < s->fixed;
	const char *path = fixed ? r->source->path : template_path(r->source->path);
	uint32_t i;

	copy_text(to->path, path, sizeof(to->path));
	copy_text(to->descr, r->source->descr, sizeof(to->descr));
	to->asn = r->source->asnno;
	to->kind = fixed ? SEG_FIXED : SEG_TEMPLATE;
	to->first_stat = r->first_stat;
	to->stat_count = r->stat_count;
	to->data_off = fixed && r->stat_count ? s->area_off : 0;
	to->data_len = fixed && r->stat_count ? s->area_len : r->data_len;
	for (i = 0; i < r->stat_count; i++)
		write_stat(&stats[r->first_stat + i], &r->source->stats[i]);
}

/* Decides where everything lies; returns the end. */
static uint64_t lay_out(struct supplier *s, uint64_t share_len)
{
	uint64_t end, len = round_up(s->area_len, 8);

	s->contexts_off = round_up(sizeof(struct seg_header) + share_len, 64);
	s->stats_off = s->contexts_off + (uint64_t)(s->fixed + s->inst) * sizeof(struct seg_context);
	end = s->stats_off + (uint64_t)s->stats_count * sizeof(struct seg_stat);
	end = round_up(end + sizeof(struct area_head) + len, page_size());
	s->area_off = end - len;
	return end;
}

int image_write(struct supplier *s, const struct request *r)
{
	uint64_t end = lay_out(s, r->time64 ? share64_size() : share_size());
	uint32_t i;
	int err;

	if ((err = segment_extend(&s->segment, &s->place, end)))
		return err;
	s->segment.header = (struct seg_header *)s->segment.base;
	write_header(s, r);
	s->share = (r->time64 ? share64_write : share_write)(s, r);
	for (i = 0; i < s->fixed + s->inst; i++)
		write_context(s, i);
	update_head(s->segment.base, s->area_off, s->contexts_off + offsetof(struct seg_context, update), s->fixed);
	return segment_guard(&s->segment, &s->place);
}
