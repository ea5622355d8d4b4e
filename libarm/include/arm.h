/*
 * Application Response Measurement, version 2.0.
 *
 * Types, constants and signatures are those of the ARM 2.0 guide and of the Performance
 * Toolbox. Strings are const besides, so that C++ takes literals. See arm_init(3).
 *
 * Compiles as C89 to C23 and as C++98 and later. Before including this file a program may define
 *
 *   ARM_NO_INT_TYPES   where it has int32, unsigned32 and their like itself
 *   INT64              the type of 64 bits to make int64 of
 */
#ifndef ARM_H_INCLUDED
#define ARM_H_INCLUDED

#ifdef INT64
typedef INT64 arm_int64_t;
typedef unsigned INT64 arm_unsigned64_t;
#elif defined(__GNUC__) /* in C89 and C++98, too, which have no long long */
typedef int arm_int64_t __attribute__((__mode__(__DI__)));
typedef unsigned int arm_unsigned64_t __attribute__((__mode__(__DI__)));
#else
typedef long long arm_int64_t;
typedef unsigned long long arm_unsigned64_t;
#endif

/* The guide's terms for data, in the machine's byte order. */
#ifndef ARM_NO_INT_TYPES
#ifndef int32
typedef int int32;
#endif
#ifndef int64
typedef arm_int64_t int64;
#endif
#ifndef unsigned8
typedef unsigned char unsigned8;
#endif
#ifndef unsigned16
typedef unsigned short unsigned16;
#endif
#ifndef unsigned32
typedef unsigned int unsigned32;
#endif
#ifndef unsigned64
typedef arm_unsigned64_t unsigned64;
#endif
#ifndef bit8
typedef unsigned char bit8;
#endif
#endif

#ifndef ARM_API
#define ARM_API
#endif

/* The Performance Toolbox's terms. All identifiers: above 0 good, below 0 failed. */
typedef char arm_ptr_t;
typedef int arm_appl_id_t;
typedef int arm_tran_id_t;
typedef int arm_start_handle_t;
typedef int arm_flag_t;
typedef char arm_data_t;
typedef int arm_data_sz_t;
typedef int arm_status_t;
typedef int arm_ret_stat_t;

/* What arm_stop is told of a transaction. */
#define ARM_GOOD 0   /* it did what it was to do */
#define ARM_ABORT 1  /* the system failed it */
#define ARM_FAILED 2 /* it worked, but without a result */

/* Formats of the data buffers. */
#define ARM_FORMAT_DATA 1   /* arm_data1_t: arm_start, arm_update, arm_stop */
#define ARM_FORMAT_TEXT 2   /* arm_data2_t: arm_update */
#define ARM_FORMAT_META 101 /* arm_data101_t: arm_getid */

/* Types of metrics. */
#define ARM_Counter32 1
#define ARM_Counter64 2
#define ARM_CntrDivr32 3
#define ARM_Gauge32 4
#define ARM_Gauge64 5
#define ARM_GaugeDivr32 6
#define ARM_NumericID32 7
#define ARM_NumericID64 8
#define ARM_String8 9
#define ARM_String32 10

/* Limits, in bytes: names with their terminating zero, correlators, texts. */
#define ARM_NAME_MAX 128
#define ARM_CORRELATOR_MAX 168
#define ARM_TEXT_MAX 1020
#define ARM_METRICS 6

/* flags[0] of a buffer of format 1, for arm_start. */
#define ARM_PARENT_GIVEN 0x80      /* a: correlator holds the parent's */
#define ARM_CORRELATOR_WANTED 0x40 /* b: an own one is asked for */
#define ARM_CORRELATOR_GIVEN 0x20  /* c: the library has put it into correlator */
#define ARM_TRACE_WANTED 0x10      /* d: trace this transaction */

/* flags[1] of buffers of format 1 and 101: which of metric[0..5] are given, and string1. */
#define ARM_METRIC_GIVEN(i) (0x80 >> (i))
#define ARM_STRING_GIVEN 0x02

/* A correlator: opaque, in network byte order, its length (with these two bytes) first. */
typedef struct arm_correlator {
	unsigned char length[2];
	unsigned char data[ARM_CORRELATOR_MAX - 2];
} arm_correlator_t;

#define ARM_CORRELATOR_LENGTH(c) ((c)->length[0] << 8 | (c)->length[1])

/* A counter or a gauge over 32 bits that stands for value / divisor. */
typedef struct arm_cntrdivr32 {
	unsigned int value;
	unsigned int divisor;
} arm_cntrdivr32_t;

typedef struct arm_gaugedivr32 {
	int value;
	unsigned int divisor;
} arm_gaugedivr32_t;

/* The value of a metric, by its type. */
typedef union arm_metric {
	unsigned int counter32;
	arm_unsigned64_t counter64;
	arm_cntrdivr32_t cntrdivr32;
	int gauge32;
	arm_int64_t gauge64;
	arm_gaugedivr32_t gaugedivr32;
	unsigned int numericid32;
	arm_unsigned64_t numericid64;
	char string8[8]; /* blanks fill it up */
} arm_metric_t;

/* Format 1, 256 bytes; shorter where the correlator is, or where nothing follows. */
typedef struct arm_data1 {
	int format;
	unsigned char flags[4];
	arm_metric_t metric[ARM_METRICS];
	char string1[32]; /* blanks fill it up */
	arm_correlator_t correlator;
} arm_data1_t;

/* Format 2: as many bytes of text as data_size says, less 4. */
typedef struct arm_data2 {
	int format;
	char text[ARM_TEXT_MAX];
} arm_data2_t;

/* Format 101, 344 bytes. */
typedef struct arm_meta {
	int type;
	char name[44];
} arm_meta_t;

typedef struct arm_data101 {
	int format;
	unsigned char flags[4];
	arm_meta_t metric[ARM_METRICS];
	arm_meta_t string1;
} arm_data101_t;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Any thread may call these at any time; arm_start, arm_update and arm_stop may be called
 * in signal handlers, too. They answer below 0 when they fail, and 0 when INVOKE_ARM is
 * "false". flags is reserved, 0.
 */

/* Begins with an application; answers its identifier. "*" as user is the login name. */
extern arm_appl_id_t ARM_API arm_init(const arm_ptr_t *appname, const arm_ptr_t *appl_user_id,
				      arm_flag_t flags, arm_data_t *data, arm_data_sz_t data_size);

/* Names a transaction of an application; answers its identifier. */
extern arm_tran_id_t ARM_API arm_getid(arm_appl_id_t appl_id, const arm_ptr_t *tran_name,
				       const arm_ptr_t *tran_detail, arm_flag_t flags,
				       arm_data_t *data, arm_data_sz_t data_size);

/* Begins a transaction; answers the handle for the calls below. */
extern arm_start_handle_t ARM_API arm_start(arm_tran_id_t tran_id, arm_flag_t flags,
					    arm_data_t *data, arm_data_sz_t data_size);

/* Says that a transaction is getting on. */
extern arm_ret_stat_t ARM_API arm_update(arm_start_handle_t arm_handle, arm_flag_t flags,
					 arm_data_t *data, arm_data_sz_t data_size);

/* Ends a transaction, in whatever thread. */
extern arm_ret_stat_t ARM_API arm_stop(arm_start_handle_t arm_handle, const arm_status_t comp_status,
				       arm_flag_t flags, arm_data_t *data, arm_data_sz_t data_size);

/* Ends with an application: the counterpart of one arm_init. */
extern arm_ret_stat_t ARM_API arm_end(arm_appl_id_t appl_id, arm_flag_t flags, arm_data_t *data,
				      arm_data_sz_t data_size);

/*
 * Additions of this library, which the guides do not have: W3C trace context, level 1.
 *
 * The first makes a correlator, to be given to arm_start as the parent's, from the value of a
 * traceparent header. The second writes the header's value for a correlator that
 * carries a trace context, with a terminating zero: one from the first, or one
 * that arm_start made whose parent carried it. 0 is good, below 0 is not.
 */
#define ARM_TRACEPARENT_SIZE 56

extern arm_ret_stat_t ARM_API arm_correlator_from_traceparent(const char *traceparent,
							      arm_correlator_t *out);
extern arm_ret_stat_t ARM_API arm_correlator_to_traceparent(const arm_correlator_t *correlator,
							    char out[ARM_TRACEPARENT_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
