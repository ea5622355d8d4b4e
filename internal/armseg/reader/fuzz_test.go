//go:build linux

package reader_test

import (
	"encoding/binary"
	"os"
	"runtime"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// maxAlloc is what reading a damaged segment of less than a megabyte may allocate.
const maxAlloc = 64 << 20

// spots are the places in a good segment that mutations aim at.
func spots(p *readertest.Proc) (list []uint64) {
	for off := range uint64(layout.ProcLen / 8) {
		list = append(list, off*8)
	}
	c := p.Cell(0, 1)
	for _, off := range []uint64{c, c + layout.CellN, c + layout.CellSum, c + layout.CellMetricsOff, c + layout.CellRing,
		c + layout.CellHist, p.Block(0) + layout.BlockDir, p.Block(0) + layout.BlockOps, p.Slot(0), readertest.BlocksOff,
		readertest.ChunksOff, readertest.InitsOff, p.Get64(layout.ProcPairsOff), p.Get64(layout.ProcTraceOff),
		p.Metric(0, 1, 0, layout.TypeGauge64)} {
		for i := range uint64(16) {
			list = append(list, off+8*i)
		}
	}
	return list
}

// mutate changes words. Each change takes two bytes for the place, one for the kind of
// change and eight for the value.
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
	p.Run(0, 1, layout.SlotActive, 5)
	p.Metric(0, 1, 6, layout.TypeString32)
	p.Put64(p.Metric(0, 1, 0, layout.TypeGauge64)+layout.MetricCount, 1)
	p.Put64(p.Pair(3, reader.PairKey{Tran: 1, Address: "1234"})+layout.PairCount, 1)
	for range 130 {
		p.Event(layout.EventKindStop, 1, 2, 3)
	}
	p.Use(1, 1)
	return p
}

// FuzzReader changes words of a process's segment and reads it, does both once more, and
// reads a last time after it has cut the file off.
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
		r, err := reader.OpenProc(p.Path, me(), reader.Limits{Bytes: 1 << 30, Cells: 1 << 16})
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

// readAll goes on after errors, which other callers must not do.
func readAll(r *reader.Proc, full bool) {
	_ = r.Changed(full, 1e12, func(*reader.CellDelta) {})
	_ = r.Running(func(uint32, int64) {})
	_ = r.Pairs(func(int, *reader.PairKey, reader.PairTotals) {})
	_, _ = r.Events(func(*reader.Event) {})
	_, _ = r.Counters()
	_, _ = r.Alive()
	_ = r.Uses(1<<30, func(uint32, int32) {})
	r.Totals(func(uint32, *reader.Totals, *[layout.Metrics + 1]reader.MetricTotals) {})
	r.PairTotals(func(int, reader.PairTotals) {})
}

// FuzzNames reads files of names in which words were changed.
func FuzzNames(f *testing.F) {
	n := readertest.NewNames(f, f.TempDir(), me(), 7)
	a := n.App("A")
	n.Describe(n.Tran(a, "T"), 0, layout.TypeCounter32, "m")
	const used = readertest.TransOff + 2*layout.TranLen
	good := append([]byte(nil), n.B[:used]...)
	var where []uint64
	for _, area := range [][2]uint64{{0, layout.NamesLen}, {readertest.AppsOff, layout.AppLen}, {readertest.TransOff, layout.TranLen}} {
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
		r, err := reader.OpenNames(n.Path, me())
		if err != nil {
			return
		}
		defer r.Close()
		readNames(r)
		mutate(n.B[:used], where, second)
		readNames(r)
	})
}

func readNames(r *reader.Names) {
	_ = r.Update(func(uint32, *reader.App) {}, func(uint32, *reader.Tran) {})
	for _, id := range []uint32{0, 1, 2, 1 << 31} {
		_, _ = r.Use(id)
		_, _, _ = r.Descs(id)
	}
}
