package agent

import (
	"slices"
	"testing"

	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// TestColumn: a column has the numbers of the snapshot. It computes only those of blocks that
// have changed since it was last asked for, however many snapshots came in between. A row may
// get a number, lose it, or come later than others.
func TestColumn(t *testing.T) {
	const far = 2 * collect.BlockLen
	var f fake
	c := new(column)
	asked := make(map[*collect.Block]bool)
	get := func(b *collect.Block, i int) (uint64, bool) {
		asked[b] = true
		return b.Last[i], b.Seen[i]
	}
	set := func(place int, n uint64) {
		f.find(func(s *collect.Snapshot) {
			put(s, place, collect.Row{Numbers: collect.Numbers{Last: n, Seen: n > 0}})
		})
	}
	check := func(blocks int, want map[int]uint64) {
		t.Helper()
		clear(asked)
		s := f.Snapshot()
		recompute(c, s, get)
		if len(asked) != blocks {
			t.Errorf("%d blocks were read, want %d", len(asked), blocks)
		}
		for i := range s.Trans {
			if n, ok := want[i]; c.has[i] != ok || ok && c.bits[i] != n {
				t.Errorf("row %d: %d, %v, want %d, %v", i, c.bits[i], c.has[i], n, ok)
			}
		}
		if c.none != len(s.Trans)-len(want) || len(c.has) != len(s.Trans) || len(c.bits) != len(s.Trans) {
			t.Errorf("%d of %d rows have none, want %d", c.none, len(c.has), len(s.Trans)-len(want))
		}
	}
	f.latest = &f.snap
	check(0, nil)
	for i := range far + 1 {
		set(i, 0)
	}
	check(3, nil)
	check(0, nil)
	set(far, 5)
	set(1, 7)
	set(far, 6)
	check(2, map[int]uint64{1: 7, far: 6})
	set(1, 0)
	set(far+1, 8)
	check(2, map[int]uint64{far: 6, far + 1: 8})
	f.find(func(*collect.Snapshot) {}) // something else has changed
	check(0, map[int]uint64{far: 6, far + 1: 8})
	all := make(map[int]uint64)
	for i := range far + 2 {
		set(i, uint64(i+1))
		all[i] = uint64(i + 1)
	}
	check(3, all)
}

// BenchmarkColumn brings eight metrics of 10,000 transactions up to date when all of them have
// changed.
func BenchmarkColumn(b *testing.B) {
	const rows, metrics = 10000, 8
	s := &collect.Snapshot{Trans: slices.Repeat([]*collect.Tran{{}}, rows)}
	for range (rows + collect.BlockLen - 1) / collect.BlockLen {
		s.Blocks = append(s.Blocks, new(collect.Block))
	}
	var cols [metrics]column
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s.Seq++
		for i := range s.Blocks {
			next := *s.Blocks[i]
			next.Seq = s.Seq
			s.Blocks[i] = &next
		}
		b.StartTimer()
		for i := range cols {
			recompute(&cols[i], s, func(b *collect.Block, i int) (uint64, bool) { return b.Count[i], true })
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*metrics), "ns/value")
}
