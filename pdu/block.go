package pdu

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/pcp-rtime/rtime/pcp"
)

// blocks reads the value blocks of the sets, which must fill the rest of the PDU
// without a gap and belong to one value each; their order is free. Where there are strings
// and the like, all blocks are copied at once, and they share the copy.
func (c *cursor) blocks(sets []ValueSet) {
	start := c.off
	c.checkPlaces(sets, start)
	if c.err != nil {
		return
	}
	var data []byte
	eachPlace(sets, func(v *pcp.Value) {
		off := int(v.Bits()) * 4
		word := binary.BigEndian.Uint32(c.buf[off:])
		t, end := pcp.Type(word>>24), off+int(word&0xffffff)
		body := c.buf[off+4 : end : end]
		if !isNumber(t) {
			if data == nil {
				data = slices.Clone(c.buf[start:])
			}
			body = data[off+4-start : end-start : end-start]
		}
		if t == pcp.TypeString {
			body = bytes.TrimSuffix(body, []byte{0})
		}
		value, err := blockValue(t, body)
		if err != nil {
			c.failAt(off, "value block", err)
			return
		}
		*v = value
	})
	c.off = len(c.buf)
}

// checkPlaces checks that the blocks lie end to end from start to the end of the PDU. It
// allocates only where they are not in the order of their values.
func (c *cursor) checkPlaces(sets []ValueSet, start int) {
	next, count, ordered := start, 0, true
	eachPlace(sets, func(v *pcp.Value) {
		off := v.Bits() * 4
		n := c.blockSpan(off, start)
		ordered = ordered && off == uint64(next)
		next += n
		count++
	})
	if !ordered && c.err == nil {
		next = c.endToEnd(sets, start, count)
	}
	if next != len(c.buf) {
		c.failAt(start, "value blocks", errBlockGap)
	}
}

// endToEnd sorts the places of count blocks and returns where they cease to lie end
// to end from start.
func (c *cursor) endToEnd(sets []ValueSet, start, count int) int {
	places := make([]uint32, 0, count)
	eachPlace(sets, func(v *pcp.Value) { places = append(places, uint32(v.Bits())) })
	slices.Sort(places)
	next := start
	for _, p := range places {
		if uint64(p)*4 != uint64(next) {
			return -1
		}
		next += c.blockSpan(uint64(p)*4, start)
	}
	return next
}

// blockSpan returns the length of the block at byte off with its padding, or 0
// after an error.
func (c *cursor) blockSpan(off uint64, start int) int {
	if off < uint64(start) || off+4 > uint64(len(c.buf)) {
		c.failAt(start, "place of a value block", errBlockPlace)
		return 0
	}
	n := int(binary.BigEndian.Uint32(c.buf[off:]) & 0xffffff)
	switch {
	case n < 4:
		c.failAt(int(off), "length of a value block", ErrTruncated)
		return 0
	case padded(n) > len(c.buf)-int(off):
		c.failAt(int(off), "length of a value block", ErrTruncated)
		return 0
	}
	return padded(n)
}

// eachPlace calls f with each value that holds the place of its block.
func eachPlace(sets []ValueSet, f func(*pcp.Value)) {
	for i := range sets {
		for j := range sets[i].Values {
			if v := &sets[i].Values[j].Value; v.Type() == asIndex {
				f(v)
			}
		}
	}
}
