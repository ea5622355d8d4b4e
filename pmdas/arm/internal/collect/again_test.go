package collect

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// TestKilledTwice: the collector is killed when it has recorded a process and not yet
// removed its file, and again when it has written the record anew.
func TestKilledTwice(t *testing.T) {
	for _, step := range []string{"past: written beside", "past: written anew"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			n := w.names(7)
			for pid := range uint32(2) { // so that the record has two entries
				p := readertest.NewProc(t, w.dir, n, 100+pid)
				p.Use(1, 1)
				p.Good(0, 1, 1000, w.mono)
				w.kill = ""
				w.start()
				w.look()
				p.Die()
				w.kill = []string{"", "fold: recorded"}[pid]
				w.look()
			}
			w.kill = step
			if !w.start() && !w.look() {
				t.Fatal("not killed")
			}
			w.kill = ""
			for range 2 {
				w.start()
				w.look()
				if d := w.tran("Bank/Deposit"); d.Count != 2 || d.GoodNS != 2000 {
					t.Errorf("%+v", d)
				}
			}
			if left := w.files(layout.ProcSuffix); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// TestCapsAgain: restored rows count against the limits.
func TestCapsAgain(t *testing.T) {
	for name, limit := range map[string]func(*Config){
		"of an application": func(c *Config) { c.MaxPerApplication = 3 },
		"in all":            func(c *Config) { c.MaxTransactions = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			limit(&w.conf)
			n := w.names(7)
			p := readertest.NewProc(t, w.dir, n, 100)
			w.start()
			w.look()
			w.start()
			for i := range 4 {
				p.Good(0, n.Tran(1, fmt.Sprint("New", i)), 10, w.mono)
			}
			w.look()
			if s := w.c.Snapshot(); len(s.Trans) != 4 || w.tran("Bank/New0").Count != 1 || w.tran("Bank/other").Count != 3 {
				t.Errorf("%d rows, other %+v", len(s.Trans), w.tran("Bank/other"))
			}
		})
	}
}

// TestWindowAtStart: what living processes had counted before the collector came is in no
// window, because nobody knows when it ended.
func TestWindowAtStart(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	for range 1000 {
		p.Good(0, 1, 10, w.mono)
	}
	w.start()
	w.look()
	p.Good(0, 1, 10, w.mono)
	for range 6 {
		w.look()
	}
	if d := w.tran("Bank/Deposit"); d.Count != 1001 || d.Window.Count != 1 {
		t.Errorf("%+v", d)
	}
}

// TestPastOfSeveral: all that several processes have counted comes back from a record that
// was written anew.
func TestPastOfSeveral(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	k := reader.PairKey{Tran: 2, Vendor: 5, AddrFormat: 9, Class: 1, Address: "\x01\x02"}
	for i := range uint32(3) {
		p := readertest.NewProc(t, w.dir, n, 100+i)
		p.Good(0, 1, 1000*uint64(i+1), w.mono)
		p.Bad(0, 1, true, 5)
		p.Bad(0, 1, false, 7)
		c := p.Cell(0, 1)
		p.Put64(c+layout.CellUpdates, 2)
		p.Put64(c+layout.CellBadData, 3)
		off := p.Pair(0, k)
		for _, field := range []uint64{layout.PairCount, layout.PairSum, layout.PairAborted, layout.PairFailed} {
			p.Put64(off+field, field)
		}
		p.Run(0, 1, layout.SlotActive, w.mono)
		p.Die()
		w.look()
	}
	was, pair := *w.tran("Bank/Deposit"), *w.c.Snapshot().Pairs[0]
	if was.Failed != 3 || was.Aborted != 3 || was.Updates != 6 || was.BadData != 9 || was.Abandoned != 3 || was.Last != 3000 || was.Min != 1000 {
		t.Errorf("%+v", was)
	}
	for range 3 { // from three entries, and then from one
		w.start()
		w.look()
		now := *w.tran("Bank/Deposit")
		now.Window = was.Window // that begins anew
		if now != was {
			t.Errorf("%+v, was %+v", now, was)
		}
		if now := *w.c.Snapshot().Pairs[0]; now != pair {
			t.Errorf("%+v, was %+v", now, pair)
		}
	}
}

// TestTraceNamesAgain: what is asked for is still traced after a user's names were removed
// and came back.
func TestTraceNamesAgain(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.c.Trace("Bank/Withdraw", true)
	w.look()
	w.pass(w.conf.Timeout)
	w.look()
	if there(n.Path) {
		t.Fatal("the names are still there")
	}
	n = w.names(8)
	w.look()
	if got := w.traced(n); !slices.Equal(got, []uint32{2}) {
		t.Errorf("traced: %v", got)
	}
}

// TestOwnerRemovesRunning: what runs in a process whose file was removed is not abandoned,
// because the process lives.
func TestOwnerRemovesRunning(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	p.Run(0, 1, layout.SlotActive, w.mono)
	w.start()
	w.look()
	if err := os.Remove(p.Path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.look()
	}
	if d := w.tran("Bank/Deposit"); d.Active != 0 || d.Abandoned != 0 {
		t.Errorf("%+v", d)
	}
}

// TestGarbageInUse: a file that is no segment is removed after a long time, unless a
// process holds its lock.
func TestGarbageInUse(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	held, left := readertest.NewProc(t, w.dir, n, 100), readertest.NewProc(t, w.dir, n, 101)
	for _, p := range []*readertest.Proc{held, left} {
		p.Put64(0, 0) // its magic
	}
	left.Die()
	w.start()
	w.look()
	w.pass(oldGarbage + time.Hour)
	w.look()
	if !there(held.Path) || there(left.Path) {
		t.Errorf("there: held %v, left %v", there(held.Path), there(left.Path))
	}
}

// TestDirectoryRemoved: the collector does not make the directory, because it could not
// give it the rights that it must have. What is known stays.
func TestDirectoryRemoved(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	p.Good(0, 1, 10, w.mono)
	w.start()
	w.look()
	p.Die()
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.look()
	}
	if d := w.tran("Bank/Deposit"); d.Count != 1 || w.c.Snapshot().Health.Errors == 0 {
		t.Errorf("%+v, %+v", d, w.c.Snapshot().Health)
	}
	if there(w.dir) {
		t.Error("it is there again")
	}
}
