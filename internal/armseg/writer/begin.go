package writer

import (
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// Begin holds what a program may give to a start.
type Begin struct {
	Parent string // the parent's correlator, "" for none
	Trace  bool   // a trace is asked for
	Values []Value
}

// Flags in the first of a data buffer's bytes of flags (ARM 2.0 guide, "Format 1").
const (
	flagParent = 0x80 // the parent's correlator is there
	flagTrace  = 0x10 // a trace is asked for
)

// Traced reports whether the agent asks to trace all executions.
func (t *Tran) Traced() bool { return t.w.switches.on(t.ID) }

// StartWith begins an execution as Start does, and takes account of b. It appends the
// execution's own correlator to own.
func (t *Tran) StartWith(b Begin, own []byte) (Running, []byte) {
	r := t.claim()
	if r.c == nil {
		return r, own
	}
	var space [layout.CorrelatorMax]byte
	given := space[:copy(space[:], b.Parent)]
	parent, ok := layout.ParseCorrelator(given)
	flags := parent.Flags & (layout.FlagAgentTrace | layout.FlagUserTrace)
	asked := byte(0) // as in a data buffer
	if b.Trace {
		flags, asked = flags|layout.FlagUserTrace, asked|flagTrace
	}
	if t.Traced() {
		flags |= layout.FlagAgentTrace
	}
	slotFlags := get32(r.slot, layout.SlotFlags)
	if flags != 0 {
		slotFlags |= layout.SlotTraced
	}
	if ok {
		asked |= flagParent
		put32(r.slot, layout.SlotPair, t.w.pair(t.ID, &parent))
	}
	put32(r.slot, layout.SlotFlags, slotFlags)
	values := t.sort(b.Values)
	r.values(&values)
	from := len(own)
	own = t.w.own(&parent, flags, r.handle(), t.ID, own)
	r.run()
	if flags != 0 {
		t.w.trace(&event{kind: layout.EventKindStart, tran: t.ID, handle: r.handle(), time: r.began(),
			flags: asked, given: &values, parent: given, own: own[from:]})
	}
	return r, own
}

// began returns the start, on CLOCK_MONOTONIC.
func (r *Running) began() uint64 { return uint64(r.start + r.c.b.w.offset) }

// stopWith does the part of a stop that most stops do not need.
func (r *Running) stopWith(d, now uint64, s Status, values []Value) {
	c := r.c
	given := c.tran.sort(values)
	r.values(&given)
	if pair := get32(r.slot, layout.SlotPair); pair != 0 {
		c.b.w.countPair(pair, d, s)
	}
	if get32(r.slot, layout.SlotFlags)&layout.SlotTraced != 0 {
		c.b.w.trace(&event{kind: layout.EventKindStop, tran: c.tran.ID, handle: r.handle(), time: now,
			duration: d, status: s, given: &given})
	}
	if c.b.w.memory {
		c.move()
		if next := c.tran.next.Load(); next != nil {
			c.b.w.movePairs(next.w)
		}
	}
}

// Update counts an update of a running execution. ok is false if the execution has ended
// or never began.
func (r *Running) Update(values []Value, text string) (ok bool) {
	if r.c == nil {
		return false
	}
	w := r.c.b.w
	if get64(r.slot, 0) != r.active || get64(r.slot, layout.SlotStart) != r.began() {
		atomic.AddUint64(word64(w.base, layout.ProcBadHandles), 1)
		return false
	}
	now := uint64(w.now() + w.offset)
	put64(r.slot, layout.SlotUpdate, now)
	atomic.AddUint64((*uint64)(unsafe.Add(r.c.p, layout.CellUpdates)), 1)
	given := r.c.tran.sort(values)
	r.values(&given)
	if get32(r.slot, layout.SlotFlags)&layout.SlotTraced != 0 {
		w.trace(&event{kind: layout.EventKindUpdate, tran: r.c.tran.ID, handle: r.handle(), time: now,
			given: &given, text: text})
	}
	return true
}
