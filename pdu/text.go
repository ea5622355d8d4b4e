package pdu

import "github.com/pcp-rtime/rtime/pcp"

// Type returns TypeTextReq.
func (p *TextReq) Type() Type { return TypeTextReq }

// Length returns 20.
func (p *TextReq) Length() int { return HeaderLen + 8 }

// Append writes the request.
//
//	12  identifier, a PMID or an InDom
//	16  kind, pcp.Text... bits
func (p *TextReq) Append(b []byte, from int32) []byte {
	b = put32(appendHeader(b, p.Length(), TypeTextReq, from), p.Ident)
	return put32(b, uint32(p.Kind))
}

// Parse reads the request; it does not check the bits of the kind.
func (p *TextReq) Parse(b []byte) error {
	c := open(b, TypeTextReq)
	p.Ident = c.u32("identifier")
	p.Kind = pcp.TextType(c.u32("kind"))
	return c.done()
}

// Type returns TypeText.
func (p *Text) Type() Type { return TypeText }

// Length returns 20 and the padded length of the text.
func (p *Text) Length() int { return HeaderLen + 8 + padded(len(p.Text)) }

// Append writes the text.
//
//	12  identifier
//	16  length of the text
//	20  text
func (p *Text) Append(b []byte, from int32) []byte {
	b = put32(appendHeader(b, p.Length(), TypeText, from), p.Ident)
	return putString(b, p.Text)
}

// Parse reads the text. An agent on libpcp writes the identifier in the byte order of its
// host, so a receiver should not compare it with what it asked for.
func (p *Text) Parse(b []byte) error {
	c := open(b, TypeText)
	p.Ident = c.u32("identifier")
	p.Text = c.text("text")
	return c.done()
}
