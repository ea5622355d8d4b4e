/*
 * What the library uses of libpcp, declared here so that it builds without libpcp's headers.
 * test/pcptypes.c compares all of it with the real header.
 *
 * The first function that reads loads libpcp, so that a program that only supplies
 * statistics is not linked with it. libpcp.so.3 belongs to PCP 4 to 6, libpcp.so.4 to PCP 7.
 * In what is used here they differ in one point: the fraction of a time stamp is in
 * microseconds in the first, and in nanoseconds in the second.
 */
#ifndef SPMI_PCP_H
#define SPMI_PCP_H

#include <stdbool.h>
#include <stdint.h>

struct pcp_desc {
	unsigned int pmid;
	int type;
	unsigned int indom;
	int sem;
	unsigned int units;
};

struct pcp_block {
	unsigned int head; /* type and length */
	char data[1];
};

struct pcp_value {
	int inst;
	union {
		struct pcp_block *block;
		int number;
	} value;
};

struct pcp_valueset {
	unsigned int pmid;
	int numval;
	int valfmt;
	struct pcp_value vlist[1];
};

struct pcp_result {
	struct {
		long sec;
		long fraction;
	} stamp;
	int numpmid;
	struct pcp_valueset *vset[1];
};

union pcp_atom {
	int32_t l;
	uint32_t ul;
	int64_t ll;
	uint64_t ull;
	float f;
	double d;
	char *cp;
	struct pcp_block *vbp;
};

struct pcp_label {
	unsigned int name : 16;
	unsigned int namelen : 8;
	unsigned int flags : 8;
	unsigned int value : 16;
	unsigned int valuelen : 16;
};

struct pcp_labelset {
	unsigned int inst;
	int nlabels;
	char *json;
	unsigned int lengths; /* length of json, and flags */
	struct pcp_label *labels;
	void *hash;
};

enum {
	PCP_TYPE_32 = 0,
	PCP_TYPE_U32 = 1,
	PCP_TYPE_64 = 2,
	PCP_TYPE_U64 = 3,
	PCP_TYPE_FLOAT = 4,
	PCP_TYPE_DOUBLE = 5,
	PCP_TYPE_STRING = 6,
	PCP_SEM_COUNTER = 1,
	PCP_CONTEXT_HOST = 1,
	PCP_CONTEXT_ARCHIVE = 2,
	PCP_MODE_INTERP = 1,
	PCP_TEXT_ONELINE = 1
};

#define PCP_NO_INDOM 0xffffffffu
#define PCP_NO_INST (-1)
#define PCP_NO_PMID 0xffffffffu

enum { /* the error codes of a request that pmcd itself has answered, and of the end of an archive */
	PCP_ERR_BASE = -12345,
	PCP_ERR_TIMEOUT = -12353,
	PCP_ERR_IPC = -12366,
	PCP_ERR_EOF = -12368,
	PCP_ERR_EOL = -12370,
	PCP_ERR_NOTCONN = -12391
};

/* X(result, name, arguments) lists every function that is used. */
#define PCP_FUNCTIONS(X) \
	X(int, pmNewContext, (int, const char *)) \
	X(int, pmDestroyContext, (int)) \
	X(int, pmUseContext, (int)) \
	X(int, pmWhichContext, (void)) \
	X(char *, pmErrStr_r, (int, char *, int)) \
	X(int, pmLookupName, (int, const char **, unsigned int *)) \
	X(int, pmLookupDesc, (unsigned int, PCP_DESC *)) \
	X(int, pmLookupInDom, (unsigned int, const char *)) \
	X(int, pmLookupInDomArchive, (unsigned int, const char *)) \
	X(int, pmGetInDom, (unsigned int, int **, char ***)) \
	X(int, pmGetInDomArchive, (unsigned int, int **, char ***)) \
	X(int, pmGetChildrenStatus, (const char *, char ***, int **)) \
	X(int, pmTraversePMNS_r, (const char *, void (*)(const char *, void *), void *)) \
	X(int, pmLookupText, (unsigned int, int, char **)) \
	X(int, pmGetItemLabels, (unsigned int, PCP_LABELSET **)) \
	X(int, pmGetInstancesLabels, (unsigned int, PCP_LABELSET **)) \
	X(void, pmFreeLabelSets, (PCP_LABELSET *, int)) \
	X(int, pmAddDerivedMetric, (const char *, const char *, char **)) \
	X(int, pmAddProfile, (unsigned int, int, int *)) \
	X(int, pmDelProfile, (unsigned int, int, int *)) \
	X(int, pmFetch, (int, unsigned int *, PCP_RESULT **)) \
	X(void, pmFreeResult, (PCP_RESULT *)) \
	X(int, pmExtractValue, (int, const PCP_VALUE *, int, PCP_ATOM *, int)) \
	X(int, pmSetMode, (int, const PCP_STAMP *, PCP_DELTA)) \
	X(int, pmGetArchiveLabel, (PCP_LOGLABEL *))

#define PCP_DESC struct pcp_desc
#define PCP_LABELSET struct pcp_labelset
#define PCP_RESULT struct pcp_result
#define PCP_VALUE struct pcp_value
#define PCP_ATOM union pcp_atom
#define PCP_STAMP void
#define PCP_DELTA intptr_t /* int for libpcp.so.3, a pointer for libpcp.so.4; always 0 here */
#define PCP_LOGLABEL void

struct pcp {
#define X(type, name, args) type(*name) args;
	PCP_FUNCTIONS(X)
#undef X
	bool nanoseconds; /* time stamps have nanoseconds */
};

/* pcp.c: returns the functions, or NULL with the error set. The pointer never changes. */
const struct pcp *pcp_load(void);

#endif
