/* The segments, as docs/arm-segment.md describes them; tests compare with layout.txt. */
#ifndef RT_LAYOUT_H
#define RT_LAYOUT_H

#include "atomic.h"

#define SEG_MAGIC_NAMES "RTARMNM2"
#define SEG_MAGIC_PROC "RTARMPR2"
#define SEG_MAGIC_SWITCHES "RTARMSW2"
#define SEG_ORDER 0x01020304u

enum {
	SEG_MAJOR = 2,
	SEG_MINOR = 0,
	SEG_LANGUAGE_C = 1,

	/* states of a file */
	SEG_BUILDING = 0,
	SEG_READY = 1,

	/* states of a record */
	RECORD_EMPTY = 0,
	RECORD_PUBLISHED = 1,
	RECORD_DEAD = 2,
	RECORD_BUILDING = 3,

	/* how many there may be */
	APP_MAX = 1024,
	TRAN_MAX = 65536,
	APP_HASH_LEN = 1024,
	TRAN_HASH_LEN = 8192,
	BLOCK_MAX = 1024,
	CHUNK_MAX = 2048,
	CHUNK_SLOTS = 64,
	DIR_PAGES = 256,
	PAGE_CELLS = 256,
	RING_LEN = 16,
	HIST_LEN = 256,
	METRICS = 6,
	PAIRS_LEN = 512,
	TRACE_LEN = 128,
	KEY_MAX = 31,
	DESCR_MAX = 63,
	NAME_MAX_LEN = 127,
	CORRELATOR_MAX = 168,
	TEXT_MAX = 1020,

	/* owners of blocks, and their flag */
	BLOCK_FREE = 0,
	BLOCK_EXCLUSIVE = 1,
	BLOCK_SHARED = 2,
	BLOCK_COUNTS_OPS = 1,

	/* a slot's state word: state, generation from bit 3, transaction from bit 32 */
	SLOT_FREE = 0,
	SLOT_CLAIMED = 1,
	SLOT_ACTIVE = 2,
	SLOT_STOPPING = 3,
	SLOT_STATE_MASK = 7,
	SLOT_GEN_SHIFT = 3,
	SLOT_GEN_MAX = 16383,
	SLOT_TRACED = 1,
	SLOT_METRICS = 2,

	EVENT_START = 1,
	EVENT_UPDATE = 2,
	EVENT_STOP = 3
};

struct seg_names {
	char magic[8];
	uint32_t order;
	uint16_t major, minor;
	uint32_t header_len, app_len, tran_len, state;
	seg_u64 nonce;
	uint32_t uid, app_max, tran_max, app_next, tran_next, app_hash_len, tran_hash_len;
	uint16_t addr_format, addr_len;
	uint8_t address[24];
	seg_u64 app_hash_off, tran_hash_off, apps_off, trans_off, size;
	uint32_t language;
	uint8_t spare[372];
};

struct seg_app {
	uint32_t next, state;
	seg_u64 use;
	char key[32], descr[64], user[128];
	uint8_t spare[16];
};

struct seg_desc {
	uint32_t type;
	char name[44];
};

struct seg_tran {
	uint32_t next, state, app, epoch, meta, meta_flags;
	char key[32], descr[64], detail[128];
	struct seg_desc descs[METRICS + 1];
	uint8_t spare[56];
} __attribute__((aligned(8)));

struct seg_switches {
	char magic[8];
	uint32_t order;
	uint16_t major, minor;
	seg_u64 nonce;
	uint8_t spare[40];
	uint32_t trace[TRAN_MAX / 32]; /* a bit for each transaction */
};

struct seg_proc {
	char magic[8];
	uint32_t order;
	uint16_t major, minor;
	uint32_t header_len, block_len, chunk_len, cell_len, state, pid;
	seg_u64 pidns, start;
	uint32_t uid, language;
	seg_u64 nonce, bump, backed, inits_off;
	uint32_t app_max, chunk_max;
	seg_u64 chunks_off;
	uint32_t chunk_next, block_max;
	seg_u64 blocks_off;
	uint32_t block_next, spare1;
	seg_u64 trace_off;
	uint32_t trace_len, event_len;
	seg_u64 trace_next, pairs_off;
	uint32_t pairs_len, pair_len;
	seg_u64 no_room, bad_handles, bad_data, pairs_lost;
	char name[64];
	uint8_t spare2[240];
};

struct seg_block {
	uint32_t owner, flags;
	seg_u64 ops;
	uint32_t tid;
	uint8_t spare[44];
	uint32_t dir[DIR_PAGES];
};

struct seg_slot {
	seg_u64 state, start;
	uint32_t pair, flags;
	seg_u64 update;
	uint8_t spare[32];
};

struct seg_chunk {
	uint32_t block, spare1;
	seg_u64 ext_off;
	uint8_t spare2[48];
	struct seg_slot slots[CHUNK_SLOTS];
};

struct seg_ext {
	uint32_t flags, spare1;
	seg_u64 prev[METRICS];
	uint8_t spare2[8];
};

struct seg_cell {
	uint32_t tran, flags;
	seg_u64 n, sum, min, max, aborted, aborted_ns, failed, failed_ns, updates, bad_data, metrics_off;
	uint8_t spare[32];
	seg_u64 ring[RING_LEN], hist[HIST_LEN];
};

struct seg_metric {
	uint32_t seq, type;
	seg_u64 count;
	union {
		struct {
			seg_u64 sum, last, min, max;
		};
		char text[32];
	};
	uint8_t spare[16];
};

struct seg_pair {
	uint32_t state, tran;
	seg_u64 hash, count, sum, aborted, failed;
	uint16_t vendor, version, instance, addr_format;
	uint32_t class;
	uint16_t addr_len, spare1;
	uint8_t address[24];
	uint8_t spare2[40];
};

struct seg_event {
	seg_u64 seq, time;
	uint32_t kind, tran, handle, status, flags, text_len;
	seg_u64 duration;
	uint8_t metrics[48], string[32], parent[CORRELATOR_MAX], own[CORRELATOR_MAX], text[TEXT_MAX];
	uint8_t spare[52];
};

#endif
