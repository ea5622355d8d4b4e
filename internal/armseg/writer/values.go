package writer

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// values counts the values of a call. The first value of a counter in an execution is only
// compared with later ones.
func (r *Running) values(g *given) {
	c := r.c
	bad := g.bad
	if g.has != [layout.Metrics + 1]bool{} {
		if records := c.metricsOf(); records != nil {
			for i, has := range g.has {
				m := cellMetric{unsafe.Add(records, i*layout.MetricLen), c.tran.metrics[i].Type}
				if has && !r.value(m, i, g) {
					bad = true
				}
			}
		}
	}
	if bad {
		atomic.AddUint64((*uint64)(unsafe.Add(c.p, layout.CellBadData)), 1)
	}
}

// value counts the value of one metric. ok is false if its divisor is 0.
func (r *Running) value(m cellMetric, i int, g *given) (ok bool) {
	if i == layout.Metrics {
		m.setText(&g.text)
		return true
	}
	v, ok := decode(m.kind, g.fields[i])
	if !ok {
		return false
	}
	if m.counts() {
		if ext := r.ext(); ext != nil {
			m.add(m.grown(ext, i, v, g.fields[i]))
		}
	} else if m.gauges() {
		m.add(v)
	}
	m.set(v)
	return true
}

// ext returns the last values of the slot's counters, or nil if there is no room.
func (r *Running) ext() unsafe.Pointer {
	w := r.c.b.w
	s, at := w.place(r.slot)
	off := w.once(s.ext, word64(w.base, s.off+layout.ChunkExtOff), layout.SlotsPerChunk*layout.ExtLen)
	if off == 0 {
		return nil
	}
	ext := unsafe.Add(w.base, off+uint64(at)*layout.ExtLen)
	if flags := get32(r.slot, layout.SlotFlags); flags&layout.SlotMetrics == 0 {
		put32(ext, layout.ExtFlags, 0) // what is there is an earlier execution's
		put32(r.slot, layout.SlotFlags, flags|layout.SlotMetrics)
	}
	return ext
}

// cellMetric is one of an application's metrics in a cell.
type cellMetric struct {
	p    unsafe.Pointer
	kind uint32
}

func (m cellMetric) word(off uintptr) *uint64 { return (*uint64)(unsafe.Add(m.p, off)) }

func (m cellMetric) counts() bool {
	return m.kind == layout.TypeCounter32 || m.kind == layout.TypeCounter64 || m.kind == layout.TypeCntrDivr32
}

func (m cellMetric) gauges() bool {
	return m.kind == layout.TypeGauge32 || m.kind == layout.TypeGauge64 || m.kind == layout.TypeGaugeDivr32
}

func (m cellMetric) floats() bool {
	return m.kind == layout.TypeCntrDivr32 || m.kind == layout.TypeGaugeDivr32
}

// grown returns by how much a counter grew since its last value in this execution. After the
// greatest value of its width a counter goes on at 0. field is v as it was given.
func (m cellMetric) grown(ext unsafe.Pointer, i int, v, field uint64) (by uint64) {
	old := atomic.SwapUint64((*uint64)(unsafe.Add(ext, layout.ExtPrev+8*i)), v)
	if atomic.OrUint32((*uint32)(unsafe.Add(ext, layout.ExtFlags)), 1<<i)&(1<<i) == 0 {
		return 0
	}
	switch m.kind {
	case layout.TypeCounter32:
		return uint64(uint32(v) - uint32(old))
	case layout.TypeCounter64:
		return v - old
	}
	d := math.Float64frombits(v) - math.Float64frombits(old)
	if d < 0 {
		_, divisor := split(field)
		d += (1 << 32) / float64(divisor)
	}
	return math.Float64bits(max(d, 0))
}

// add adds v to the sum.
func (m cellMetric) add(v uint64) {
	sum := m.word(layout.MetricSum)
	if !m.floats() {
		atomic.AddUint64(sum, v)
		return
	}
	for {
		old := atomic.LoadUint64(sum)
		now := math.Float64bits(math.Float64frombits(old) + math.Float64frombits(v))
		if atomic.CompareAndSwapUint64(sum, old, now) {
			return
		}
	}
}

// set stores the latest value and a gauge's extremes, and counts the value. It stores
// nothing if another goroutine is storing.
func (m cellMetric) set(v uint64) {
	m.store(v)
	atomic.AddUint64(m.word(layout.MetricCount), 1)
}

// store does what set does, but does not count the value.
func (m cellMetric) store(v uint64) {
	m.latest(func(first bool) {
		atomic.StoreUint64(m.word(layout.MetricLast), v)
		if !m.gauges() {
			return
		}
		if first || m.less(v, atomic.LoadUint64(m.word(layout.MetricMin))) {
			atomic.StoreUint64(m.word(layout.MetricMin), v)
		}
		if first || m.less(atomic.LoadUint64(m.word(layout.MetricMax)), v) {
			atomic.StoreUint64(m.word(layout.MetricMax), v)
		}
	})
}

func (m cellMetric) setText(text *[32]byte) {
	m.storeText(text)
	atomic.AddUint64(m.word(layout.MetricCount), 1)
}

func (m cellMetric) storeText(text *[32]byte) {
	m.latest(func(bool) {
		for i := range uintptr(4) {
			atomic.StoreUint64(m.word(layout.MetricText+8*i), *(*uint64)(unsafe.Pointer(&text[8*i])))
		}
	})
}

// latest makes the sequence word odd, calls f and makes it even again. It does nothing if
// another goroutine has made it odd.
func (m cellMetric) latest(f func(first bool)) {
	seq, kind := (*uint32)(unsafe.Add(m.p, layout.MetricSeq)), (*uint32)(unsafe.Add(m.p, layout.MetricType))
	if old := atomic.LoadUint32(seq); old&1 == 0 && atomic.CompareAndSwapUint32(seq, old, old+1) {
		f(atomic.LoadUint32(kind) == 0)
		atomic.StoreUint32(kind, m.kind)
		atomic.StoreUint32(seq, old+2)
	}
}

func (m cellMetric) less(a, b uint64) bool {
	if m.floats() {
		return math.Float64frombits(a) < math.Float64frombits(b)
	}
	return int64(a) < int64(b)
}
