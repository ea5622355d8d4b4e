package pdu

import "encoding/binary"

// Type returns TypeHighresFetch.
func (p *HighresFetch) Type() Type { return TypeHighresFetch }

// Length is that of a Fetch.
func (p *HighresFetch) Length() int { return (*Fetch)(p).Length() }

// Append writes a Fetch under another type.
func (p *HighresFetch) Append(b []byte, from int32) []byte {
	return (*Fetch)(p).append(b, TypeHighresFetch, from)
}

// Parse reads as Fetch does.
func (p *HighresFetch) Parse(b []byte) error { return (*Fetch)(p).parse(b, TypeHighresFetch) }

// highresHead is the length of what stands before the value sets.
const highresHead = HeaderLen + 20

// Type returns TypeHighresResult.
func (p *HighresResult) Type() Type { return TypeHighresResult }

// Length returns 32 and the length of the value sets and blocks. It costs as much as
// Append.
func (p *HighresResult) Length() int { return resultLength(highresHead, p.Sets) }

// Append writes the values as Result does, behind another head.
//
//	12  number of value sets
//	16  seconds, eight bytes
//	24  nanoseconds, eight bytes
//	32  value sets, then value blocks, as in RESULT
func (p *HighresResult) Append(b []byte, from int32) []byte {
	w := encode(TypeHighresResult, highresHead, HeaderLen, from, p.Sets)
	binary.BigEndian.PutUint64(w.sets[16:], uint64(p.Sec))
	binary.BigEndian.PutUint64(w.sets[24:], uint64(p.Nsec))
	return w.appendTo(b)
}

// Parse reads as Result does.
func (p *HighresResult) Parse(b []byte) error {
	c := open(b, TypeHighresResult)
	n := c.i32("number of value sets")
	p.Sec = int64(c.u64("seconds"))
	p.Nsec = int64(c.u64("nanoseconds"))
	p.Sets = c.sets(p.Sets, int(n), HeaderLen)
	return c.done()
}
