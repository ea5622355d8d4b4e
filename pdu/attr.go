package pdu

import (
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
)

// Type returns TypeAttr.
func (p *Attr) Type() Type { return TypeAttr }

// Length returns 17 and the length of the value.
func (p *Attr) Length() int { return HeaderLen + 4 + len(p.Value) + 1 }

// Append writes the attribute. The length of this PDU is not padded.
//
//	12  code
//	16  value and a NUL, to the end of the PDU
func (p *Attr) Append(b []byte, from int32) []byte {
	b = put32(appendHeader(b, p.Length(), TypeAttr, from), uint32(p.Attr))
	b = append(b, p.Value...)
	return append(b, 0)
}

// Parse takes one NUL off the end of the value; it may be missing.
func (p *Attr) Parse(b []byte) error {
	c := open(b, TypeAttr)
	p.Attr = pcp.Attr(c.u32("code"))
	p.Value = strings.TrimSuffix(string(c.view("value", c.left())), "\x00")
	return c.done()
}
