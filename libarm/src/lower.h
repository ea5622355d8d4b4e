/*
 * The replacement library: each call goes to another ARM library first, the lower one. The
 * program sees the lower one's identifiers. The tables tell which of ours belongs to each of
 * these.
 */
#ifndef RT_LOWER_H
#define RT_LOWER_H

#include "internal.h"

/* A word has an identifier of the lower library, above 0, in its upper half and ours in its lower
 * half. 0: it is free. */
struct xref {
	uint32_t bits; /* the table has 1 << bits words */
	seg_u64 *words;
};

enum { XREF_APP_BITS = 12, XREF_TRAN_BITS = 17, XREF_START_BITS = 18 };

seg_u64 *xref_claim(struct xref *x, int lower);
void xref_fill(seg_u64 *word, int lower, int own);
void xref_drop(seg_u64 *word, int lower);
int xref_find(const struct xref *x, int lower);
int xref_take(struct xref *x, int lower);

struct lower {
	bool alone; /* INVOKE_ARM is false: only the lower library is called */
	void *handle;
	arm_appl_id_t (*init)(const arm_ptr_t *, const arm_ptr_t *, arm_flag_t, arm_data_t *, arm_data_sz_t);
	arm_tran_id_t (*getid)(arm_appl_id_t, const arm_ptr_t *, const arm_ptr_t *, arm_flag_t, arm_data_t *,
			       arm_data_sz_t);
	arm_start_handle_t (*start)(arm_tran_id_t, arm_flag_t, arm_data_t *, arm_data_sz_t);
	arm_ret_stat_t (*update)(arm_start_handle_t, arm_flag_t, arm_data_t *, arm_data_sz_t);
	arm_ret_stat_t (*stop)(arm_start_handle_t, arm_status_t, arm_flag_t, arm_data_t *, arm_data_sz_t);
	arm_ret_stat_t (*end)(arm_appl_id_t, arm_flag_t, arm_data_t *, arm_data_sz_t);
	struct xref apps, trans, starts;
	seg_u64 app_words[1 << XREF_APP_BITS], tran_words[1 << XREF_TRAN_BITS],
		start_words[1 << XREF_START_BITS];
};

/* The lower library, or NULL. The first arm_init sets it for good. A static program has no lower
 * library, since it cannot load any. */
#ifdef RT_NO_LOWER
#define RT_LOWER 0
#define lower_load() ((void)0)
#else
#define RT_LOWER load_acquire(&rt_lower)
extern struct lower *rt_lower;
void lower_load(void);
#endif

/* A call's remaining arguments, for the lower library. */
struct rest {
	arm_flag_t flags;
	arm_data_t *data;
	arm_data_sz_t size;
};

int lower_init(const char *name, const char *user, struct rest r);
int lower_getid(int app, const char *name, const char *detail, struct rest r);
int lower_start(int tran, struct rest r);
int lower_update(int handle, struct rest r);
int lower_stop(int handle, int status, struct rest r);
int lower_end(int app, struct rest r);

#endif
