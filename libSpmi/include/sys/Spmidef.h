/*
 * System Performance Measurement Interface: what programs need that supply statistics, and
 * those that read them.
 *
 * Structures, constants and error codes are those of the guide to the SPMI. A supplier
 * describes its statistics in tables, gives them to SpmiDdsInit, and stores its values
 * into the memory that it gets back. See SpmiDdsInit(3). A program that reads calls
 * SpmiInit, finds its way from context to context or by paths, and collects statistics in
 * sets. See SpmiPathGetCx(3) and SpmiCreateStatSet(3).
 *
 * Compiles as C89 to C23 and as C++. Structures have the same layout whatever the
 * program defines before it includes this file, with one exception that the library
 * knows: on a 32-bit system the time stamp is wider in programs compiled with
 * _TIME_BITS=64.
 *
 *   _NO_PROTO          declare the functions without prototypes, for programs that
 *                      declare them again in the old style
 *   SPMI_NO_BOOLEAN    do not define the type boolean
 *   SPMI_NO_UTYPES     do not define u_long and its like where the system does not
 */
#ifndef _SYS_SPMIDEF_H
#define _SYS_SPMIDEF_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/time.h>
#include <unistd.h>

/* Strict ANSI modes of glibc leave these out of sys/types.h. */
#if !defined(SPMI_NO_UTYPES) && defined(__GLIBC__) && !defined(__u_char_defined)
typedef unsigned char u_char;
typedef unsigned short u_short;
typedef unsigned int u_int;
typedef unsigned long u_long;
#endif

/* HAVE_BOOLEAN is what other headers that define this name look at, too. */
#if !defined(SPMI_NO_BOOLEAN) && !defined(HAVE_BOOLEAN) && !defined(boolean)
typedef int boolean;
#define HAVE_BOOLEAN 1
#endif

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

#ifndef CONST
#ifdef _NO_PROTO
#define CONST
#else
#define CONST const
#endif
#endif

/* A function of which the guide does not say what it takes. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ > 201710L)
#define SPMI_ANYARGS_ (void)
#else
#define SPMI_ANYARGS_ ()
#endif

#if defined(__GNUC__) && !defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#endif

#define SI_MAXNAME 32  /* short names, with the NUL that ends them */
#define SI_MAXLNAME 64 /* paths and descriptions, likewise */

/*
 * Size, offset and type of a field, as struct SpmiRawStat wants them.
 * The structure is named without the word struct.
 */
#define SZ_OFF(structure, field, type) \
	(unsigned short)sizeof(((struct structure *)0)->field), \
	(int)offsetof(struct structure, field), type

/* Number of elements in a table of statistics, and in one of contexts. */
#define STAT_L(table) ((int)(sizeof(table) / sizeof((table)[0])))
#define CX_L(table) ((int)(sizeof(table) / sizeof((table)[0])))

enum Error {
	SiSuccess = 0,
	SiInvalidCx = 180,    /* the referenced context does not exist */
	SiNoShmPtr = 181,     /* the shared memory segment cannot be identified */
	SiShmemFailed = 182,  /* shared memory cannot be accessed */
	SiAssumedDead = 183,  /* a supplier appears to have terminated */
	SiInstBusy = 184,     /* an update of shared memory is in progress */
	SiNotInst = 185,      /* instantiation could not be performed */
	SiNotInit = 186,      /* the SPMI is not initialized */
	SiBadArgument = 187,  /* an argument is invalid */
	SiNotFound = 188,     /* a requested structure does not exist */
	SiNoValue = 189,      /* no data value */
	SiInitFailed = 190,   /* initializing of the SPMI failed */
	SiSmuxFailed = 191,   /* context could not be exported through SMUX */
	SiLocked = 192,       /* somebody else holds the lock: try again */
	SiDuplicate = 193,    /* the context path exists already */
	SiCallocFailed = 194, /* memory could not be allocated */
	SiNoLicense = 195,    /* no license */
	SiDeleted = 196,      /* the context has been deleted */
	SiOtherErr = 197      /* unspecified internal error */
};

enum ValType {
	SiCounter, /* field is always incremented */
	SiQuantity /* field maintains a level */
};

enum DataType {
	SiULong,
	SiLong,
	SiUInt,
	SiInt,
	SiUShort,
	SiShort,
	SiChar,
	SiAddr,
	SiTimeval,
	SiFloat,
	SiDouble,
	SiPtr,
	SiUnsign
};

enum SiInstFreq {
	SiNoInst,  /* subcontexts never change */
	SiCfgInst, /* subcontexts change with the system's configuration */
	SiContInst /* subcontexts change all the time */
};

enum HotExcept {
	SiHotNoException = 0,
	SiNoHotException = SiHotNoException, /* the guide has both names */
	SiHotException,
	SiHotTrap,
	SiHotBoth
};

enum HotFeed {
	SiHotNoFeed = 0,
	SiHotThreshold,
	SiHotAlways
};

typedef void *SpmiCxHdl;
typedef void *SpmiStatHdl;

struct SpmiCx {
	char name[SI_MAXNAME];
	char description[SI_MAXLNAME];
	SpmiCxHdl parent;
	enum SiInstFreq inst_freq;
	unsigned short asnno;
	unsigned char deleted;
	unsigned char dummy;
};

struct SpmiStat {
	char name[SI_MAXNAME];
	char description[SI_MAXLNAME];
	long min;
	long max;
	enum ValType value_type;
	enum DataType data_type;
	unsigned short asnno;
	unsigned short dummy;
};

struct SpmiCxLink {
	void *reserved;
	SpmiCxHdl context;
};

struct SpmiStatLink {
	void *reserved;
	SpmiStatHdl stat;
};

struct SpmiStatSet {
	struct timeval time;
	struct timeval time_change;
};

union Value {
	long l;
	float f;
};

struct SpmiStatVals {
	void *reserved;
	SpmiStatHdl stat;
	SpmiCxHdl context;
	int ref_count;
	union Value val;
	union Value val_change;
	enum Error error;
};

struct SpmiHotSet {
	struct timeval time;
	struct timeval time_change;
};

struct SpmiHotItems {
	char name[SI_MAXLNAME];
	union Value val;
	union Value val_change;
};

struct SpmiHotVals {
	void *reserved;
	SpmiStatHdl stat;
	SpmiCxHdl grandpa;
	int ref_count;
	enum Error error;
	enum HotExcept except_type;
	short trap_no;
	short severity;
	enum HotFeed feed_type;
	int threshold;
	short frequency;
	short max_responses;
	short avail_resp;
	short count;
	char *path;
	struct SpmiHotItems *items;
};

/*
 * A statistic. Names must be unique among the statistics and subcontexts of a context,
 * ASN.1 numbers too, but for 0, which is none. size, offset and type say where the value
 * lies in the data area: write SZ_OFF(structure, field, type) for the three. get_fun must be
 * NULL.
 */
struct SpmiRawStat {
	char name[SI_MAXNAME];         /* short name, at most 31 bytes, without '/' */
	char description[SI_MAXLNAME]; /* at most 63 bytes */
	long min;                      /* default low scale value */
	long max;                      /* default high scale value */
	enum ValType value_type;       /* counter or level */
	enum DataType data_type;       /* format presented to consumers */
	unsigned short asnno;          /* ASN.1 number, 0 for none */
	unsigned short size;           /* size of the field in bytes */
	int offset;                    /* offset of the field in the data area */
	enum DataType type;            /* format of the field */
	int (*get_fun) SPMI_ANYARGS_;
};

/*
 * A context. The pointers to statistics are to const, so that tables that are const, as
 * the guide's are, need no casts. inst_stats, num_inst_stats and inst_subs must be NULL, 0 and
 * NULL; inst_freq is an enum SiInstFreq. datasize and what follows are not used.
 */
typedef struct {
	char path[SI_MAXLNAME];  /* full path, at most 63 bytes, without leading '/' */
	char descr[SI_MAXLNAME]; /* at most 63 bytes */
	unsigned short asnno;    /* ASN.1 number, unique among its parent's, or 0 for none */
	unsigned short datasize;
	const struct SpmiRawStat *stats;
	int num_stats;
	const struct SpmiRawStat *inst_stats;
	int num_inst_stats;
	int (*inst_subs) SPMI_ANYARGS_;
	int inst_freq;
	unsigned long level;
	char *area;
	unsigned long arealen;
} cx_create;

/*
 * The control area of a supplier. A program reads SiShArea, SiShGoAway, SiShInterval and
 * SiShSubscrib, and writes SiShT and SiShPortNo; everything else it leaves alone.
 *
 * What the agent writes comes first, each part on a page of its own: these pages are a file
 * of the agent's. A program that stores there keeps what it has stored to itself, and is not
 * told any more what else stands on that page. The other fields are in the program's own
 * segment, which the agent can only read. See SpmiDdsInit(3).
 *
 * SiShT may be in the machine's own byte order, as gettimeofday stores it, or
 * big-endian: what counts is that it changes.
 */
#if defined(__x86_64__) || defined(__i386__)
#define SPMI_PAGE_ 4096
#else
#define SPMI_PAGE_ 65536 /* the longest pages there are */
#endif

typedef struct {
	int SiShGoAway; /* boolean: the supplier is asked to terminate */
	char SiShPad1_[SPMI_PAGE_ - sizeof(int)];
	int SiShPad2_;
	int SiShInterval; /* shortest interval, in ms, at which somebody asks */
	int SiShSubscrib; /* number of values now being asked for */
	char SiShPad3_[SPMI_PAGE_ - 3 * sizeof(int)];
	struct timeval SiShT; /* time of the last update by the supplier */
	struct timeval SiShPost;
	short SiShMajor;
	short SiShMinor;
	char SiShName[64]; /* FileName, as far as it fits */
	char SiShId;
	int SiShKey; /* creating process ID */
	int SiShMemId;
	unsigned long SiShInetAddr;
	unsigned short SiShPortNo; /* of the guide's interface; it has no effect with PCP */
	int SiShAllocLen;          /* length of the segment when it was made */
	int SiShInstBegun;
	int SiShInstDone;
	int SiShRefrBegun;
	int SiShRefrDone;
	int SiShAlarmSw;
	cx_create *SiShCxTab;
	int SiShCxCnt; /* contexts in the table of fixed ones */
	cx_create *SiShInstTab;
	int SiShInstCnt; /* contexts in the table of volatile ones */
	struct SpmiRawStat *SiShStatTab;
	int SiShStatCnt; /* statistics in all tables */
	char *SiShArea;  /* data area of the fixed contexts */
	int SiShAreaLen; /* its length: the end of the last field that a statistic names */
	struct SpmiCxLink *SiShAddCx;
	struct SpmiCxLink *SiShActCx;
	struct SpmiCxLink *SiShDelCx;
	struct SpmiCxLink *SiShFreeCx;
	void *SiShAlarm;
	unsigned long SiShLock1;
	unsigned long SiShLock2;
	unsigned long SiShRes[4];
	char SiShData;
} SpmiShare;

/*
 * In a program with a wider time stamp than the library's on this system, the control
 * area has another layout, and another function fills it in.
 */
#if defined(_TIME_BITS) && _TIME_BITS == 64 && defined(__GLIBC__) && \
	defined(__TIMESIZE) && __TIMESIZE == 32
#define SpmiDdsInit SpmiDdsInit_time64
#define SpmiCreateStatSet SpmiCreateStatSet_time64
#define SpmiCreateHotSet SpmiCreateHotSet_time64
#endif

#define SpmiGetNextValue SpmiNextValue /* the guide has both names */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What the last call found: SiSuccess and an empty text, or an error code and an English
 * text. One pair for the whole process: threads that want to know must take turns.
 */
extern int SpmiErrno;
extern char SpmiErrmsg[];

#ifdef _NO_PROTO
extern int SpmiInit();
extern void SpmiExit();
extern SpmiShare *SpmiDdsInit();
extern char *SpmiDdsAddCx();
extern int SpmiDdsDelCx();
extern int SpmiInstantiate();
extern SpmiCxHdl SpmiPathGetCx();
extern struct SpmiCxLink *SpmiFirstCx();
extern struct SpmiCxLink *SpmiNextCx();
extern struct SpmiStatLink *SpmiFirstStat();
extern struct SpmiStatLink *SpmiNextStat();
extern char *SpmiStatGetPath();
extern struct SpmiCx *SpmiGetCx();
extern struct SpmiStat *SpmiGetStat();
extern struct SpmiStatSet *SpmiCreateStatSet();
extern struct SpmiStatVals *SpmiPathAddSetStat();
extern int SpmiFreeStatSet();
extern int SpmiDelSetStat();
extern int SpmiGetStatSet();
extern struct SpmiStatVals *SpmiFirstVals();
extern struct SpmiStatVals *SpmiNextVals();
extern float SpmiGetValue();
extern struct SpmiStatVals *SpmiNextValue();
extern struct SpmiHotSet *SpmiCreateHotSet();
extern struct SpmiHotVals *SpmiAddSetHot();
extern int SpmiFreeHotSet();
extern int SpmiDelSetHot();
extern int SpmiGetHotSet();
extern struct SpmiHotVals *SpmiFirstHot();
extern struct SpmiHotVals *SpmiNextHot();
extern struct SpmiHotVals *SpmiNextHotItem();
#else
/* TimeOut: 0, or 15 to 600 s. Returns 0 or an error code. */
extern int SpmiInit(int TimeOut);

/* Withdraws everything that the program supplies. May be called in a signal handler. */
extern void SpmiExit(void);

/*
 * Makes the program a supplier of the contexts in CxTab, and allows it to add those in
 * IxTab. A sixth argument, the size of the segment, is accepted and not needed.
 * Returns the control area, or NULL with SpmiErrno set.
 */
extern SpmiShare *SpmiDdsInit(const cx_create *CxTab, int CxCnt, const cx_create *IxTab,
			      int IxCnt, const char *FileName, ...);

/*
 * Adds a context like element Ix of IxTab. Returns its data area, all zeros, or NULL
 * with SpmiErrno set.
 */
extern char *SpmiDdsAddCx(int Ix, const char *Path, const char *Descr, int Asnno);

/* Deletes the context with that data area. Returns 0 or an error code. */
extern int SpmiDdsDelCx(char *Area);

/*
 * What reads. Functions that return a pointer return NULL after an error, with SpmiErrno
 * set, and after the last of what they list, with SpmiErrno 0. The others return 0 or an error
 * code. Parent and CxHandle may be NULL, which is Top. Structures belong to the library.
 */

/* The context of a path; Top for "" and NULL. */
extern SpmiCxHdl SpmiPathGetCx(const char *CxPath, SpmiCxHdl Parent);

/* Finds the subcontexts that are there now. SpmiPathGetCx and SpmiFirstCx do so, too. */
extern int SpmiInstantiate(SpmiCxHdl CxHandle);

extern struct SpmiCxLink *SpmiFirstCx(SpmiCxHdl CxHandle);
extern struct SpmiCxLink *SpmiNextCx(struct SpmiCxLink *CxLink);
extern struct SpmiStatLink *SpmiFirstStat(SpmiCxHdl CxHandle);
extern struct SpmiStatLink *SpmiNextStat(struct SpmiStatLink *StatLink);
extern struct SpmiCx *SpmiGetCx(SpmiCxHdl CxHandle);
extern struct SpmiStat *SpmiGetStat(SpmiStatHdl StatHandle);

/* The text is valid until the next call. MaxLevels: how many contexts it names, 0 for all. */
extern char *SpmiStatGetPath(SpmiCxHdl Parent, SpmiStatHdl StatHandle, int MaxLevels);

/* Sets of statistics. The statistic that was added last is the first. */
extern struct SpmiStatSet *SpmiCreateStatSet(void);
extern int SpmiFreeStatSet(struct SpmiStatSet *StatSet);
extern struct SpmiStatVals *SpmiPathAddSetStat(struct SpmiStatSet *StatSet, const char *StatName,
					       SpmiCxHdl Parent);
extern int SpmiDelSetStat(struct SpmiStatSet *StatSet, struct SpmiStatVals *StatVal);
extern int SpmiGetStatSet(struct SpmiStatSet *StatSet, int Force);
extern struct SpmiStatVals *SpmiFirstVals(struct SpmiStatSet *StatSet);
extern struct SpmiStatVals *SpmiNextVals(struct SpmiStatSet *StatSet, struct SpmiStatVals *StatVal);

/* The level, or a counter's rate a second; -1.1 or less after an error. */
extern float SpmiGetValue(struct SpmiStatSet *StatSet, struct SpmiStatVals *StatVal);
extern struct SpmiStatVals *SpmiNextValue(struct SpmiStatSet *StatSet, struct SpmiStatVals *StatVal,
					  float *value);

/* Sets of the highest or lowest of peers. */
extern struct SpmiHotSet *SpmiCreateHotSet(void);
extern int SpmiFreeHotSet(struct SpmiHotSet *HotSet);
extern struct SpmiHotVals *SpmiAddSetHot(struct SpmiHotSet *HotSet, const char *StatName,
					 SpmiCxHdl GrandParent, int maxresp, int threshold,
					 int frequency, int feed_type, int excp_type, int severity,
					 int trap_no);
extern int SpmiDelSetHot(struct SpmiHotSet *HotSet, struct SpmiHotVals *HotVal);
extern int SpmiGetHotSet(struct SpmiHotSet *HotSet, int Force);
extern struct SpmiHotVals *SpmiFirstHot(struct SpmiHotSet *HotSet);
extern struct SpmiHotVals *SpmiNextHot(struct SpmiHotSet *HotSet, struct SpmiHotVals *HotVals);
extern struct SpmiHotVals *SpmiNextHotItem(struct SpmiHotSet *HotSet, struct SpmiHotVals *HotVals,
					   int *index, float *value, char **name);
#endif

/*
 * Ours, not the guide's: between SpmiDdsUpdateBegin and SpmiDdsUpdateEnd several values
 * of a context change as one. Readers see all of the update or none of it, for each
 * context in the data area by itself. Area is what SpmiDdsAddCx returned, or SiShArea, which
 * stands for all fixed contexts. Both return 0 or an error code, and leave SpmiErrno and
 * SpmiErrmsg alone. See SpmiDdsUpdateBegin(3).
 */
#define SPMI_DDS_UPDATE 1
extern int SpmiDdsUpdateBegin(char *Area);
extern int SpmiDdsUpdateEnd(char *Area);

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__) && !defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

#endif
