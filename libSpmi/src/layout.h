/*
 * A supplier's segment as it lies in the file. This is the contract with its
 * readers. Tests compare both this file and the Go side with
 * internal/ddsseg/layout/layout.txt.
 *
 * All integers are in the machine's byte order. Positions are offsets from the start
 * of the file, never addresses. Fields marked atomic change after publication.
 */
#ifndef SPMI_LAYOUT_H
#define SPMI_LAYOUT_H

#include <stdint.h>

#define SEG_MAGIC "RTDDSEG1"
#define SEG_ORDER 0x01020304u
#define SEG_MAJOR 1
#define SEG_MINOR 2
#define SEG_LANGUAGE_C 1
#define SEG_RECENT 32u
#define SEG_NO_TIMEOUT 0xffffffffu
#define SEG_NOTICE_LEN 4096
#define SEG_NOTICE_DIR ".agent"
#define SEG_BLOCKS 20
#define SEG_BLOCK_FIRST 64u /* block k holds SEG_BLOCK_FIRST << k slots */

enum seg_state { SEG_BUILDING, SEG_READY, SEG_ENDED };
enum seg_kind { SEG_FIXED, SEG_TEMPLATE };

/* On i386 the compiler aligns a 64-bit integer in a structure to only 4 bytes. */
typedef uint64_t seg_u64 __attribute__((aligned(8)));
typedef int64_t seg_i64 __attribute__((aligned(8)));

struct seg_header {
	char magic[8];
	uint32_t order;
	uint16_t major;
	uint16_t minor;
	uint32_t header_len;
	uint32_t word;
	seg_u64 size;   /* atomic */
	uint32_t state; /* atomic */
	uint32_t pid;
	seg_u64 pidns;
	seg_u64 start;
	uint32_t uid;
	uint32_t changes; /* atomic */
	seg_u64 stats_off;
	uint32_t stats_count;
	uint32_t stat_len;
	seg_u64 contexts_off;
	uint32_t contexts_count;
	uint32_t context_len;
	uint32_t slots_count; /* atomic */
	uint32_t slot_len;
	seg_u64 slot_block[SEG_BLOCKS]; /* atomic */
	uint32_t time_off;
	uint32_t time_word;
	uint32_t timeout; /* seconds as for SpmiInit; 0: none given; SEG_NO_TIMEOUT */
	char spare[16];
	uint32_t language;
	char name[64];
	uint32_t recent[SEG_RECENT]; /* atomic: change n is at n modulo the length, as slot + 1 */
	uint32_t updates; /* atomic: 1 before the first update */
	char rest[20];
};

struct seg_stat {
	char name[32];
	char descr[64];
	seg_i64 min;
	seg_i64 max;
	uint32_t value_type;
	uint32_t data_type;
	uint32_t type;
	uint32_t offset;
	uint32_t size;
	uint32_t asn;
	uint32_t units;
	uint32_t flags;
	seg_u64 help_off;
	uint32_t help_len;
	uint32_t labels_len;
	seg_u64 labels_off;
	char rest[88];
};

struct seg_context {
	char path[64];
	char descr[64];
	uint32_t asn;
	uint32_t kind;
	uint32_t first_stat;
	uint32_t stat_count;
	seg_u64 data_off;
	uint32_t data_len;
	uint32_t update; /* atomic */
	seg_u64 help_off;
	uint32_t help_len;
	uint32_t labels_len;
	seg_u64 labels_off;
	char rest[136];
};

struct seg_slot {
	char path[64];
	char descr[64];
	uint32_t asn;
	uint32_t seq; /* atomic: odd while the slot changes */
	uint32_t template;
	uint32_t active; /* atomic */
	seg_u64 data_off;
	uint32_t data_len;
	uint32_t update; /* atomic */
	seg_u64 help_off;
	uint32_t help_len;
	uint32_t labels_len;
	seg_u64 labels_off;
	char rest[136];
};

/* What the agent tells a supplier, in a file of the agent; see notice.c. */
struct seg_notice {
	uint32_t goaway;
	uint32_t interval;
	uint32_t subscrib;
};

_Static_assert(sizeof(struct seg_header) == 512, "header");
_Static_assert(sizeof(struct seg_stat) == 256, "statistic");
_Static_assert(sizeof(struct seg_context) == 320, "context");
_Static_assert(sizeof(struct seg_slot) == 320, "slot");

#endif
