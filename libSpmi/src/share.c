/* The control area, which the program sees as SpmiShare. */
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "internal.h"

/*
 * On i386 the time stamp of 64-bit words is aligned to 4 bytes only within the control
 * area. Readers want its words aligned, so the whole area moves.
 */
static uint64_t start(void)
{
	uint64_t at = sizeof(struct seg_header) + offsetof(SpmiShare, SiShT);

	return sizeof(struct seg_header) + at % sizeof(((SpmiShare *)0)->SiShT.tv_sec);
}

/* Length, with what is left free before it. */
uint64_t share_size(void)
{
	return start() - sizeof(struct seg_header) + sizeof(SpmiShare);
}

/* Tells readers where the fields lie that they use. */
static void point_to(struct seg_header *h, uint32_t at)
{
	h->time_off = at + (uint32_t)offsetof(SpmiShare, SiShT);
	h->time_word = sizeof(((SpmiShare *)0)->SiShT.tv_sec);
	h->goaway_off = at + (uint32_t)offsetof(SpmiShare, SiShGoAway);
	h->goaway_len = sizeof(((SpmiShare *)0)->SiShGoAway);
	h->interval_off = at + (uint32_t)offsetof(SpmiShare, SiShInterval);
	h->subscrib_off = at + (uint32_t)offsetof(SpmiShare, SiShSubscrib);
	h->port_off = at + (uint32_t)offsetof(SpmiShare, SiShPortNo);
}

_Static_assert(sizeof(((SpmiShare *)0)->SiShT.tv_usec) == sizeof(((SpmiShare *)0)->SiShT.tv_sec),
	       "both words of the time stamp have one width");

SpmiShare *share_write(const struct supplier *s, const struct request *r)
{
	uint64_t at = start();
	SpmiShare *share = (SpmiShare *)(s->segment.base + at);

	share->SiShMajor = SEG_MAJOR;
	share->SiShMinor = SEG_MINOR;
	memcpy(share->SiShName, r->file, bounded_len(r->file, sizeof(share->SiShName) - 1));
	share->SiShKey = (int)getpid();
	share->SiShAllocLen = (int)s->segment.end;
	share->SiShCxCnt = (int)s->fixed;
	share->SiShInstCnt = (int)s->inst;
	share->SiShStatCnt = (int)s->stats_count;
	share->SiShArea = s->segment.base + s->area_off;
	share->SiShAreaLen = (int)s->area_len;
	gettimeofday(&share->SiShT, NULL);
	point_to(s->segment.header, (uint32_t)at);
	return share;
}
