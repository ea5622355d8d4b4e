package pdu

import "github.com/pcp-rtime/rtime/pcp"

// profileEntry is the length of the fixed part of an instance domain's entry.
const profileEntry = 16

// Type returns TypeProfile.
func (p *Profile) Type() Type { return TypeProfile }

// Length returns 28, 16 for each instance domain and 4 for each instance.
func (p *Profile) Length() int {
	n := HeaderLen + 16 + profileEntry*len(p.InDoms)
	for i := range p.InDoms {
		n += 4 * len(p.InDoms[i].List)
	}
	return n
}

// Append writes all entries first, then all lists.
//
//	12  context
//	16  default state: 0 include all, 1 exclude all
//	20  number of entries
//	24  0
//	28  entries: instance domain, state, length of the list, 0
//	..  lists of instances, in the order of the entries
func (p *Profile) Append(b []byte, from int32) []byte {
	b = appendHeader(b, p.Length(), TypeProfile, from)
	b = put32(b, uint32(p.Context))
	b = put32(b, uint32(p.Default))
	b = put32(b, uint32(len(p.InDoms)))
	b = put32(b, 0)
	for i := range p.InDoms {
		e := &p.InDoms[i]
		b = put32(b, uint32(e.InDom))
		b = put32(b, uint32(e.State))
		b = put32(b, uint32(len(e.List)))
		b = put32(b, 0)
	}
	for i := range p.InDoms {
		for _, inst := range p.InDoms[i].List {
			b = put32(b, uint32(inst))
		}
	}
	return b
}

// Parse reuses the slices of the receiver; once they are large enough it does not
// allocate. Every state other than Include reads as Exclude. It does not look for
// an instance domain that comes twice, which pmcd does not send.
func (p *Profile) Parse(b []byte) error {
	c := open(b, TypeProfile)
	p.Context = c.i32("context")
	p.Default = c.state("default state")
	n := c.i32("number of entries")
	c.u32("padding")
	entries := c
	c.skipEntries(int(n))
	if c.err != nil {
		return c.done()
	}
	p.InDoms = resize(p.InDoms, int(n))
	for i := range p.InDoms {
		entries.entry(&p.InDoms[i], &c)
	}
	return c.done()
}

// skipEntries moves behind n entries and checks that the lists they announce all
// fit into the rest, together and not just each on its own.
func (c *cursor) skipEntries(n int) {
	at := c.off - 8
	if c.err == nil && n < 0 {
		c.failAt(at, "number of entries", ErrNegative)
	}
	if c.err == nil && n > c.left()/profileEntry {
		c.failAt(at, "number of entries", ErrTruncated)
	}
	room := (c.left() - n*profileEntry) / 4
	for ; n > 0 && c.err == nil; n-- {
		c.view("instance domain and state", 8)
		size := int(c.i32("length of the list"))
		switch {
		case size < 0:
			c.failAt(c.off-4, "length of the list", ErrNegative)
		case size > room:
			c.failAt(c.off-4, "length of the list", ErrTruncated)
		}
		room -= size
		c.u32("padding")
	}
}

// entry reads one entry from c and its list from lists; skipEntries has seen both.
func (c *cursor) entry(e *InDomProfile, lists *cursor) {
	e.InDom = pcp.InDom(c.u32("instance domain"))
	e.State = c.state("state")
	e.List = resize(e.List, int(c.u32("length of the list")))
	c.u32("padding")
	for i := range e.List {
		e.List[i] = lists.i32("instance")
	}
}

func (c *cursor) state(field string) ProfileState {
	if c.u32(field) == uint32(Include) {
		return Include
	}
	return Exclude
}
