package pdu

import "encoding/binary"

// cursor reads the fields of one PDU in order. It keeps the first error; after
// that every field reads as zero, so a Parse checks once, at its end.
type cursor struct {
	typ Type
	buf []byte
	off int
	err *ParseError
}

// open starts behind the header of b, which must be one whole PDU of type t.
func open(b []byte, t Type) cursor {
	c := cursor{typ: t, buf: b, off: HeaderLen}
	h, err := parseHeader(b)
	switch {
	case err != nil:
		c.err = err
	case h.Type != t:
		c.failAt(4, "type", ErrWrongType)
	case h.Len > len(b):
		c.failAt(0, "length", ErrTruncated)
	case h.Len < len(b):
		c.failAt(h.Len, "end", ErrTrailing)
	}
	return c
}

func (c *cursor) failAt(off int, field string, cause error) {
	if c.err == nil {
		c.err = &ParseError{Type: c.typ, Field: field, Offset: off, Cause: cause}
	}
}

// left is how many bytes are still unread.
func (c *cursor) left() int { return len(c.buf) - c.off }

// view returns the next n bytes, not a copy, or nil after an error.
func (c *cursor) view(field string, n int) []byte {
	switch {
	case c.err != nil:
		return nil
	case n < 0:
		c.failAt(c.off, field, ErrNegative)
		return nil
	case n > c.left():
		c.failAt(c.off, field, ErrTruncated)
		return nil
	}
	c.off += n
	return c.buf[c.off-n : c.off : c.off]
}

func (c *cursor) u32(field string) uint32 {
	if b := c.view(field, 4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) i32(field string) int32 { return int32(c.u32(field)) }

func (c *cursor) u64(field string) uint64 {
	if b := c.view(field, 8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// count reads how many items of at least size bytes each follow. It refuses more than the
// rest of the PDU can hold, so that a caller may allocate that many.
func (c *cursor) count(field string, size int) int {
	n := int(c.i32(field))
	switch {
	case c.err != nil:
		return 0
	case n < 0:
		c.failAt(c.off-4, field, ErrNegative)
		return 0
	case n > c.left()/size:
		c.failAt(c.off-4, field, ErrTruncated)
		return 0
	}
	return n
}

// padded returns the next n bytes, not a copy, and skips their padding, which must
// be there and may hold anything.
func (c *cursor) padded(field string, n int) []byte {
	if n > c.left() {
		n = c.left() + 1 // padding must not overflow an int of 32 bits
	}
	b := c.view(field, padded(n))
	if b == nil {
		return nil
	}
	return b[:n:n]
}

// text reads a length and as many bytes, with their padding.
func (c *cursor) text(field string) string {
	n := c.count(field, 1)
	return string(c.padded(field, n))
}

// done returns the first error. Bytes left over are an error.
func (c *cursor) done() error {
	if c.err == nil && c.left() > 0 {
		c.failAt(c.off, "end", ErrTrailing)
	}
	if c.err != nil {
		return c.err
	}
	return nil
}

// resize returns s with length n. It keeps the elements up to the capacity of s,
// so that slices in them can be used again.
func resize[T any](s []T, n int) []T {
	s = s[:cap(s)]
	if n > len(s) {
		s = append(s, make([]T, n-len(s))...)
	}
	return s[:n]
}
