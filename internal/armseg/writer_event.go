package armseg

import (
	"sync/atomic"
	"unsafe"
)

// event is what is kept of a start, an update or a stop that is traced.
type event struct {
	kind, tran, handle uint32
	time, duration     uint64
	status             Status
	flags              byte // the data buffer's first
	given              *given
	parent, own        []byte // correlators
	text               string
}

// trace writes an event into the ring, over the oldest. It never waits: one that another
// goroutine is just writing over, or that has been overtaken by a whole turn, is left out.
func (w *Writer) trace(e *event) {
	ring := get64(w.base, ProcTraceOff)
	if ring == 0 {
		if ring = w.makeRing(); ring == 0 {
			return
		}
	}
	i := atomic.AddUint64(word64(w.base, ProcTraceNext), 1) - 1
	p := unsafe.Add(w.base, ring+i%TraceLen*EventLen)
	seq := (*uint64)(unsafe.Add(p, EventSeq))
	old := atomic.LoadUint64(seq)
	if old&1 != 0 || old > 2*i || !atomic.CompareAndSwapUint64(seq, old, 2*i+1) {
		return
	}
	fillEvent(p, e)
	atomic.StoreUint64(seq, 2*i+2)
}

func (w *Writer) makeRing() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if off := get64(w.base, ProcTraceOff); off != 0 {
		return off
	}
	off, err := w.alloc(TraceLen * EventLen)
	if err != nil {
		return 0
	}
	put32(w.base, ProcTraceLen, TraceLen)
	put64(w.base, ProcTraceOff, off)
	return off
}

func fillEvent(p unsafe.Pointer, e *event) {
	put64(p, EventTime, e.time)
	put32(p, EventKind, e.kind)
	put32(p, EventTran, e.tran)
	put32(p, EventHandle, e.handle)
	put32(p, EventStatus, uint32(e.status))
	put64(p, EventDuration, e.duration)
	put32(p, EventFlags, uint32(e.flags)|e.given.which()<<8)
	for i := range e.given.fields {
		put64(p, EventMetrics+8*uint64(i), e.given.fields[i])
	}
	copy(bytesAt(p, EventString, 32), e.given.text[:])
	putCorrelator(p, EventParent, e.parent)
	putCorrelator(p, EventOwn, e.own)
	n := copy(bytesAt(p, EventText, TextMax), e.text)
	put32(p, EventTextLen, uint32(n))
}

// putCorrelator stores a correlator, or the length 0 of none.
func putCorrelator(p unsafe.Pointer, off uint64, b []byte) {
	field := bytesAt(p, off, CorrelatorMax)
	clear(field[copy(field, b):])
}
