package collect

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// TestCounts: the counts of processes and blocks add up, running executions are seen, and a
// second look adds only what is new.
func TestCounts(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	q := readertest.NewProc(t, w.dir, n, 101)
	w.start()
	w.look()
	if s := w.c.Snapshot(); len(s.Trans) != 2 || len(s.Apps) != 1 || s.Health.Processes != 2 || s.Health.NameFiles != 1 {
		t.Fatalf("%d rows, %d applications, health %+v", len(s.Trans), len(s.Apps), s.Health)
	}
	for i := range uint64(100) {
		p.Good(int(i%3), 1, (i+1)*1000, w.mono+int64(i)*1e6)
	}
	q.Good(0, 1, 5, w.mono)
	q.Bad(0, 1, false, 70)
	q.Bad(0, 1, true, 80)
	q.Bad(0, 2, true, 90)
	p.Run(3, 1, layout.SlotActive, w.mono-5*sec)
	p.Run(4, 1, layout.SlotActive, w.mono-9*sec)
	p.Run(5, 1, layout.SlotClaimed, w.mono-20*sec)
	p.Run(70, 1, layout.SlotStopping, w.mono-20*sec)
	q.Run(0, 2, layout.SlotActive, w.mono-1*sec)
	for range 3 {
		w.look()
	}
	d := w.tran("Bank/Deposit")
	want := Row{Tran{Name: "Bank/Deposit", Key: "Deposit", Descr: "the transaction Deposit"},
		Numbers{Count: 101, Aborted: 1, Failed: 1, GoodNS: 5050*1000 + 5, AbortedNS: 70, FailedNS: 80,
			Seen: true, Last: 100000, Min: 5, Max: 100000, AvgNS: d.AvgNS, Active: 2, Oldest: w.mono - 12*sec}}
	if *d != want {
		t.Errorf("%+v\nwant %+v", *d, want)
	}
	if age, ok := w.c.Snapshot().Age(0); age != 12*sec || !ok {
		t.Errorf("age %d, %v", age, ok)
	}
	if wd := w.tran("Bank/Withdraw"); wd.Failed != 1 || wd.Active != 1 || wd.Count != 0 || wd.Seen {
		t.Errorf("%+v", wd)
	}
	p.Run(3, 1, layout.SlotFree, 0)
	p.Run(4, 1, layout.SlotFree, 0)
	w.look()
	if d := w.tran("Bank/Deposit"); d.Active != 0 || d.Oldest != 0 {
		t.Errorf("still running: %+v", d)
	}
}

// TestUnchangedRows: a row keeps its place, and what has not changed is not copied: the row,
// if only its numbers change, and the numbers of other blocks.
func TestUnchangedRows(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	for i := range BlockLen {
		n.Tran(1, fmt.Sprint("T", i))
	}
	p := readertest.NewProc(t, w.dir, n, 100)
	w.start()
	w.look()
	one := w.c.Snapshot()
	p.Good(0, 2, 10, w.mono)
	n.Tran(1, "Third")
	w.look()
	two := w.c.Snapshot()
	if !slices.Equal(two.Trans[:BlockLen+2], one.Trans) || two.Trans[BlockLen+2].Name != "Bank/Third" || two.Row(1).Count != 1 ||
		two.Blocks[0].Seq != two.Seq || two.Seq != one.Seq+1 || two.Rows != one.Rows+1 {
		t.Errorf("%+v\n%+v", one, two)
	}
	if one.Row(1).Count != 0 || len(one.Trans) != BlockLen+2 {
		t.Error("a snapshot has changed")
	}
	w.look()
	three := w.c.Snapshot()
	if three.Seq != two.Seq || three.Rows != two.Rows || &three.Trans[0] != &two.Trans[0] || &three.Blocks[0] != &two.Blocks[0] {
		t.Errorf("%+v\n%+v", two, three)
	}
	p.Good(0, BlockLen+3, 10, w.mono)
	w.look()
	if four := w.c.Snapshot(); four.Blocks[0] != three.Blocks[0] || four.Blocks[1] == three.Blocks[1] ||
		four.Blocks[1].Seq != four.Seq || four.Row(BlockLen+2).Count != 1 {
		t.Errorf("%+v\n%+v", three, four)
	}
}

// TestUses: an application tells how many use it.
func TestUses(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	q := readertest.NewProc(t, w.dir, n, 101)
	w.start()
	w.look()
	check := func(active bool, users, processes int) {
		t.Helper()
		w.look()
		if a := w.c.Snapshot().Apps[0]; a.Active != active || a.Users != users || a.Processes != processes || a.Trans != 2 {
			t.Errorf("%+v", a)
		}
	}
	check(false, 0, 0)
	p.Use(1, 2)
	q.Use(1, 1)
	check(true, 1, 2)
	p.Use(1, -2)
	check(true, 1, 1)
	q.Use(1, 3)
	q.Die()
	check(false, 0, 0)
	if use := n.Get64(readertest.AppOff(1) + layout.AppUse); use != 1<<32|4 {
		t.Errorf("use %#x: the agent changed it", use)
	}
	p.Use(1, 1)
	check(true, 1, 1)
	p.Use(1, -1)
	check(false, 0, 0)
}

// TestDeath: what a process had counted stays when it dies, and what was running in it counts
// as abandoned. A new collector knows both.
func TestDeath(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	w.start()
	p.Good(0, 1, 1000, w.mono)
	w.look()
	p.Good(1, 1, 3000, w.mono)
	p.Good(0, 2, 100, w.mono)
	p.Bad(0, 2, true, 50)
	p.Run(0, 2, layout.SlotActive, w.mono)
	p.Run(1, 2, layout.SlotStopping, w.mono)
	p.Use(1, 1)
	w.alive[100] = true
	p.Die()
	w.look()
	if h := w.c.Snapshot().Health; h.Processes != 1 {
		t.Errorf("taken for dead: %+v", h)
	}
	w.alive[100] = false
	check := func() {
		t.Helper()
		for range 2 {
			w.look()
			d, wd := w.tran("Bank/Deposit"), w.tran("Bank/Withdraw")
			if d.Count != 2 || d.GoodNS != 4000 || d.Min != 1000 || d.Max != 3000 || d.Last != 3000 || d.Abandoned != 0 ||
				wd.Count != 1 || wd.Failed != 1 || wd.FailedNS != 50 || wd.Abandoned != 1 || wd.Active != 0 {
				t.Errorf("%+v\n%+v", d, wd)
			}
			if h := w.c.Snapshot().Health; h.Processes != 0 || h.Files != 0 || h.Errors != 0 {
				t.Errorf("%+v", h)
			}
		}
	}
	check()
	avg := w.tran("Bank/Deposit").AvgNS
	w.start()
	check()
	if got := w.tran("Bank/Deposit").AvgNS; got != avg {
		t.Errorf("average %v, was %v", got, avg)
	}
	q := readertest.NewProc(t, w.dir, n, 102)
	q.Good(0, 1, 500, w.mono)
	w.look()
	if d := w.tran("Bank/Deposit"); d.Count != 3 || d.Min != 500 || d.Last != 500 {
		t.Errorf("%+v", d)
	}
}

// TestRun runs the collector's own goroutine, with real clocks.
func TestRun(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	c, err := New(Config{Interval: 100 * time.Millisecond}, Options{Dir: w.dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	waitFor(t, func() bool { return len(c.Snapshot().Trans) == 2 })
	p := readertest.NewProc(t, w.dir, n, 1)
	p.Good(0, 1, 5, 1)
	waitFor(t, func() bool { return c.Snapshot().Row(0).Count == 1 })
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestTwoCollectors: while one collector keeps the record of the past, another has no rows.
// When the first has ended, the other has all that the first had taken over.
func TestTwoCollectors(t *testing.T) {
	w := newWorld(t)
	names := w.names(7)
	count := func(pid uint32, n int) { // a process that has ended since
		p := readertest.NewProc(t, w.dir, names, pid)
		for i := range n {
			p.Good(0, 1, 1000, w.mono+int64(i))
		}
		p.Die()
	}
	start := func() (*Collector, func()) {
		t.Helper()
		conf := DefaultConfig()
		conf.Interval = 100 * time.Millisecond
		c, err := New(conf, Options{Dir: w.dir})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		return c, func() {
			t.Helper()
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	first, end := start()
	second, endSecond := start()
	third, endThird := start() // ends while it waits
	count(1<<30, 5)
	waitFor(t, func() bool { return first.Snapshot().Health.Folds == 1 })
	endThird()
	for _, c := range []*Collector{second, third} {
		if s := c.Snapshot(); s.Health.Cycles != 0 || len(s.Trans) != 0 {
			t.Errorf("%+v of a collector that waits", s.Health)
		}
	}
	end()
	waitFor(t, func() bool { return second.Snapshot().Health.Cycles > 0 })
	count(1<<30+1, 7)
	waitFor(t, func() bool { return second.Snapshot().Health.Folds == 1 })
	if n := second.Snapshot().Row(0).Count; n != 12 {
		t.Errorf("%d are counted, 12 were done", n)
	}
	endSecond()
}
