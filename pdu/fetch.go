package pdu

import (
	"errors"

	"github.com/pcp-rtime/rtime/pcp"
)

var errNoMetrics = errors.New("no metrics asked for")

// Type returns TypeFetch.
func (p *Fetch) Type() Type { return TypeFetch }

// Length returns 28 and 4 for each metric.
func (p *Fetch) Length() int { return HeaderLen + 16 + 4*len(p.PMIDs) }

// Append writes the request.
//
//	12  context
//	16  eight bytes 0, which were a time once
//	24  number of metrics, at least 1
//	28  their PMIDs
func (p *Fetch) Append(b []byte, from int32) []byte { return p.append(b, TypeFetch, from) }

// Parse reuses the slice of the receiver; once it is large enough it does not
// allocate. A fetch of nothing is refused.
func (p *Fetch) Parse(b []byte) error { return p.parse(b, TypeFetch) }

func (p *Fetch) append(b []byte, t Type, from int32) []byte {
	b = appendHeader(b, p.Length(), t, from)
	b = put32(b, uint32(p.Context))
	b = put64(b, 0)
	b = put32(b, uint32(len(p.PMIDs)))
	return putPMIDs(b, p.PMIDs)
}

func (p *Fetch) parse(b []byte, t Type) error {
	c := open(b, t)
	p.Context = c.i32("context")
	c.view("time", 8)
	n := c.count("number of metrics", 4)
	if n == 0 {
		c.failAt(24, "number of metrics", errNoMetrics)
	}
	p.PMIDs = c.pmids(p.PMIDs, n)
	return c.done()
}

func putPMIDs(b []byte, ids []pcp.PMID) []byte {
	for _, id := range ids {
		b = put32(b, uint32(id))
	}
	return b
}

// pmids reads n identifiers into old; n is what count has returned.
func (c *cursor) pmids(old []pcp.PMID, n int) []pcp.PMID {
	ids := resize(old, n)
	for i := range ids {
		ids[i] = pcp.PMID(c.u32("metric"))
	}
	return ids
}
