package writer

import (
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// event is the record of a start, an update or a stop that is traced.
type event struct {
	kind, tran, handle uint32
	time, duration     uint64
	status             Status
	flags              byte // the first of the data buffer's bytes of flags
	given              *given
	parent, own        []byte // correlators
	text               string
}

// trace writes an event into the ring, over the oldest. It never waits: it drops the event if
// another goroutine is writing in that place, or if the ring has come round meanwhile.
func (w *Writer) trace(e *event) {
	ring := w.once(&w.ring, word64(w.base, layout.ProcTraceOff), layout.TraceLen*layout.EventLen)
	if ring == 0 {
		return
	}
	i := atomic.AddUint64(word64(w.base, layout.ProcTraceNext), 1) - 1
	p := unsafe.Add(w.base, ring+i%layout.TraceLen*layout.EventLen)
	seq := (*uint64)(unsafe.Add(p, layout.EventSeq))
	old := atomic.LoadUint64(seq)
	if old&1 != 0 || old > 2*i || !atomic.CompareAndSwapUint64(seq, old, 2*i+1) {
		return
	}
	fillEvent(p, e)
	atomic.StoreUint64(seq, 2*i+2)
}

func fillEvent(p unsafe.Pointer, e *event) {
	put64(p, layout.EventTime, e.time)
	put32(p, layout.EventKind, e.kind)
	put32(p, layout.EventTran, e.tran)
	put32(p, layout.EventHandle, e.handle)
	put32(p, layout.EventStatus, uint32(e.status))
	put64(p, layout.EventDuration, e.duration)
	put32(p, layout.EventFlags, uint32(e.flags)|e.given.which()<<8)
	for i := range e.given.fields {
		put64(p, layout.EventMetrics+8*uint64(i), e.given.fields[i])
	}
	copy(bytesAt(p, layout.EventString, 32), e.given.text[:])
	putCorrelator(p, layout.EventParent, e.parent)
	putCorrelator(p, layout.EventOwn, e.own)
	n := copy(bytesAt(p, layout.EventText, layout.TextMax), e.text)
	put32(p, layout.EventTextLen, uint32(n))
}

// putCorrelator stores a correlator. It stores the length 0 if there is none.
func putCorrelator(p unsafe.Pointer, off uint64, b []byte) {
	field := bytesAt(p, off, layout.CorrelatorMax)
	clear(field[copy(field, b):])
}
