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

// maxBlock is the least length of a value block, its header included, that is refused. It
// would fit into the 24 bits of the length, as all ones, which is not used.
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

// fitsBlock reports whether a block has room for n bytes of value.
func fitsBlock(n int) bool { return n+4 < maxBlock }

// putBlockHead writes the head of a block that holds n bytes of value.
//
//	0  type, one byte; length of the block without padding, three bytes
//	4  value, padded
func putBlockHead(b []byte, t pcp.Type, n int) []byte { return put32(b, uint32(t)<<24|uint32(n+4)) }

// putBytesBlock writes a block of bytes and nul bytes 0 behind them; fitsBlock has said
// that there is room.
func putBytesBlock[B string | []byte](b []byte, t pcp.Type, value B, nul int) []byte {
	n := len(value) + nul
	b = append(putBlockHead(b, t, n), value...)
	b = append(b, "\x00"[:nul]...)
	return putPad(b, n)
}

// isNumber reports whether a value of this type is a number, which is not kept as bytes.
func isNumber(t pcp.Type) bool { return t >= pcp.Type32 && t <= pcp.TypeDouble }

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
