package collect

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// TestTwoCollectors: while one collector keeps the record of the past another has no rows.
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
	third, endThird := start() // which ends while it waits
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

// TestFailuresInTheLog: errors that come with each look are told once a minute.
func TestFailuresInTheLog(t *testing.T) {
	w := newWorld(t)
	w.start()
	var b strings.Builder
	w.c.opts.Log = log.New(&b, "", 0)
	for range 30 { // seconds
		w.pass(time.Second)
		w.c.mono = w.mono
		w.c.fail(errors.New("one"))
		w.c.fail(errors.New("another"))
	}
	if b.String() != "one\nanother\n" {
		t.Errorf("the log has %q", b.String())
	}
	w.c.mono += int64(time.Minute)
	w.c.fail(errors.New("one"))
	if b.String() != "one\nanother\n29 lines of this kind were left out\none\n" || w.c.health.Errors != 61 || w.c.health.LastError != "one" {
		t.Errorf("%+v; the log has %q", w.c.health, b.String())
	}
}

// TestRefusalsInTheLog: a user who makes files that are refused leaves others their lines.
func TestRefusalsInTheLog(t *testing.T) {
	w := newWorld(t)
	w.start()
	var b strings.Builder
	w.c.opts.Log = log.New(&b, "", 0)
	for i := range 1000 {
		w.c.refuse(fmt.Sprint("nobody's ", i), 65534, errors.New("bad"))
	}
	w.c.refuse("root's", 0, errors.New("bad"))
	if n := strings.Count(b.String(), "refused: nobody's"); n != 10 {
		t.Errorf("%d lines of one user, want 10", n)
	}
	if !strings.Contains(b.String(), "refused: root's: bad\n") || w.c.health.RefusedEver != 1001 {
		t.Errorf("%+v; the log has %q", w.c.health, b.String())
	}
}
