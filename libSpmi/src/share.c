/* The control area, which the program sees as SpmiShare. */
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "internal.h"

#define AT SPMI_PAGE_ /* offset in the segment, so that the agent's pages are whole pages of the segment */

_Static_assert(sizeof(struct seg_header) <= AT, "the header comes before");
_Static_assert(offsetof(SpmiShare, SiShT) % sizeof(((SpmiShare *)0)->SiShT.tv_sec) == 0,
	       "the words of the time stamp are aligned");
_Static_assert(offsetof(SpmiShare, SiShGoAway) == offsetof(struct seg_notice, goaway), "the first page");
_Static_assert(offsetof(SpmiShare, SiShInterval) == SPMI_PAGE_ + offsetof(struct seg_notice, interval) &&
	       offsetof(SpmiShare, SiShSubscrib) == SPMI_PAGE_ + offsetof(struct seg_notice, subscrib),
	       "the second page");

/* Returns the length, with the free space before it. */
uint64_t share_size(void)
{
	return AT - sizeof(struct seg_header) + sizeof(SpmiShare);
}

_Static_assert(sizeof(((SpmiShare *)0)->SiShT.tv_usec) == sizeof(((SpmiShare *)0)->SiShT.tv_sec),
	       "both words of the time stamp have one width");

SpmiShare *share_write(const struct supplier *s, const struct request *r)
{
	struct seg_header *h = s->segment.header;
	SpmiShare *share = (SpmiShare *)(s->segment.base + AT);

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
	h->time_off = (uint32_t)(AT + offsetof(SpmiShare, SiShT));
	h->time_word = sizeof(share->SiShT.tv_sec);
	return share;
}
