//go:build linux

package armseg

import "encoding/binary"

// EventInfo is a start, an update or a stop of a traced transaction.
type EventInfo struct {
	Time     int64 // CLOCK_MONOTONIC, nanoseconds
	Kind     uint32
	Tran     uint32
	Handle   uint32
	Status   int32
	Flags    uint32           // the data buffer's
	Given    byte             // which metrics it had: from the highest bit on, the string's last
	Duration uint64           // nanoseconds
	Fields   [Metrics][8]byte // the metrics as they stand in the data buffer
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

// stuckLooks is how often an event is found being written before it is given up.
const stuckLooks = 3

// SkipEvents leaves out what has been traced up to now.
func (p *ProcReader) SkipEvents() error {
	return p.m.Guard(func() { p.events.next, _ = p.m.Load64(ProcTraceNext) })
}

// Events calls f for every event since the last call, 128 at most, and returns how many
// were overwritten unread.
func (p *ProcReader) Events(f func(*EventInfo)) (missed uint64, err error) {
	err = p.guard(func() error {
		next, _ := p.m.Load64(ProcTraceNext)
		e := &p.events
		switch {
		case next < e.next:
			return ErrBack
		case next == e.next:
			return nil
		}
		off, _ := p.m.Load64(ProcTraceOff)
		n, _ := p.m.Load32(ProcTraceLen)
		length, _ := p.m.Load32(ProcEventLen)
		if n != TraceLen || length != EventLen {
			return badFormat("%d events of %d bytes", n, length)
		}
		if err := p.has(off, TraceLen*EventLen); err != nil {
			return err
		}
		if next-e.next > TraceLen {
			missed = next - e.next - TraceLen
			e.next = next - TraceLen
		}
		for ; e.next < next; e.next++ {
			info, state := p.event(off+e.next%TraceLen*EventLen, e.next)
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

func (p *ProcReader) event(off, i uint64) (*EventInfo, int) {
	b := make(record, EventLen)
	p.m.CopyWords(b, off)
	again, _ := p.m.Load64(off + EventSeq)
	switch seq := b.u64(EventSeq); {
	case seq == 2*i+2 && again == seq:
		return eventInfo(b), eventThere
	case seq <= 2*i+1 && again == seq:
		return nil, eventWriting
	}
	return nil, eventGone
}

func eventInfo(b record) *EventInfo {
	e := &EventInfo{
		Time: int64(b.u64(EventTime)), Kind: b.u32(EventKind), Tran: b.u32(EventTran), Handle: b.u32(EventHandle),
		Status: int32(b.u32(EventStatus)), Flags: b.u32(EventFlags), Duration: b.u64(EventDuration),
		String: blanksOff(b[EventString:][:32]), Text: Text(b[EventText:][:min(b.u32(EventTextLen), TextMax)]),
		Parent: correlator(b[EventParent:][:CorrelatorMax]), Own: correlator(b[EventOwn:][:CorrelatorMax]),
	}
	e.Given = b[EventFlags+1]
	for i := range e.Fields {
		copy(e.Fields[i][:], b[EventMetrics+8*i:])
	}
	return e
}

// correlator cuts a correlator, which begins with its length in network byte order, to
// that.
func correlator(b []byte) []byte {
	n := int(binary.BigEndian.Uint16(b))
	if n < 2 || n > len(b) {
		return nil
	}
	return b[:n:n]
}
