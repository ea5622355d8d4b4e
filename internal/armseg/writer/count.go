package writer

import (
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// Status says how a transaction ended.
type Status uint32

// The ways in which a transaction ends, with the numbers of the ARM 2.0 guide.
const (
	Good    Status = 0
	Aborted Status = 1
	Failed  Status = 2
)

// Running is an execution of a transaction. The zero value stands for none.
type Running struct {
	c      *cell
	slot   unsafe.Pointer
	active uint64 // the slot's state word while it runs
	start  int64  // on the writer's clock
}

// Start begins an execution. It returns the zero value if the transaction is not active or no slot
// is free.
func (t *Tran) Start() Running {
	r := t.claim()
	if r.c != nil {
		r.run()
	}
	return r
}

// Report counts an execution that took d nanoseconds and ends now. ok is false if the transaction
// is not active, or if there is no room.
func (t *Tran) Report(d uint64, s Status) (ok bool) {
	if !t.Active() {
		return false
	}
	c := t.cell()
	if c == nil {
		return false
	}
	c.count(d, uint64(t.w.now()+t.w.offset), s)
	if t.w.memory {
		c.move()
	}
	return true
}

// ReportWith is Report for a child of the execution that the correlator names.
func (t *Tran) ReportWith(d uint64, s Status, parent string) (ok bool) {
	if !t.Report(d, s) {
		return false
	}
	var space [layout.CorrelatorMax]byte
	c, ok := layout.ParseCorrelator(space[:copy(space[:], parent)])
	if !ok {
		return true
	}
	if n := t.w.pair(t.ID, &c); n != 0 {
		t.w.countPair(n, d, s)
	}
	if t.w.memory {
		if next := t.next.Load(); next != nil {
			t.w.movePairs(next.w)
		}
	}
	return true
}

// Correlator appends a correlator that names the transaction, but no execution of it.
func (t *Tran) Correlator(own []byte) []byte {
	return t.w.own(&layout.Correlator{}, 0, 0, t.ID, own)
}

// claim does the part of a start that comes before the clock is read.
func (t *Tran) claim() Running {
	if !t.Active() {
		return Running{}
	}
	c := t.cell()
	if c == nil {
		return Running{}
	}
	slot, active := c.b.claim(t.ID)
	if slot == nil {
		return Running{}
	}
	release64((*uint64)(unsafe.Add(slot, layout.SlotPair)), t.w.slotFlags)
	release64((*uint64)(unsafe.Add(slot, layout.SlotUpdate)), 0)
	return Running{c: c, slot: slot, active: active}
}

// cell returns the cell that this goroutine counts in.
func (t *Tran) cell() *cell {
	b := t.w.pick()
	if c := t.cells[b.n].Load(); c != nil {
		return c
	}
	return t.newCell(b)
}

// run reads the clock and marks the transaction as running.
func (r *Running) run() {
	w := r.c.b.w
	r.start = w.now()
	if r.start >= w.switches.next.Load() {
		w.readSwitches(r.start)
		r.start = w.now()
	}
	release64((*uint64)(unsafe.Add(r.slot, layout.SlotStart)), uint64(r.start+w.offset))
	release64((*uint64)(r.slot), r.active)
}

// Stop ends an execution, and counts it and the values. ok is false, and nothing is done, if it has
// ended already or never began.
func (r *Running) Stop(s Status, values []Value) (ok bool) {
	if r.c == nil {
		return false
	}
	w := r.c.b.w
	now := w.now()
	if !r.stopping() {
		atomic.AddUint64(word64(w.base, layout.ProcBadHandles), 1)
		return false
	}
	d := uint64(max(now-r.start, 0))
	r.c.count(d, uint64(now+w.offset), s)
	if get64(r.slot, layout.SlotPair) != 0 || len(values) > 0 { // this word also holds the slot's flags
		r.stopWith(d, uint64(now+w.offset), s, values)
	}
	r.free()
	return true
}

// stopping takes the slot from running to stopping, once. Another execution may have the same slot
// and, after all generations were used, the same generation. Its start tells the two apart.
func (r *Running) stopping() bool {
	return get64(r.slot, layout.SlotStart) == uint64(r.start+r.c.b.w.offset) && atomic.CompareAndSwapUint64((*uint64)(r.slot), r.active, r.active^layout.SlotActive^layout.SlotStopping)
}

func (r *Running) free() {
	release64((*uint64)(r.slot), slotGen(r.active)<<genShift|layout.SlotFree)
	b := r.c.b
	b.freed(uint32((uintptr(r.slot) - uintptr(b.w.base)) / 64))
	if b.w.full.Load() {
		b.w.full.Store(false)
	}
}

// count counts what took d nanoseconds and ended at now on CLOCK_MONOTONIC.
func (c *cell) count(d, now uint64, s Status) {
	p := c.p
	if s != Good {
		off := uintptr(layout.CellAborted)
		if s == Failed {
			off = layout.CellFailed
		}
		atomic.AddUint64((*uint64)(unsafe.Add(p, off+8)), d)
		atomic.AddUint64((*uint64)(unsafe.Add(p, off)), 1)
		return
	}
	if d > atomic.LoadUint64((*uint64)(unsafe.Add(p, layout.CellMax))) {
		raise((*uint64)(unsafe.Add(p, layout.CellMax)), d)
	}
	if d < atomic.LoadUint64((*uint64)(unsafe.Add(p, layout.CellMin))) {
		lower((*uint64)(unsafe.Add(p, layout.CellMin)), d)
	}
	atomic.AddUint64((*uint64)(unsafe.Add(p, layout.CellSum)), d)
	atomic.AddUint64((*uint64)(unsafe.Add(p, layout.CellHist+8*uintptr(layout.Bucket(d)))), 1)
	n := (*uint64)(unsafe.Add(p, layout.CellN))
	i := atomic.LoadUint64(n)
	release64((*uint64)(unsafe.Add(p, layout.CellRing+8*uintptr(i%layout.RingLen))), layout.RingWord(i, d, int64(now)))
	atomic.AddUint64(n, 1)
}

func raise(p *uint64, v uint64) {
	for old := atomic.LoadUint64(p); v > old; old = atomic.LoadUint64(p) {
		if atomic.CompareAndSwapUint64(p, old, v) {
			return
		}
	}
}

func lower(p *uint64, v uint64) {
	for old := atomic.LoadUint64(p); v < old; old = atomic.LoadUint64(p) {
		if atomic.CompareAndSwapUint64(p, old, v) {
			return
		}
	}
}
