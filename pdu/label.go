package pdu

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
)

const (
	labelSetHead   = 16
	labelIndexLen  = 8
	labelsHead     = HeaderLen + 16
	labelsMax      = 254   // labels in a set
	labelNameMax   = 254   // bytes of a name
	labelJSONLimit = 65535 // the JSON text of a set is shorter
)

var (
	errLabelPlace = errors.New("not behind the text of the set before")
	errLabelRange = errors.New("reaches beyond the text of its set")
	errLabelShare = errors.New("labels share parts of the text")
	errLabelName  = errors.New("not a name for a label")
	errLabelMany  = errors.New("more than 254")
	errLabelLong  = errors.New("65535 bytes or more")
)

// Type returns TypeLabelReq.
func (p *LabelReq) Type() Type { return TypeLabelReq }

// Length returns 20.
func (p *LabelReq) Length() int { return HeaderLen + 8 }

// Append writes the request.
//
//	12  identifier: domain number, PMID or InDom
//	16  kind
func (p *LabelReq) Append(b []byte, from int32) []byte {
	b = put32(appendHeader(b, p.Length(), TypeLabelReq, from), p.Ident)
	return put32(b, uint32(p.Kind))
}

// Parse reads the request. If the kind is LabelCluster, the item bits of the identifier
// have no meaning.
func (p *LabelReq) Parse(b []byte) error {
	c := open(b, TypeLabelReq)
	p.Ident = c.u32("identifier")
	p.Kind = pcp.LabelType(c.u32("kind"))
	return c.done()
}

// Type returns TypeLabel.
func (p *Label) Type() Type { return TypeLabel }

// Length returns how many bytes Append writes. It encodes the labels to find out.
func (p *Label) Length() int {
	n := labelsHead
	for i := range p.Sets {
		t := encodeLabels(p.Sets[i].Labels, p.Kind)
		n += labelSetHead + len(t.index) + len(t.json)
	}
	return n
}

// Append writes each set sorted by name. Labels that CheckLabels would refuse are left out,
// except names with dots, which come from other agents and go out as compound. The length
// of this PDU is not padded. Only LabelInstances may have more than one set; clients read
// no more.
//
//	12  identifier   } as in the request
//	16  kind         }
//	20  0
//	24  number of sets
//	28  for each set: instance, number of labels, place of its text in bytes from
//	    the beginning of the PDU, length of its text; then for each label:
//	      0  place of the name in the text, two bytes
//	      2  length of the name, one byte
//	      3  flags, one byte: kind, 0x40 compound, 0x80 optional
//	      4  place of the value in the text, quotes included, two bytes
//	      6  length of the value, two bytes
//	..  the texts, JSON objects, end to end
func (p *Label) Append(b []byte, from int32) []byte {
	texts := make([]labelText, len(p.Sets))
	place, size := labelsHead, 0
	for i := range p.Sets {
		texts[i] = encodeLabels(p.Sets[i].Labels, p.Kind)
		place += labelSetHead + len(texts[i].index)
		size += len(texts[i].json)
	}
	b = appendHeader(b, place+size, TypeLabel, from)
	b = put32(b, p.Ident)
	b = put32(b, uint32(p.Kind))
	b = put32(b, 0)
	b = put32(b, uint32(len(p.Sets)))
	for i, t := range texts {
		b = put32(b, uint32(p.Sets[i].Inst))
		b = put32(b, uint32(len(t.index)/labelIndexLen))
		b = put32(b, uint32(place))
		b = put32(b, uint32(len(t.json)))
		b = append(b, t.index...)
		place += len(t.json)
	}
	for _, t := range texts {
		b = append(b, t.json...)
	}
	return b
}

// Parse reads values as encoding/json does, numbers as float64; an array or an object
// stays a json.RawMessage. The texts must follow each other in the order of their
// sets, and names and values must lie within the text of their own set without
// sharing it. Behind the texts there may be padding to a multiple of four.
func (p *Label) Parse(b []byte) error {
	c := open(b, TypeLabel)
	p.Ident = c.u32("identifier")
	p.Kind = pcp.LabelType(c.u32("kind"))
	c.u32("padding")
	n := c.count("number of label sets", labelSetHead)
	heads := c
	for i := 0; i < n && c.err == nil; i++ {
		c.skipLabelSet()
	}
	if c.err != nil {
		return c.done()
	}
	p.Sets = resize(p.Sets, n)
	for i := range p.Sets {
		heads.labelSet(&p.Sets[i], &c)
		if heads.err != nil {
			return heads.done()
		}
	}
	if pad := padded(c.off) - c.off; c.left() <= pad {
		c.off = len(c.buf)
	}
	return c.done()
}

func (c *cursor) skipLabelSet() {
	c.u32("instance")
	n := c.i32("number of labels")
	c.view("place and length of the text", 8)
	switch {
	case n > labelsMax:
		c.failAt(c.off-12, "number of labels", errLabelMany)
	case n > 0:
		c.view("labels", int(n)*labelIndexLen)
	}
}

// labelSet reads a set from c and moves texts, which stands at the text of the set,
// behind it. A set without labels has no text.
func (c *cursor) labelSet(s *LabelSet, texts *cursor) {
	s.Inst = c.i32("instance")
	s.Labels = nil
	n := int(c.i32("number of labels"))
	place := c.u32("place of the text")
	size := int(c.i32("length of the text"))
	if n <= 0 || c.err != nil {
		return
	}
	switch {
	case uint64(place) != uint64(texts.off):
		c.failAt(c.off-8, "place of the text", errLabelPlace)
	case size < 0:
		c.failAt(c.off-4, "length of the text", ErrNegative)
	case size >= labelJSONLimit:
		c.failAt(c.off-4, "length of the text", errLabelLong)
	case size > texts.left():
		c.failAt(c.off-4, "length of the text", ErrTruncated)
	default:
		c.labels(s, n, texts.view("text", size))
	}
}

func (c *cursor) labels(s *LabelSet, n int, text []byte) {
	s.Labels = make(pcp.Labels, n)
	room := len(text)
	for i := range s.Labels {
		at := c.off
		e := c.view("label", labelIndexLen)
		name := labelRange{int(binary.BigEndian.Uint16(e)), int(e[2])}
		value := labelRange{int(binary.BigEndian.Uint16(e[4:])), int(binary.BigEndian.Uint16(e[6:]))}
		if !name.within(text) || !value.within(text) {
			c.failAt(at, "label", errLabelRange)
			return
		}
		// Ranges that do not overlap are together no longer than the text, and neither are
		// the allocations for them.
		if room -= name.size + value.size; room < 0 {
			c.failAt(at, "label", errLabelShare)
			return
		}
		l, err := parseLabel(name.of(text), value.of(text), uint32(e[3]))
		if err != nil {
			c.failAt(at, "label", err)
			return
		}
		s.Labels[i] = l
	}
}

// labelRange is a part of the text of a set.
type labelRange struct{ off, size int }

func (r labelRange) within(text []byte) bool { return r.off+r.size <= len(text) }

func (r labelRange) of(text []byte) []byte { return text[r.off : r.off+r.size] }

func parseLabel(name, value []byte, flags uint32) (pcp.Label, error) {
	l := pcp.Label{Name: string(name), Optional: flags&pcp.LabelOptional != 0}
	if !validLabelName(l.Name, flags&pcp.LabelCompound != 0) {
		return l, fmt.Errorf("%w: %q", errLabelName, l.Name)
	}
	if len(value) > 0 && (value[0] == '[' || value[0] == '{') {
		if !json.Valid(value) {
			return l, fmt.Errorf("value of %s is not JSON", l.Name)
		}
		l.Value = json.RawMessage(append([]byte(nil), value...))
		return l, nil
	}
	if err := json.Unmarshal(value, &l.Value); err != nil {
		return l, fmt.Errorf("value of %s: %w", l.Name, err)
	}
	return l, nil
}
