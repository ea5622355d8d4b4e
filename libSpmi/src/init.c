/* The functions that programs call. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"
#include "state.h"

#define EXPORT __attribute__((visibility("default")))

struct state spmi_state;

/* Later calls are ignored, whatever their arguments are. */
static void initialize(uint32_t timeout)
{
	if (spmi_state.initialized)
		return;
	spmi_state.timeout = timeout;
	spmi_state.initialized = true;
	spmi_state.pid = getpid();
}

EXPORT int SpmiInit(int TimeOut)
{
	struct entry_state st;
	int err = spmi_enter(&st);

	if (err)
		return err;
	if (!spmi_state.initialized && TimeOut != 0 && (TimeOut < 15 || TimeOut > 600))
		err = spmi_fail(SiBadArgument, "timeout %d: want 0 or 15 to 600 seconds", TimeOut);
	else
		initialize(TimeOut ? (uint32_t)TimeOut : SEG_NO_TIMEOUT);
	spmi_leave(&st);
	return err;
}

static void supplier_reset(struct supplier *s)
{
	memset(s, 0, sizeof(*s));
	s->place.dir.fd = s->place.claims.fd = s->place.file.fd = -1;
}

/* For threads that still use the control area, which is private memory now. */
static void leave_behind(SpmiShare *share, char *area)
{
	share->SiShArea = area;
	share->SiShGoAway = 1;
}

static void supplier_end(struct supplier *s)
{
	char *area = s->segment.base + s->area_off;
	SpmiShare *share = s->share;

	segment_withdraw(&s->segment, &s->place);
	places_close(&s->place);
	segment_detach(&s->segment);
	if (share)
		leave_behind(share, area);
	arena_free(&s->arena);
	supplier_reset(s);
}

/*
 * The directory is not there yet: the machine is starting, or the agent is not
 * installed.
 */
static bool too_early(int err)
{
	return err == SiNoShmPtr;
}

static int build(struct supplier *s, const struct request *r)
{
	uint32_t i;
	int err, early;

	if ((err = table_init(&s->table, &s->arena, random_u64())) || (err = tables_check(s, r)))
		return err;
	early = places_open(&s->place);
	if (early && !too_early(early))
		return early;
	if ((err = tables_parents(s)) ||
	    (err = early ? 0 : tables_claim(s)) ||
	    (err = early ? segment_own(&s->segment) : segment_create(&s->segment, &s->place)) ||
	    (err = image_write(s, r)) ||
	    (err = early ? 0 : segment_publish(&s->segment, &s->place)))
		return err;
	s->published = !early;
	spmi_ok();
	for (i = 0; i < s->fixed + s->inst; i++)
		s->records[i].source = NULL;
	return 0;
}

static int register_supplier(const struct request *r, int fixed_count, int inst_count)
{
	struct supplier *s = &spmi_state.supplier;
	int err;

	if (spmi_state.registered)
		return spmi_fail(SiDuplicate, "this program is a supplier already; call SpmiExit first");
	if ((err = request_check(r, fixed_count, inst_count)))
		return err;
	initialize(0);
	supplier_reset(s);
	err = build(s, r);
	if (err)
		supplier_end(s);
	else
		spmi_state.registered = true;
	return err;
}

static SpmiShare *dds_init(struct request *r, int fixed_count, int inst_count)
{
	struct entry_state st;
	SpmiShare *share = NULL;

	if (spmi_enter(&st))
		return NULL;
	r->fixed_count = (uint32_t)fixed_count;
	r->inst_count = (uint32_t)inst_count;
	r->timeout = spmi_state.initialized ? spmi_state.timeout : 0;
	if (!register_supplier(r, fixed_count, inst_count))
		share = spmi_state.supplier.share;
	publish_begin();
	spmi_leave(&st);
	return share;
}

/* The sixth argument is not used, because a segment grows. */
EXPORT SpmiShare *SpmiDdsInit(const cx_create *CxTab, int CxCnt, const cx_create *IxTab, int IxCnt,
			      const char *FileName, ...)
{
	struct request r = { .fixed = CxTab, .inst = IxTab, .file = FileName };

	return dds_init(&r, CxCnt, IxCnt);
}

SpmiShare *SpmiDdsInit_time64(const cx_create *CxTab, int CxCnt, const cx_create *IxTab, int IxCnt,
			      const char *FileName, ...);

/*
 * The function that Spmidef.h substitutes for SpmiDdsInit where struct timeval is wider
 * than here.
 */
EXPORT SpmiShare *SpmiDdsInit_time64(const cx_create *CxTab, int CxCnt, const cx_create *IxTab,
				     int IxCnt, const char *FileName, ...)
{
	struct request r = { .fixed = CxTab, .inst = IxTab, .file = FileName, .time64 = true };

	return dds_init(&r, CxCnt, IxCnt);
}

static char *add(int ix, const char *path, const char *descr, int asn)
{
	struct supplier *s = &spmi_state.supplier;

	if (!spmi_state.registered) {
		spmi_fail(SiNotInit, "this program is no supplier");
		return NULL;
	}
	if (ix < 0 || (uint32_t)ix >= s->inst) {
		spmi_fail(SiBadArgument, "index %d: the table of volatile contexts has %u elements", ix,
			  (unsigned)s->inst);
		return NULL;
	}
	if (asn < 0 || asn > 65535) {
		spmi_fail(SiBadArgument, "ASN.1 number %d: want 0 to 65535", asn);
		return NULL;
	}
	if (check_path(path, bounded_len(path, SI_MAXLNAME)))
		return NULL;
	return context_add(s, (uint32_t)ix, path, descr, (uint32_t)asn);
}

EXPORT char *SpmiDdsAddCx(int Ix, const char *Path, const char *Descr, int Asnno)
{
	struct entry_state st;
	char *area = NULL;

	if (spmi_enter(&st))
		return NULL;
	if (!Path || !Descr)
		spmi_fail(SiBadArgument, "the path or the description is NULL");
	else if (bounded_len(Descr, SI_MAXLNAME) == SI_MAXLNAME)
		spmi_fail(SiBadArgument, "description is longer than %d bytes", SI_MAXLNAME - 1);
	else
		area = add(Ix, Path, Descr, Asnno);
	publish_begin();
	spmi_leave(&st);
	return area;
}

EXPORT int SpmiDdsDelCx(char *Area)
{
	struct entry_state st;
	int err = spmi_enter(&st);

	if (err)
		return err;
	if (!spmi_state.registered)
		err = spmi_fail(SiNotInit, "this program is no supplier");
	else if (!Area)
		err = spmi_fail(SiBadArgument, "the data area is NULL");
	else
		err = context_del(&spmi_state.supplier, Area);
	publish_begin();
	spmi_leave(&st);
	return err;
}

static bool own(void)
{
	return spmi_state.pid == getpid();
}

/*
 * In a signal handler that has interrupted another call of the library, this only tells the
 * readers and removes the file. The kernel does the rest when the process ends.
 */
EXPORT void SpmiExit(void)
{
	struct entry_state st;
	bool readers = read_try_exit(), locked = spmi_enter_to_exit(&st);

	if (!own() || !spmi_state.initialized)
		spmi_fail(SiNotInit, "the SPMI is not initialized");
	else if (!locked)
		segment_withdraw(&spmi_state.supplier.segment, &spmi_state.supplier.place);
	else {
		if (spmi_state.registered)
			supplier_end(&spmi_state.supplier);
		spmi_state.registered = spmi_state.initialized = false;
		if (readers)
			reader_end();
	}
	if (locked)
		spmi_leave(&st);
	else
		spmi_leave_unlocked(&st);
	if (readers)
		read_exit_done();
}

/* Called in a child. It closes the parent's descriptors and does not touch its memory. */
void state_after_fork(void)
{
	if (spmi_state.registered) {
		places_close(&spmi_state.supplier.place);
		arena_free(&spmi_state.supplier.arena);
	}
	supplier_reset(&spmi_state.supplier);
	publish_forget();
	segment_disown();
	spmi_state.registered = spmi_state.initialized = false;
	spmi_state.pid = 0;
}

/*
 * A program that ends without SpmiExit, or unloads the library, stops being a supplier.
 * Its memory stays: a thread may still be running.
 */
__attribute__((destructor)) static void at_end(void)
{
	struct supplier *s = &spmi_state.supplier;

	if (!own())
		return;
	publish_wait();
	if (spmi_state.registered) {
		segment_withdraw(&s->segment, &s->place);
		places_close(&s->place);
		spmi_state.registered = false;
	}
	segment_trim();
}
