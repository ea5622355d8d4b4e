/* The library's declarations for libpcp agree with libpcp's own header. */
#include <stddef.h>

#include <pcp/pmapi.h>

#include "pcp.h"

#define SAME(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define AT(ours, field, theirs, name) \
	_Static_assert(offsetof(ours, field) == offsetof(theirs, name) && \
		       sizeof(((ours *)0)->field) == sizeof(((theirs *)0)->name), #ours "." #field)

SAME(struct pcp_desc, pmDesc);
AT(struct pcp_desc, pmid, pmDesc, pmid);
AT(struct pcp_desc, type, pmDesc, type);
AT(struct pcp_desc, indom, pmDesc, indom);
AT(struct pcp_desc, sem, pmDesc, sem);
SAME(struct pcp_value, pmValue);
AT(struct pcp_value, inst, pmValue, inst);
AT(struct pcp_value, value, pmValue, value);
SAME(struct pcp_valueset, pmValueSet);
AT(struct pcp_valueset, pmid, pmValueSet, pmid);
AT(struct pcp_valueset, numval, pmValueSet, numval);
AT(struct pcp_valueset, valfmt, pmValueSet, valfmt);
AT(struct pcp_valueset, vlist, pmValueSet, vlist);
SAME(struct pcp_result, pmResult);
AT(struct pcp_result, stamp, pmResult, timestamp);
AT(struct pcp_result, numpmid, pmResult, numpmid);
AT(struct pcp_result, vset, pmResult, vset);
SAME(union pcp_atom, pmAtomValue);
SAME(struct pcp_label, pmLabel);
SAME(struct pcp_labelset, pmLabelSet);
AT(struct pcp_labelset, inst, pmLabelSet, inst);
AT(struct pcp_labelset, nlabels, pmLabelSet, nlabels);
AT(struct pcp_labelset, json, pmLabelSet, json);
AT(struct pcp_labelset, labels, pmLabelSet, labels);
_Static_assert(offsetof(pmLogLabel, ll_start) == 8, "the start of an archive");
_Static_assert(sizeof(pmLogLabel) <= 2048, "room for an archive's label");

_Static_assert(PCP_TYPE_32 == PM_TYPE_32 && PCP_TYPE_U32 == PM_TYPE_U32 && PCP_TYPE_64 == PM_TYPE_64 &&
	       PCP_TYPE_U64 == PM_TYPE_U64 && PCP_TYPE_FLOAT == PM_TYPE_FLOAT && PCP_TYPE_DOUBLE == PM_TYPE_DOUBLE &&
	       PCP_TYPE_STRING == PM_TYPE_STRING, "types");
_Static_assert(PCP_SEM_COUNTER == PM_SEM_COUNTER && PCP_CONTEXT_HOST == PM_CONTEXT_HOST &&
	       PCP_CONTEXT_ARCHIVE == PM_CONTEXT_ARCHIVE && PCP_MODE_INTERP == PM_MODE_INTERP &&
	       PCP_TEXT_ONELINE == PM_TEXT_ONELINE, "constants");
_Static_assert(PCP_NO_INDOM == PM_INDOM_NULL && PCP_NO_INST == (int)PM_IN_NULL && PCP_NO_PMID == PM_ID_NULL, "nothing");
_Static_assert(PCP_ERR_BASE == -PM_ERR_BASE && PCP_ERR_TIMEOUT == PM_ERR_TIMEOUT && PCP_ERR_IPC == PM_ERR_IPC &&
	       PCP_ERR_EOF == PM_ERR_EOF && PCP_ERR_EOL == PM_ERR_EOL && PCP_ERR_NOTCONN == PM_ERR_NOTCONN, "errors");

/* The functions, with the header's types in place of ours. */
#undef PCP_DESC
#undef PCP_LABELSET
#undef PCP_RESULT
#undef PCP_VALUE
#undef PCP_ATOM
#undef PCP_STAMP
#undef PCP_DELTA
#undef PCP_LOGLABEL
#define PCP_DESC pmDesc
#define PCP_LABELSET pmLabelSet
#define PCP_RESULT pmResult
#define PCP_VALUE pmValue
#define PCP_ATOM pmAtomValue
#define PCP_STAMP struct timeval
#define PCP_DELTA int
#define PCP_LOGLABEL pmLogLabel
#define X(type, name, args) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), type args), #name);
PCP_FUNCTIONS(X)
#undef X

int main(void)
{
	return 0;
}
