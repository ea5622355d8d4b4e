//go:build linux

package writer

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// TestCount: cells hold what was counted, for times of all lengths.
func TestCount(t *testing.T) {
	w := attachTo(t, t.TempDir())
	tran := active(t, w, "a", "t")
	c := tran.newCell(w.blocks[0])
	var want reader.Totals
	want.Min = 1<<64 - 1
	hist := map[uint8]uint64{}
	for i := range 5000 {
		d := rand.Uint64() >> rand.IntN(64)
		d >>= 20 // so that the sum fits into its word
		switch i % 7 {
		case 5:
			c.count(d, 0, Aborted)
			want.Aborted, want.AbortedNS = want.Aborted+1, want.AbortedNS+d
		case 6:
			c.count(d, 0, Failed)
			want.Failed, want.FailedNS = want.Failed+1, want.FailedNS+d
		default:
			c.count(d, uint64(monotonic()), Good)
			hist[layout.Bucket(d)]++
			want.Count, want.GoodNS = want.Count+1, want.GoodNS+d
			want.Min, want.Max = min(want.Min, d), max(want.Max, d)
		}
	}
	calls := 0
	err := procReader(t, w).Changed(true, monotonic(), func(d *reader.CellDelta) {
		calls++
		if d.Tran != tran.ID || d.Totals != want || len(d.Hist) != len(hist) || len(d.Ended) != layout.RingLen {
			t.Errorf("%+v, want %+v", d, want)
		}
		for _, h := range d.Hist {
			if hist[h.Bucket] != h.N {
				t.Errorf("bucket %d: %d, want %d", h.Bucket, h.N, hist[h.Bucket])
			}
		}
	})
	if err != nil || calls != 1 {
		t.Error(calls, err)
	}
}

func TestBucket(t *testing.T) {
	for d, want := range map[uint64]uint8{
		0: 0, 63: 0, 64: 1, 511: 7, 512: 8, 575: 8, 576: 9, 1023: 15, 1024: 16, 1<<40 - 1: 255, 1 << 40: 255, 1<<64 - 1: 255,
	} {
		if got := layout.Bucket(d); got != want {
			t.Errorf("%d ns: bucket %d, want %d", d, got, want)
		}
		if lo, hi := layout.BucketBounds(layout.Bucket(d)); want < 255 && (d < lo || d > hi) {
			t.Errorf("%d ns: bucket from %d to %d", d, lo, hi)
		}
	}
}

// TestClock: a running execution shows its start on CLOCK_MONOTONIC, which is the agent's
// clock, too.
func TestClock(t *testing.T) {
	w := attachTo(t, t.TempDir())
	tran := active(t, w, "a", "t")
	before := monotonic()
	r := tran.Start()
	after := monotonic()
	n := 0
	err := procReader(t, w).Running(func(id uint32, start int64) {
		n++
		// Reading both clocks takes time, and they are related only to within that
		// time.
		if slack := int64(time.Millisecond); id != tran.ID || start < before-slack || start > after+slack {
			t.Errorf("transaction %d began at %d, not between %d and %d", id, start, before, after)
		}
	})
	if n != 1 || err != nil {
		t.Error(n, err)
	}
	if !r.Stop(Good, nil) {
		t.Error("not stopped")
	}
}

// TestStale: a second Stop of an execution does nothing, even if another execution has its
// slot. After 16,383 executions the slot has the same generation again.
func TestStale(t *testing.T) {
	w := attachTo(t, t.TempDir())
	w.blocks = w.blocks[:1]
	tran := active(t, w, "a", "t")
	first := tran.Start()
	first.Stop(Good, nil)
	for i := range genMax + 2 {
		r := tran.Start()
		if first.Stop(Good, nil) || first.Update(nil, "") {
			t.Fatalf("stopped or updated the %d. execution after it", i)
		}
		if r.slot != first.slot || !r.Stop(Good, nil) {
			t.Fatal("the slot is not used again, or not stopped")
		}
	}
	c, err := procReader(t, w).Counters()
	if err != nil || c.BadHandles != 2*(genMax+2) {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestAllSlots: 131,072 executions can run at once. One more cannot start until one has
// stopped.
func TestAllSlots(t *testing.T) {
	w := attachTo(t, t.TempDir())
	tran := active(t, w, "a", "t")
	all := make([]Running, 0, layout.ChunkMax*layout.SlotsPerChunk)
	for range cap(all) {
		r := tran.Start()
		if r.c == nil {
			t.Fatalf("the %d. does not start", len(all)+1)
		}
		all = append(all, r)
	}
	handles := map[uint32]bool{}
	for i := range all {
		handles[all[i].handle()] = true
	}
	if len(handles) != len(all) {
		t.Errorf("%d handles", len(handles))
	}
	for range 3 {
		if r := tran.Start(); r.c != nil {
			t.Fatal("one more starts")
		}
	}
	for range 100 {
		i := rand.IntN(len(all))
		if !all[i].Stop(Good, nil) {
			t.Fatal("not stopped")
		}
		if all[i] = tran.Start(); all[i].c == nil {
			t.Fatal("does not start in the place of one that has stopped")
		}
	}
	for i := range all {
		all[i].Stop(Good, nil)
	}
	var count uint64
	if err := procReader(t, w).Changed(true, 0, func(d *reader.CellDelta) { count += d.Count }); err != nil || count != uint64(len(all)+100) {
		t.Error(count, err)
	}
}

// TestOverlapping: no count is lost when goroutines stop what other goroutines have
// started.
func TestOverlapping(t *testing.T) {
	w := attachTo(t, t.TempDir())
	trans := []*Tran{active(t, w, "a", "t"), active(t, w, "a", "u"), active(t, w, "b", "t")}
	const goroutines, each = 8, 20000
	running := make(chan Running, 500)
	var starters, stoppers sync.WaitGroup
	for g := range goroutines {
		starters.Go(func() {
			for i := range each {
				r := trans[(i+g)%len(trans)].Start()
				if i%2 == 0 {
					r.Stop(Good, nil)
				} else {
					running <- r
				}
			}
		})
		stoppers.Go(func() {
			for r := range running {
				r.Stop(Failed, nil)
			}
		})
	}
	starters.Wait()
	close(running)
	stoppers.Wait()
	var good, failed uint64
	p := procReader(t, w)
	err := p.Changed(true, 0, func(d *reader.CellDelta) { good, failed = good+d.Count, failed+d.Failed })
	if good != goroutines*each/2 || failed != good || err != nil {
		t.Error(good, failed, err)
	}
	if err := p.Running(func(uint32, int64) { t.Error("something still runs") }); err != nil {
		t.Error(err)
	}
}
