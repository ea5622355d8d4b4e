package pdu

import (
	"encoding/binary"

	"github.com/pcp-rtime/rtime/pcp"
)

// resultHead is the length of what stands before the value sets.
const resultHead = HeaderLen + 12

// Type returns TypeResult.
func (p *Result) Type() Type { return TypeResult }

// Length returns 24 and the length of the value sets and blocks. It costs as much as
// Append.
func (p *Result) Length() int { return resultLength(resultHead, p.Sets) }

// Append writes the values: numbers of types 32 and U32 in situ, all others,
// floats too, as value blocks. Strings get a final NUL. A set whose values
// are partly in situ and partly not cannot be written; it becomes ErrType, as does
// one with a value of no valid type. A set with a value of 16 MB or more becomes
// ErrTooBig, and a positive Err ErrGeneric. The whole must stay below MaxLen.
//
//	12  from an agent, bits pcp.State...; else seconds
//	16  microseconds
//	20  number of value sets
//	24  value sets, then value blocks to the end of the PDU
func (p *Result) Append(b []byte, from int32) []byte {
	w := encode(TypeResult, resultHead, resultHead-4, from, p.Sets)
	binary.BigEndian.PutUint32(w.sets[12:], p.Sec)
	binary.BigEndian.PutUint32(w.sets[16:], p.Usec)
	return w.appendTo(b)
}

// Parse reuses the slices of the receiver, those in its sets too. The bytes of
// strings, aggregates and event arrays are fresh each time, one allocation for all.
// One NUL at the end of a string is taken off.
func (p *Result) Parse(b []byte) error {
	c := open(b, TypeResult)
	p.Sec = c.u32("seconds")
	p.Usec = c.u32("microseconds")
	n := c.i32("number of value sets")
	p.Sets = c.sets(p.Sets, int(n), c.off-4)
	return c.done()
}

// As returns the value as one of type t, the type of its metric. Only a number in
// situ, whose type the wire does not tell, changes: to 32 with its sign, or to
// FLOAT from its bits. The error is pcp.ErrType where t is no valid type, and
// pcp.ErrConv where the value is of another type than t.
func (v InstValue) As(t pcp.Type) (pcp.Value, error) {
	switch {
	case !t.Valid():
		return pcp.Value{}, pcp.ErrType
	case v.Value.Type() == t:
		return v.Value, nil
	case v.Value.Type() == pcp.TypeU32 && t == pcp.Type32:
		return pcp.RawNumber(t, uint64(int64(int32(v.Value.Bits())))), nil
	case v.Value.Type() == pcp.TypeU32 && t == pcp.TypeFloat:
		return pcp.RawNumber(t, uint64(uint32(v.Value.Bits()))), nil
	case isAggregate(v.Value.Type()) && isAggregate(t):
		return pcp.RawBytes(t, v.Value.Bytes()), nil
	}
	return pcp.Value{}, pcp.ErrConv
}

func isAggregate(t pcp.Type) bool {
	return t == pcp.TypeAggregate || t == pcp.TypeAggregateStatic
}
