package pdu

import (
	"encoding/binary"
	"errors"

	"github.com/pcp-rtime/rtime/pcp"
)

// Formats of the values of a set.
const (
	inSitu    = 0 // the value word is the value
	blocks    = 1 // the value word is the place of a value block
	blocksToo = 2 // the same; pmdasample writes it
)

// maxBlock is the length of a value block, its header included, that is too much:
// the 24 bits for it hold as much, but a length of all ones is better left alone.
const maxBlock = 1<<24 - 1

// asIndex is the type under which a parsed value holds the place of its block until
// the block is read. No value on the wire has it.
const asIndex = pcp.TypeUnknown

var (
	errFormat     = errors.New("unknown format")
	errBlockPlace = errors.New("not behind the value sets and within the PDU")
	errBlockGap   = errors.New("blocks do not fill the rest of the PDU exactly")
	errBlockType  = errors.New("unknown type of value")
	errBlockSize  = errors.New("wrong length for its type")
)

// isInSitu reports whether values of type t stand in the value word itself.
func isInSitu(t pcp.Type) bool { return t == pcp.Type32 || t == pcp.TypeU32 }

// blockLen returns the length of the block of v without its padding, or the code
// that says why there can be none.
func blockLen(v pcp.Value, nul int) (int, pcp.Error) {
	n := 4
	switch v.Type() {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		n += 4
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		n += 8
	case pcp.TypeString:
		n += len(v.Bytes()) + nul
	case pcp.TypeAggregate, pcp.TypeAggregateStatic, pcp.TypeEvent, pcp.TypeHighresEvent:
		n += len(v.Bytes())
	default:
		return 0, pcp.ErrType
	}
	if n >= maxBlock {
		return 0, pcp.ErrTooBig
	}
	return n, 0
}

// putBlock writes the block of v, of which blockLen has returned the length n. A
// string gets nul bytes 0 at its end.
//
//	0  type, one byte; length of the block without padding, three bytes
//	4  value, padded
func putBlock(b []byte, v pcp.Value, n, nul int) []byte {
	b = put32(b, uint32(v.Type())<<24|uint32(n))
	switch v.Type() {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		return put32(b, uint32(v.Bits()))
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		return put64(b, v.Bits())
	}
	b = append(b, v.Bytes()...)
	if v.Type() == pcp.TypeString {
		b = append(b, "\x00"[:nul]...)
	}
	return putPad(b, n)
}

// blockValue makes a value of what stands in a block; strings, aggregates and event
// arrays keep data itself.
func blockValue(t pcp.Type, data []byte) (pcp.Value, error) {
	want := 8
	switch t {
	case pcp.TypeString, pcp.TypeAggregate, pcp.TypeAggregateStatic, pcp.TypeEvent,
		pcp.TypeHighresEvent:
		return pcp.RawBytes(t, data), nil
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		want = 4
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
	default:
		return pcp.Value{}, errBlockType
	}
	if len(data) != want {
		return pcp.Value{}, errBlockSize
	}
	if want == 8 {
		return pcp.RawNumber(t, binary.BigEndian.Uint64(data)), nil
	}
	w := binary.BigEndian.Uint32(data)
	if t == pcp.Type32 {
		return pcp.RawNumber(t, uint64(int64(int32(w)))), nil
	}
	return pcp.RawNumber(t, uint64(w)), nil
}

// setForm is how a set is written.
type setForm struct {
	code   pcp.Error // negative: no values, but this
	blocks int       // bytes of its value blocks; 0 where the values are in situ
}

// form decides how a set is written. The first value says whether the values are
// in situ or blocks; a set that mixes the two cannot be written and becomes
// ErrType, one with a value that is too long ErrTooBig.
func (s *ValueSet) form() setForm {
	if s.Err > 0 {
		return setForm{code: pcp.ErrGeneric}
	}
	if s.Err < 0 || len(s.Values) == 0 {
		return setForm{code: s.Err}
	}
	f := setForm{}
	direct := isInSitu(s.Values[0].Value.Type())
	for i := range s.Values {
		v := s.Values[i].Value
		if isInSitu(v.Type()) != direct {
			return setForm{code: pcp.ErrType}
		}
		if direct {
			continue
		}
		n, code := blockLen(v, 1)
		if code != 0 {
			return setForm{code: code}
		}
		f.blocks += padded(n)
	}
	return f
}

// headLen is the length of a set without its blocks.
func (s *ValueSet) headLen(f setForm) int {
	if f.code < 0 || len(s.Values) == 0 {
		return 8
	}
	return 12 + 8*len(s.Values)
}

// setsLength is the length of all value sets and blocks.
func setsLength(sets []ValueSet) int {
	n := 0
	for i := range sets {
		f := sets[i].form()
		n += sets[i].headLen(f) + f.blocks
	}
	return n
}

// appendSets writes the sets and then the blocks of a PDU whose first set stands at
// byte off.
//
//	0  PMID
//	4  number of values, or a negative error code
//	8  format: 0 in situ, 1 blocks; missing where there are no values
//	12 for each value: instance; value, or place of its block, counted in words
//	   from the beginning of the PDU
func appendSets(b []byte, off int, sets []ValueSet) []byte {
	for i := range sets {
		off += sets[i].headLen(sets[i].form())
	}
	for i := range sets {
		b, off = appendSet(b, off, &sets[i])
	}
	for i := range sets {
		if f := sets[i].form(); f.blocks == 0 {
			continue
		}
		for j := range sets[i].Values {
			v := sets[i].Values[j].Value
			n, _ := blockLen(v, 1)
			b = putBlock(b, v, n, 1)
		}
	}
	return b
}

// appendSet writes one set whose first block will stand at byte off, and returns
// the place of the first block behind its own.
func appendSet(b []byte, off int, s *ValueSet) ([]byte, int) {
	f := s.form()
	b = put32(b, uint32(s.PMID))
	if f.code < 0 || len(s.Values) == 0 {
		return put32(b, uint32(f.code)), off
	}
	b = put32(b, uint32(len(s.Values)))
	if f.blocks == 0 {
		b = put32(b, inSitu)
	} else {
		b = put32(b, blocks)
	}
	for i := range s.Values {
		v := &s.Values[i]
		b = put32(b, uint32(v.Inst))
		if f.blocks == 0 {
			b = put32(b, uint32(v.Value.Bits()))
			continue
		}
		b = put32(b, uint32(off/4))
		n, _ := blockLen(v.Value, 1)
		off += padded(n)
	}
	return b, off
}

// sets reads n value sets into old, and the value blocks up to the end of the PDU.
// at is the offset of n.
func (c *cursor) sets(old []ValueSet, n, at int) []ValueSet {
	switch {
	case c.err != nil:
		return old[:0]
	case n < 0:
		c.failAt(at, "number of value sets", ErrNegative)
		return old[:0]
	case n > c.left()/8:
		c.failAt(at, "number of value sets", ErrTruncated)
		return old[:0]
	}
	sets := resize(old, n)
	some := false
	for i := range sets {
		some = c.set(&sets[i]) || some
	}
	if some && c.err == nil {
		c.blocks(sets)
	}
	return sets
}

// set reads one value set and reports whether its values are in blocks; they then
// hold the places of their blocks, as type asIndex.
func (c *cursor) set(s *ValueSet) bool {
	s.PMID = pcp.PMID(c.u32("metric"))
	s.Err = 0
	s.Values = s.Values[:0]
	n := c.i32("number of values")
	if n <= 0 {
		s.Err = pcp.Error(n)
		return false
	}
	format := c.u32("format of values")
	if format > blocksToo {
		c.failAt(c.off-4, "format of values", errFormat)
	}
	if int(n) > c.left()/8 {
		c.failAt(c.off-8, "number of values", ErrTruncated)
	}
	if c.err != nil {
		return false
	}
	t := pcp.TypeU32
	if format != inSitu {
		t = asIndex
	}
	s.Values = resize(s.Values, int(n))
	for i := range s.Values {
		s.Values[i].Inst = c.i32("instance")
		s.Values[i].Value = pcp.RawNumber(t, uint64(c.u32("value")))
	}
	return format != inSitu
}
