package pdu

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
)

// Lengths of the fixed part of an event record.
const (
	eventHead        = 16
	highresEventHead = 24
)

var errSubsecond = errors.New("not less than a second")

// AppendEvents writes what the value block of an event metric holds; t is
// TypeEvent or TypeHighresEvent, and b is returned as it is for any other.
// RawBytes(t, ...) makes a value of it. A record with EventMissed has no
// parameters. A parameter whose value is neither a number, a string nor an
// aggregate, or has 16 MB or more, is left out. Times before 1970 and after 2106
// do not fit a record of TypeEvent.
//
//	0  number of records
//	4  records: seconds, microseconds (EVENT: four bytes each) or nanoseconds
//	   (HIGHRES_EVENT: eight bytes each); flags, four bytes; number of
//	   parameters, or of missed records, four bytes; parameters
//
//	parameter: PMID, value block. Strings have no NUL here.
func AppendEvents(b []byte, t pcp.Type, recs []pcp.EventRecord) []byte {
	if t != pcp.TypeEvent && t != pcp.TypeHighresEvent {
		return b
	}
	b = put32(b, uint32(len(recs)))
	for i := range recs {
		b = putEvent(b, t, &recs[i])
	}
	return b
}

func putEvent(b []byte, t pcp.Type, r *pcp.EventRecord) []byte {
	if t == pcp.TypeHighresEvent {
		b = put64(b, uint64(r.Time.Unix()))
		b = put64(b, uint64(r.Time.Nanosecond()))
	} else {
		b = put32(b, uint32(r.Time.Unix()))
		b = put32(b, uint32(r.Time.Nanosecond()/1000))
	}
	b = put32(b, r.Flags)
	if r.Flags&pcp.EventMissed != 0 {
		return put32(b, r.Missed)
	}
	at, n := len(b), 0
	b = put32(b, 0)
	for i := range r.Params {
		if p := &r.Params[i]; isParam(p.Value) {
			b = put32(b, uint32(p.PMID))
			b = putParam(b, p.Value)
			n++
		}
	}
	binary.BigEndian.PutUint32(b[at:], uint32(n))
	return b
}

// isParam reports whether a value can be a parameter of an event record.
func isParam(v pcp.Value) bool {
	return v.Type() >= pcp.Type32 && v.Type() <= pcp.TypeAggregateStatic && fitsBlock(len(v.Bytes()))
}

// putParam writes the block of a parameter. In contrast to a value of its own, one of type
// 32 has a block, and a string has no NUL.
func putParam(b []byte, v pcp.Value) []byte {
	switch t := v.Type(); t {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		return put32(putBlockHead(b, t, 4), uint32(v.Bits()))
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		return put64(putBlockHead(b, t, 8), v.Bits())
	default:
		return putBytesBlock(b, t, v.Bytes(), 0)
	}
}

func isEvents(t pcp.Type) bool { return t == pcp.TypeEvent || t == pcp.TypeHighresEvent }

// ParseEvents reads what AppendEvents writes. Each length is checked against the
// bytes that are left; padding may hold anything; bytes left over and events within
// events are refused. Offsets in the error count from the beginning of b, and
// its type is TypeResult. The error is pcp.ErrType where t is not an event type.
func ParseEvents(t pcp.Type, b []byte) ([]pcp.EventRecord, error) {
	if !isEvents(t) {
		return nil, pcp.ErrType
	}
	head := eventHead
	if t == pcp.TypeHighresEvent {
		head = highresEventHead
	}
	c := cursor{typ: TypeResult, buf: append([]byte(nil), b...)}
	recs := make([]pcp.EventRecord, c.count("number of event records", head))
	for i := range recs {
		c.event(&recs[i], t)
		if c.err != nil {
			break
		}
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	return recs, nil
}

func (c *cursor) event(r *pcp.EventRecord, t pcp.Type) {
	r.Time = c.eventTime(t)
	r.Flags = c.u32("flags of an event record")
	if r.Flags&pcp.EventMissed != 0 {
		r.Missed = c.u32("missed event records")
		return
	}
	n := c.count("number of event parameters", 8)
	if n == 0 {
		return
	}
	r.Params = make([]pcp.EventParam, n)
	for i := range r.Params {
		c.param(&r.Params[i])
	}
}

func (c *cursor) eventTime(t pcp.Type) time.Time {
	const field = "time of an event record"
	at := c.off
	if t == pcp.TypeHighresEvent {
		sec, nsec := int64(c.u64(field)), c.u64(field)
		if nsec >= uint64(time.Second) {
			c.failAt(at, field, errSubsecond)
			return time.Time{}
		}
		return time.Unix(sec, int64(nsec))
	}
	sec, usec := c.u32(field), c.u32(field)
	if usec >= 1e6 {
		c.failAt(at, field, errSubsecond)
	}
	return time.Unix(int64(sec), int64(usec)*1000)
}

// param reads one parameter; its value keeps the cursor's bytes.
func (c *cursor) param(p *pcp.EventParam) {
	p.PMID = pcp.PMID(c.u32("metric of an event parameter"))
	at := c.off
	word := c.u32("type and length of an event parameter")
	t, n := pcp.Type(word>>24), int(word&0xffffff)-4
	if n < 0 {
		c.failAt(at, "length of an event parameter", ErrTruncated)
	}
	data := c.padded("value of an event parameter", max(n, 0))
	if c.err != nil {
		return
	}
	v, err := blockValue(t, data)
	if isEvents(t) {
		err = errBlockType
	}
	if err != nil {
		c.failAt(at, "type and length of an event parameter", err)
		return
	}
	p.Value = v
}
