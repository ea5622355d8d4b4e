/*
 * Words that others read. If only one thread and its signal handlers change a word, a
 * single instruction without a lock prefix changes it, where the processor has one. A
 * handler runs before or after such an instruction, and another process sees the old
 * value or the new one.
 */
#ifndef RT_ATOMIC_H
#define RT_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* i386 would align these to 4 bytes in structures. */
typedef uint64_t seg_u64 __attribute__((aligned(8)));

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RT_TSAN 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define RT_TSAN 1
#endif

#define load(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add(p, v) ((void)__atomic_fetch_add(p, v, __ATOMIC_RELAXED))
#define cas(p, expect, to) \
	__atomic_compare_exchange_n(p, expect, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* A reader that sees a later store also sees all earlier ones. */
static inline void store_barrier(void)
{
#ifndef RT_TSAN /* ThreadSanitizer does not know fences */
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

#if defined(__x86_64__) && !defined(RT_TSAN)

static inline void add_own(seg_u64 *p, uint64_t v)
{
	__asm__ volatile("addq %1, %0" : "+m"(*p) : "er"(v) : "cc");
}

static inline bool cas_own(seg_u64 *p, uint64_t expect, uint64_t to)
{
	bool done;

	__asm__ volatile("cmpxchgq %3, %0" : "+m"(*p), "+a"(expect), "=@ccz"(done) : "r"(to) : "memory");
	return done;
}

#else

static inline void add_own(seg_u64 *p, uint64_t v)
{
	add(p, v);
}

static inline bool cas_own(seg_u64 *p, uint64_t expect, uint64_t to)
{
	return cas(p, &expect, to);
}

#endif

#endif
