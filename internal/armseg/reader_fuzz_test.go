//go:build linux

package armseg_test

import (
	"encoding/binary"
	"os"
	"runtime"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg"
	"github.com/pcp-rtime/rtime/internal/armseg/readertest"
)

// maxAlloc is what reading a damaged segment of less than a megabyte may allocate.
const maxAlloc = 64 << 20

// spots are the places in a good segment that mutations are aimed at.
func spots(p *readertest.Proc) (list []uint64) {
	for off := range uint64(armseg.ProcLen / 8) {
		list = append(list, off*8)
	}
	c := p.Cell(0, 1)
	for _, off := range []uint64{c, c + armseg.CellN, c + armseg.CellSum, c + armseg.CellMetricsOff, c + armseg.CellRing,
		c + armseg.CellHist, p.Block(0) + armseg.BlockDir, p.Block(0) + armseg.BlockOps, p.Slot(0), readertest.BlocksOff,
		readertest.ChunksOff, readertest.InitsOff, p.Get64(armseg.ProcPairsOff), p.Get64(armseg.ProcTraceOff),
		p.Metric(0, 1, 0, armseg.TypeGauge64)} {
		for i := range uint64(16) {
			list = append(list, off+8*i)
		}
	}
	return list
}

// mutate changes words: each change is two bytes for the place, one for the way, and
// eight of a value.
func mutate(b []byte, spots []uint64, data []byte) {
	for len(data) >= 11 {
		at, how, v := binary.LittleEndian.Uint16(data), data[2], binary.LittleEndian.Uint64(data[3:])
		data = data[11:]
		off := uint64(at) * 8
		if how&1 == 0 {
			off = spots[int(at)%len(spots)]
		}
		if off+8 > uint64(len(b)) {
			continue
		}
		switch how >> 1 & 3 {
		case 0:
			binary.NativeEndian.PutUint64(b[off:], v)
		case 1:
			binary.NativeEndian.PutUint32(b[off:], uint32(v))
		case 2:
			binary.NativeEndian.PutUint32(b[off+4:], uint32(v))
		case 3:
			binary.NativeEndian.PutUint64(b[off:], binary.NativeEndian.Uint64(b[off:])+v)
		}
	}
}

func goodProc(t testing.TB) *readertest.Proc {
	dir := t.TempDir()
	p := readertest.NewProc(t, dir, readertest.NewNames(t, dir, me(), 7), 1)
	for i := range uint32(20) {
		p.Good(int(i%3), 1+i*40, uint64(i)*1000, 1e9)
	}
	p.Bad(0, 1, true, 3)
	p.Run(0, 1, armseg.SlotActive, 5)
	p.Metric(0, 1, 6, armseg.TypeString32)
	p.Put64(p.Metric(0, 1, 0, armseg.TypeGauge64)+armseg.MetricCount, 1)
	p.Put64(p.Pair(3, armseg.PairKey{Tran: 1, Address: "1234"})+armseg.PairCount, 1)
	for range 130 {
		p.Event(armseg.EventKindStop, 1, 2, 3)
	}
	p.Use(1, 1)
	return p
}

// FuzzReader reads segments of processes in which words were changed, twice, with other
// changes between, and cut off at last.
func FuzzReader(f *testing.F) {
	p := goodProc(f)
	good := append([]byte(nil), p.B...)
	where := spots(p)
	f.Add([]byte{}, []byte{}, uint16(0))
	for i := range where {
		for _, v := range []uint64{0, 1, 1 << 31, 1<<32 - 1, 1<<64 - 1, 1<<63 + 64} {
			m := binary.LittleEndian.AppendUint64([]byte{byte(i), byte(i >> 8), byte(v % 7 << 1)}, v)
			if i%3 == 0 {
				f.Add(m, []byte{}, uint16(i))
			} else {
				f.Add([]byte{}, m, uint16(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte, cut uint16) {
		truncate(t, p, int64(len(good)))
		copy(p.B, good)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		mutate(p.B, where, first)
		r, err := armseg.OpenProc(p.Path, me(), armseg.ProcLimits{Bytes: 1 << 30, Cells: 1 << 16})
		if err != nil {
			return
		}
		defer r.Close()
		readAll(r, false)
		mutate(p.B, where, second)
		readAll(r, false)
		truncate(t, p, int64(cut))
		readAll(r, true)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > maxAlloc {
			t.Errorf("%d bytes allocated", n)
		}
	})
}

func truncate(t *testing.T, p *readertest.Proc, size int64) {
	if err := os.Truncate(p.Path, size); err != nil {
		t.Fatal(err)
	}
}

// readAll goes on after errors, as nobody should.
func readAll(r *armseg.ProcReader, full bool) {
	_ = r.Changed(full, 1e12, func(*armseg.CellDelta) {})
	_ = r.Running(func(uint32, int64) {})
	_ = r.Pairs(func(int, *armseg.PairKey, armseg.PairTotals) {})
	_, _ = r.Events(func(*armseg.EventInfo) {})
	_, _ = r.Counters()
	_, _, _ = r.Alive()
	_ = r.Uses(1<<30, func(uint32, int32) {})
	if full {
		_ = r.TakeUses(func(uint32, int32) {})
	}
	r.Totals(func(uint32, *armseg.Totals, *[armseg.Metrics + 1]armseg.MetricTotals) {})
	r.PairTotals(func(int, armseg.PairTotals) {})
}

// FuzzNames reads files of names in which words were changed.
func FuzzNames(f *testing.F) {
	n := readertest.NewNames(f, f.TempDir(), me(), 7)
	a := n.App("A")
	n.Describe(n.Tran(a, "T"), 0, armseg.TypeCounter32, "m")
	const used = readertest.TransOff + 2*armseg.TranLen
	good := append([]byte(nil), n.B[:used]...)
	var where []uint64
	for _, area := range [][2]uint64{{0, armseg.NamesLen}, {readertest.AppsOff, armseg.AppLen}, {readertest.TransOff, armseg.TranLen}} {
		for off := uint64(0); off < area[1]; off += 8 {
			where = append(where, area[0]+off)
		}
	}
	f.Add([]byte{}, []byte{})
	for i := range where {
		for _, v := range []uint64{0, 1 << 31, 1<<64 - 1} {
			f.Add(binary.LittleEndian.AppendUint64([]byte{byte(i), byte(i >> 8), byte(i)}, v), []byte{})
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		copy(n.B, good)
		mutate(n.B[:used], where, first)
		r, err := armseg.OpenNames(n.Path, me())
		if err != nil {
			return
		}
		defer r.Close()
		readNames(r)
		mutate(n.B[:used], where, second)
		readNames(r)
	})
}

func readNames(r *armseg.NamesReader) {
	_ = r.Update(func(uint32, *armseg.App) {}, func(uint32, *armseg.TranInfo) {})
	for _, id := range []uint32{0, 1, 2, 1 << 31} {
		_, _ = r.Use(id)
		_ = r.Release(id, 3)
		_ = r.SetTrace(id, true)
		_, _, _ = r.Descs(id)
		_ = r.Unuse(id, 5)
	}
	_, _ = r.State()
	_, _ = r.SetState(armseg.StateReady, armseg.StateReady)
}
