package writer

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"unsafe"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// memorySize is how many bytes of address space a writer without files may use.
const memorySize = 64 << 20

// slotInMemory is a flag in the slots of a writer without files. It tells Stop that there is more
// to do.
const slotInMemory = 1 << 31

// InMemory returns a writer that counts in this process's own memory, for a program that begins
// before there is a directory. Its names have numbers of their own. MoveTo moves what it has
// counted to another writer.
func InMemory() (*Writer, error) {
	f, err := mapMemory(namesSize)
	if err != nil {
		return nil, err
	}
	fillNames(f.base, rand.Uint64())
	n := &names{f: f, base: f.base}
	n.copyHeader()
	w := &Writer{names: n, trans: map[uint32]*Tran{}, memory: true, slotFlags: wordOf(0, slotInMemory)}
	w.clock()
	if w.file, err = mapMemory(memorySize); err == nil {
		w.base, w.bump = w.file.base, procTables
		err = w.grow(procTables)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	w.header()
	w.makeBlocks()
	w.switches.next.Store(math.MaxInt64) // no agent knows of it
	return w, nil
}

// wordOf returns the word whose two halves in memory are first and second.
func wordOf(first, second uint32) uint64 {
	var b [8]byte
	binary.NativeEndian.PutUint32(b[:], first)
	binary.NativeEndian.PutUint32(b[4:], second)
	return binary.NativeEndian.Uint64(b[:])
}

// IsMemory reports whether the writer has no files.
func (w *Writer) IsMemory() bool { return w.memory }

// MoveTo adds all that a writer without files has counted to another writer. Executions that end
// later are added when they end. New ones should start in the other writer from now on.
func (w *Writer) MoveTo(to *Writer) error {
	w.mu.Lock()
	trans := make([]*Tran, 0, len(w.trans))
	for _, t := range w.trans {
		trans = append(trans, t)
	}
	w.mu.Unlock()
	var failed error
	for _, t := range trans {
		if err := t.moveTo(to); err != nil {
			failed = err
		}
	}
	for _, off := range []uint64{layout.ProcNoRoom, layout.ProcBadHandles, layout.ProcBadData, layout.ProcPairsLost} {
		shift(to.base, off, w.base, off)
	}
	w.movePairs(to)
	return failed
}

// moveTo finds the transaction of the same name in another writer, and moves the counts there.
func (t *Tran) moveTo(to *Writer) error {
	if t.next.Load() == nil {
		n := t.w.names
		app, at := n.appAt(t.App), n.tranAt(t.ID)
		id, err := to.names.app(n.text(app+layout.AppKey, 32), n.text(app+layout.AppDescr, 64), n.text(app+layout.AppUser, 128))
		if err != nil {
			return err
		}
		next, err := to.Tran(id, n.text(at+layout.TranKey, 32), n.text(at+layout.TranDescr, 64), n.text(at+layout.TranDetail, 128), t.metrics)
		if err != nil {
			return err
		}
		t.next.Store(next)
	}
	for i := range t.cells {
		if c := t.cells[i].Load(); c != nil {
			c.move()
		}
	}
	return nil
}

// text returns a text in the file of names, up to its NUL.
func (n *names) text(off, size uint64) string {
	b := bytesAt(n.base, off, size)
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// shift moves the count in one word to another. What others count meanwhile is not lost.
func shift(to unsafe.Pointer, toOff uint64, from unsafe.Pointer, off uint64) uint64 {
	n := atomic.SwapUint64(word64(from, off), 0)
	if n != 0 {
		atomic.AddUint64(word64(to, toOff), n)
	}
	return n
}

// move moves the cell's counts to a cell of the other writer, if there is one. Several goroutines
// may call it at once, while others count.
func (c *cell) move() {
	next := c.tran.next.Load()
	if next == nil {
		return
	}
	to := next.cell()
	if to == nil {
		return // there is no room: the counts stay here, and move when the next execution ends
	}
	raise(word64(to.p, layout.CellMax), get64(c.p, layout.CellMax))
	lower(word64(to.p, layout.CellMin), get64(c.p, layout.CellMin))
	for off := uint64(layout.CellAborted); off <= layout.CellBadData; off += 8 {
		shift(to.p, off, c.p, off)
	}
	shift(to.p, layout.CellSum, c.p, layout.CellSum)
	for i := range uint64(layout.HistLen) {
		shift(to.p, layout.CellHist+8*i, c.p, layout.CellHist+8*i)
	}
	c.moveMetrics(to)
}

func (c *cell) moveMetrics(to *cell) {
	from := c.metrics.Load()
	if from == 0 {
		return
	}
	for i, m := range c.tran.metrics {
		src := cellMetric{unsafe.Add(c.b.w.base, from+uint64(i)*layout.MetricLen), m.Type}
		if n := atomic.SwapUint64(src.word(layout.MetricCount), 0); n != 0 {
			records := to.metricsOf()
			if records == nil {
				atomic.AddUint64(word64(to.p, layout.CellBadData), n)
				continue
			}
			src.moveTo(cellMetric{unsafe.Add(records, i*layout.MetricLen), m.Type}, n)
		}
	}
}

// moveTo moves n values to another record of the same type.
func (m cellMetric) moveTo(to cellMetric, n uint64) {
	if m.kind == layout.TypeString32 {
		to.storeText((*[32]byte)(unsafe.Add(m.p, layout.MetricText)))
	} else {
		to.add(atomic.SwapUint64(m.word(layout.MetricSum), 0))
		for _, off := range []uintptr{layout.MetricMin, layout.MetricMax, layout.MetricLast} {
			if off == layout.MetricLast || m.gauges() {
				to.store(atomic.LoadUint64(m.word(off)))
			}
		}
	}
	atomic.AddUint64(to.word(layout.MetricCount), n)
}

// movePairs moves the counts of the pairs of parents and children.
func (w *Writer) movePairs(to *Writer) {
	if w.pairs.Load() == 0 {
		return
	}
	for i := range uint32(layout.PairsLen) {
		at := w.pairAt(i + 1)
		if get32(w.base, at+layout.PairState) != layout.RecordPublished {
			continue
		}
		w.mu.Lock()
		t := w.trans[get32(w.base, at+layout.PairTran)]
		w.mu.Unlock()
		if t == nil || t.next.Load() == nil {
			continue
		}
		head := func(off uint64) uint16 { return *(*uint16)(unsafe.Add(w.base, at+off)) }
		parent := layout.Correlator{
			Vendor: head(layout.PairVendor), Version: head(layout.PairVersion), Instance: head(layout.PairInstance),
			AddrFormat: head(layout.PairAddrFormat), Class: get32(w.base, at+layout.PairClass),
			Address: bytesAt(w.base, at+layout.PairAddress, uint64(head(layout.PairAddrLen))),
		}
		number := to.pair(t.next.Load().ID, &parent)
		if number == 0 {
			continue
		}
		for _, off := range []uint64{layout.PairSum, layout.PairCount, layout.PairAborted, layout.PairFailed} {
			shift(to.base, to.pairAt(number)+off, w.base, at+off)
		}
	}
}
