/* Stores that a reader in another process sees in order. */
#ifndef SPMI_BARRIER_H
#define SPMI_BARRIER_H

#include "layout.h"

/* Everything stored before is seen by whoever sees this. */
static inline void store_u32(uint32_t *at, uint32_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELEASE);
}

static inline void store_u64(seg_u64 *at, uint64_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELEASE);
}

/* Nothing stored later is seen by who does not see what was stored before. */
static inline void order_later_stores(void)
{
#ifndef __SANITIZE_THREAD__ /* which does not know fences */
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

static inline void store_u32_first(uint32_t *at, uint32_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELAXED);
	order_later_stores();
}

#endif
