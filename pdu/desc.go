package pdu

import "github.com/pcp-rtime/rtime/pcp"

// descLen is the length of a descriptor.
const descLen = 20

// Type returns TypeDescReq.
func (p *DescReq) Type() Type { return TypeDescReq }

// Length returns 16.
func (p *DescReq) Length() int { return HeaderLen + 4 }

// Append writes the request.
//
//	12  PMID
func (p *DescReq) Append(b []byte, from int32) []byte {
	return put32(appendHeader(b, p.Length(), TypeDescReq, from), uint32(p.PMID))
}

// Parse reads the request.
func (p *DescReq) Parse(b []byte) error {
	c := open(b, TypeDescReq)
	p.PMID = pcp.PMID(c.u32("metric"))
	return c.done()
}

// Type returns TypeDesc.
func (p *Desc) Type() Type { return TypeDesc }

// Length returns 32.
func (p *Desc) Length() int { return HeaderLen + descLen }

// Append writes the descriptor.
//
//	12  PMID
//	16  type, signed
//	20  instance domain, all ones for none
//	24  semantics
//	28  units
func (p *Desc) Append(b []byte, from int32) []byte {
	return putDesc(appendHeader(b, p.Length(), TypeDesc, from), &p.Desc)
}

// Parse reads the descriptor. The low eight bits of the units are dropped, because
// pcp.Units has no place for them. Type and semantics are not checked.
func (p *Desc) Parse(b []byte) error {
	c := open(b, TypeDesc)
	p.Desc = c.desc()
	return c.done()
}

func putDesc(b []byte, d *pcp.Desc) []byte {
	b = put32(b, uint32(d.PMID))
	b = put32(b, uint32(d.Type))
	b = put32(b, uint32(d.InDom))
	b = put32(b, uint32(d.Sem))
	return put32(b, d.Units.Word())
}

func (c *cursor) desc() pcp.Desc {
	return pcp.Desc{
		PMID:  pcp.PMID(c.u32("metric")),
		Type:  pcp.Type(c.i32("type")),
		InDom: pcp.InDom(c.u32("instance domain")),
		Sem:   pcp.Sem(c.i32("semantics")),
		Units: pcp.UnitsFromWord(c.u32("units")),
	}
}
