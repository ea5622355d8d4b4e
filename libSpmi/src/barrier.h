/* Stores that a reader in another process sees in order. */
#ifndef SPMI_BARRIER_H
#define SPMI_BARRIER_H

#include "layout.h"

/* Stores a word. A reader that sees it also sees everything that was stored before. */
static inline void store_u32(uint32_t *at, uint32_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELEASE);
}

static inline void store_u64(seg_u64 *at, uint64_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELEASE);
}

/* A reader that sees a later store also sees all earlier ones. */
static inline void order_later_stores(void)
{
#ifndef __SANITIZE_THREAD__ /* the thread sanitizer does not know fences */
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

static inline void store_u32_first(uint32_t *at, uint32_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELAXED);
	order_later_stores();
}

#endif
