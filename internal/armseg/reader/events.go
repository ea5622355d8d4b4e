//go:build linux

package reader

import (
	"encoding/binary"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// Event is a start, an update or a stop of a traced transaction.
type Event struct {
	Time     int64 // CLOCK_MONOTONIC, nanoseconds
	Kind     uint32
	Tran     uint32
	Handle   uint32
	Status   int32
	Flags    uint32                  // the data buffer's
	Given    byte                    // which metrics it had: from the highest bit on, the string in the last bit
	Duration uint64                  // nanoseconds
	Fields   [layout.Metrics][8]byte // the metrics as they stand in the data buffer
	String   string
	Parent   []byte // correlators; nil where there are none
	Own      []byte
	Text     string
}

// seenEvents is how far the events were read.
type seenEvents struct {
	next  uint64 // the number of the next one
	stuck int    // how often in a row that one was being written
}

// stuckLooks is how often the next event may be found half written before it counts as
// missed.
const stuckLooks = 3

// SkipEvents skips what has been traced up to now.
func (p *Proc) SkipEvents() error {
	return p.m.Guard(func() { p.events.next, _ = p.m.Load64(layout.ProcTraceNext) })
}

// Events calls f for every event since the last call, 128 at most. It returns how many it
// missed, because they were overwritten unread or stayed half written.
func (p *Proc) Events(f func(*Event)) (missed uint64, err error) {
	err = p.guard(func() error {
		next, _ := p.m.Load64(layout.ProcTraceNext)
		e := &p.events
		switch {
		case next < e.next:
			return ErrBack
		case next == e.next:
			return nil
		}
		off, _ := p.m.Load64(layout.ProcTraceOff)
		n, _ := p.m.Load32(layout.ProcTraceLen)
		length, _ := p.m.Load32(layout.ProcEventLen)
		if n != layout.TraceLen || length != layout.EventLen {
			return badFormat("%d events of %d bytes", n, length)
		}
		if err := p.has(off, layout.TraceLen*layout.EventLen); err != nil {
			return err
		}
		if next-e.next > layout.TraceLen {
			missed = next - e.next - layout.TraceLen
			e.next = next - layout.TraceLen
		}
		for ; e.next < next; e.next++ {
			info, state := p.event(off+e.next%layout.TraceLen*layout.EventLen, e.next)
			if state == eventWriting && e.stuck < stuckLooks {
				e.stuck++
				return nil
			}
			e.stuck = 0
			if state == eventThere {
				f(info)
			} else {
				missed++
			}
		}
		return nil
	})
	return missed, err
}

const (
	eventThere   = iota
	eventWriting // or not begun
	eventGone    // overwritten
)

func (p *Proc) event(off, i uint64) (*Event, int) {
	b := make(record, layout.EventLen)
	p.m.CopyWords(b, off)
	again, _ := p.m.Load64(off + layout.EventSeq)
	switch seq := b.u64(layout.EventSeq); {
	case seq == 2*i+2 && again == seq:
		return eventInfo(b), eventThere
	case seq <= 2*i+1 && again == seq:
		return nil, eventWriting
	}
	return nil, eventGone
}

func eventInfo(b record) *Event {
	e := &Event{
		Time: int64(b.u64(layout.EventTime)), Kind: b.u32(layout.EventKind), Tran: b.u32(layout.EventTran), Handle: b.u32(layout.EventHandle),
		Status: int32(b.u32(layout.EventStatus)), Flags: b.u32(layout.EventFlags), Duration: b.u64(layout.EventDuration),
		String: blanksOff(b[layout.EventString:][:32]), Text: Text(b[layout.EventText:][:min(b.u32(layout.EventTextLen), layout.TextMax)]),
		Parent: correlator(b[layout.EventParent:][:layout.CorrelatorMax]), Own: correlator(b[layout.EventOwn:][:layout.CorrelatorMax]),
	}
	e.Given = b[layout.EventFlags+1]
	for i := range e.Fields {
		copy(e.Fields[i][:], b[layout.EventMetrics+8*i:])
	}
	return e
}

// correlator cuts a correlator to its length, which stands in its first two bytes in
// network byte order. It returns nil if the length is impossible.
func correlator(b []byte) []byte {
	n := int(binary.BigEndian.Uint16(b))
	if n < 2 || n > len(b) {
		return nil
	}
	return b[:n:n]
}
