//go:build linux

package reader_test

import (
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// TestLimitOfCells: cells beyond the limit are left out, and Over says so.
func TestLimitOfCells(t *testing.T) {
	dir := t.TempDir()
	p := readertest.NewProc(t, dir, readertest.NewNames(t, dir, me(), 7), 1)
	for i := range uint32(100) {
		p.Good(0, i+1, 10, 1)
	}
	r, err := reader.OpenProc(p.Path, me(), reader.Limits{Bytes: anyBytes, Cells: 4 + 16 + 50})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	seen := 0
	for range 2 {
		if err := r.Changed(true, 1, func(*reader.CellDelta) { seen++ }); err != nil {
			t.Fatal(err)
		}
	}
	if seen != 100 || !r.Over() {
		t.Errorf("%d cells, over: %v", seen/2, r.Over())
	}
}

// TestGrow: a reader finds what lies beyond its mapping after the file has grown.
func TestGrow(t *testing.T) {
	dir := t.TempDir()
	p := readertest.NewProc(t, dir, readertest.NewNames(t, dir, me(), 7), 1)
	r := openProc(t, p)
	var sum uint64
	for i := range uint32(500) {
		p.Good(0, i+1, 10, 1)
		if err := r.Changed(false, 1, func(d *reader.CellDelta) { sum += d.Count }); err != nil {
			t.Fatal(err)
		}
		if sum != uint64(i)+1 {
			t.Fatalf("%d of %d", sum, i+1)
		}
	}
}

// TestOpsKept: a block that keeps its ops is not read while ops stays the same. It is
// read twice after a change.
func TestOpsKept(t *testing.T) {
	dir := t.TempDir()
	p := readertest.NewProc(t, dir, readertest.NewNames(t, dir, me(), 7), 1)
	p.Good(0, 1, 10, 1)
	b := p.Block(0)
	p.Put32(b+layout.BlockFlags, layout.BlockOpsKept)
	p.Put64(b+layout.BlockOps, 1)
	r := openProc(t, p)
	look := func(full bool) (n int) {
		if err := r.Changed(full, 1, func(*reader.CellDelta) { n++ }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := look(false); n != 1 {
		t.Errorf("%d cells", n)
	}
	p.Good(0, 1, 10, 1) // its change of ops was seen before
	if n := look(false); n != 1 {
		t.Errorf("%d cells", n)
	}
	p.Good(0, 1, 10, 1) // against the rules: ops does not change
	if n := look(false); n != 0 {
		t.Errorf("%d cells", n)
	}
	if n := look(true); n != 1 {
		t.Errorf("at the end: %d cells", n)
	}
	p.Good(0, 1, 10, 1)
	p.Add64(b+layout.BlockOps, 1)
	if n := look(false); n != 1 {
		t.Errorf("%d cells", n)
	}
}

// TestRing: the latest times come in order, and stale words are left out.
func TestRing(t *testing.T) {
	dir := t.TempDir()
	p := readertest.NewProc(t, dir, readertest.NewNames(t, dir, me(), 7), 1)
	r := openProc(t, p)
	now := int64(5e15)
	look := func() (got []layout.Ended) {
		if err := r.Changed(false, now, func(d *reader.CellDelta) { got = append(got, d.Ended...) }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	times := []uint64{1, 1 << 33, 1<<34 - 1, 1<<34 + 2, 1<<50 + 1<<20}
	for i, ns := range times {
		p.Good(0, 1, ns, now-int64(len(times)-i)*1e9)
	}
	for i, e := range look() {
		if e.NS != times[i] {
			t.Errorf("%d, want %d", e.NS, times[i])
		}
		if at := now - int64(len(times)-i)*1e9; e.At > at || at-e.At > 1<<20 {
			t.Errorf("%d, want %d", e.At, at)
		}
	}
	for i := range uint64(40) {
		p.Good(0, 1, 100+i, now)
	}
	got := look()
	if len(got) != 16 || got[0].NS != 124 || got[15].NS != 139 {
		t.Errorf("%v", got)
	}
	c := p.Cell(0, 1)
	p.Good(0, 1, 1, now)
	p.Put64(c+layout.CellN, p.Get64(c+layout.CellN)+3) // three more, whose words are not there yet
	p.Add64(c+layout.CellHist, 3)
	if got := look(); len(got) != 1 || got[0].NS != 1 {
		t.Errorf("%v", got)
	}
}
