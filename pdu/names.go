package pdu

import "errors"

var (
	errNameBytes   = errors.New("does not match the names")
	errStatusCount = errors.New("neither 0 nor the number of names")
)

// Type returns TypeIDs.
func (p *IDs) Type() Type { return TypeIDs }

// Length returns 20 and 4 for each identifier.
func (p *IDs) Length() int { return HeaderLen + 8 + 4*len(p.PMIDs) }

// Append writes the identifiers.
//
//	12  status
//	16  number of identifiers
//	20  PMIDs
func (p *IDs) Append(b []byte, from int32) []byte {
	b = appendHeader(b, p.Length(), TypeIDs, from)
	b = put32(b, uint32(p.Status))
	b = put32(b, uint32(len(p.PMIDs)))
	return putPMIDs(b, p.PMIDs)
}

// Parse reuses the slice of the receiver.
func (p *IDs) Parse(b []byte) error {
	c := open(b, TypeIDs)
	p.Status = c.i32("status")
	p.PMIDs = c.pmids(p.PMIDs, c.count("number of identifiers", 4))
	return c.done()
}

// Type returns TypeNames.
func (p *Names) Type() Type { return TypeNames }

// withStatus reports whether the status words can be sent: one for each name.
func (p *Names) withStatus() bool { return len(p.Status) > 0 && len(p.Status) == len(p.Names) }

// Length returns 24, and for each name 4, its padded length, and 4 for its status.
func (p *Names) Length() int {
	n := HeaderLen + 12
	for _, s := range p.Names {
		n += 4 + padded(len(s))
	}
	if p.withStatus() {
		n += 4 * len(p.Status)
	}
	return n
}

// Append leaves the status words out where there is not one for each name.
//
//	12  bytes of all names, one more for each name
//	16  number of status words: 0, or as many as names
//	20  number of names
//	24  for each: status if there are any, length of the name, name
func (p *Names) Append(b []byte, from int32) []byte {
	b = appendHeader(b, p.Length(), TypeNames, from)
	b = put32(b, uint32(nameBytes(p.Names)))
	if p.withStatus() {
		b = put32(b, uint32(len(p.Status)))
	} else {
		b = put32(b, 0)
	}
	b = put32(b, uint32(len(p.Names)))
	for i, s := range p.Names {
		if p.withStatus() {
			b = put32(b, uint32(p.Status[i]))
		}
		b = putString(b, s)
	}
	return b
}

// nameBytes is the room that the names need as strings of C.
func nameBytes(names []string) int {
	n := 0
	for _, s := range names {
		n += len(s) + 1
	}
	return n
}

// Parse reuses the slices of the receiver.
func (p *Names) Parse(b []byte) error {
	c := open(b, TypeNames)
	total := c.u32("bytes of all names")
	status := c.i32("number of status words")
	n := c.count("number of names", 4)
	if status != 0 && int(status) != n {
		c.failAt(16, "number of status words", errStatusCount)
	}
	if status != 0 && n > c.left()/8 {
		c.failAt(20, "number of names", ErrTruncated)
	}
	if c.err != nil {
		return c.done()
	}
	p.Names = resize(p.Names, n)
	p.Status = resize(p.Status, int(status))
	for i := range p.Names {
		if status != 0 {
			p.Status[i] = c.i32("status")
		}
		p.Names[i] = c.text("name")
	}
	if uint32(nameBytes(p.Names)) != total {
		c.failAt(12, "bytes of all names", errNameBytes)
	}
	return c.done()
}

// Type returns TypeChild.
func (p *Child) Type() Type { return TypeChild }

// Length returns 20 and the padded length of the name.
func (p *Child) Length() int { return HeaderLen + 8 + padded(len(p.Name)) }

// Append writes the request.
//
//	12  1 where the answer is to have status words, else 0
//	16  length of the name
//	20  name, empty for the root
func (p *Child) Append(b []byte, from int32) []byte {
	want := uint32(0)
	if p.Status {
		want = 1
	}
	b = put32(appendHeader(b, p.Length(), TypeChild, from), want)
	return putString(b, p.Name)
}

// Parse reads the request.
func (p *Child) Parse(b []byte) error {
	c := open(b, TypeChild)
	p.Status = c.u32("status wanted") != 0
	p.Name = c.text("name")
	return c.done()
}

// Type returns TypeTraverse.
func (p *Traverse) Type() Type { return TypeTraverse }

// Length returns 20 and the padded length of the name.
func (p *Traverse) Length() int { return HeaderLen + 8 + padded(len(p.Name)) }

// Append writes the request.
//
//	12  0
//	16  length of the name
//	20  name, empty for the root
func (p *Traverse) Append(b []byte, from int32) []byte {
	b = put32(appendHeader(b, p.Length(), TypeTraverse, from), 0)
	return putString(b, p.Name)
}

// Parse reads the request.
func (p *Traverse) Parse(b []byte) error {
	c := open(b, TypeTraverse)
	c.u32("subtype")
	p.Name = c.text("name")
	return c.done()
}
