package collect

import (
	"log"
	"os"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// world is a directory of segments, a clock, and a collector that can be started anew.
type world struct {
	t      testing.TB
	dir    string
	uid    uint32
	conf   Config
	mono   int64
	wall   time.Time
	alive  map[uint32]bool // pids of this namespace
	kill   string          // the step that ends the collector
	hook   func(step string)
	steps  map[string]int
	c      *Collector
	events []*Event
	missed uint64
}

const sec = int64(time.Second)

func newWorld(t testing.TB) *world {
	w := &world{t: t, dir: t.TempDir(), uid: uint32(os.Geteuid()), conf: DefaultConfig(), mono: 1000 * sec,
		wall: time.Now(), alive: make(map[uint32]bool), steps: make(map[string]int)}
	t.Cleanup(func() {
		if w.c != nil {
			w.c.close()
		}
	})
	return w
}

type killed string

func (w *world) host() host {
	return host{
		now:   func() (int64, time.Time) { return w.mono, w.wall },
		alive: func(p *reader.ProcInfo) bool { return w.alive[p.PID] },
		step: func(name string) {
			w.steps[name]++
			if w.hook != nil {
				w.hook(name)
			}
			if name == w.kill {
				panic(killed(name))
			}
		},
	}
}

// start starts a collector in place of the last one. It reports whether it was killed.
func (w *world) start() (dead bool) {
	w.t.Helper()
	if w.c != nil {
		w.c.close()
		w.c = nil
	}
	defer w.caught(&dead)
	c, err := newCollector(w.conf, Options{Dir: w.dir, Log: log.New(testLog{w.t}, "", 0),
		OnEvent: func(e *Event) { w.events = append(w.events, e) }, OnMissed: func(n uint64) { w.missed += n }}, w.host())
	if err != nil {
		w.t.Fatal(err)
	}
	w.c = c
	return false
}

func (w *world) caught(dead *bool) {
	if bad := recover(); bad != nil {
		if _, ok := bad.(killed); !ok {
			panic(bad)
		}
		*dead = true
	}
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Logf("%s", b)
	return len(b), nil
}

// look lets an interval pass and makes the collector look. It reports whether the
// collector was killed.
func (w *world) look() (dead bool) {
	w.t.Helper()
	w.pass(time.Second)
	defer w.caught(&dead)
	w.c.dir.changed = true // as inotify would report in time
	w.c.look()
	return false
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.mono += int64(d)
	w.wall = w.wall.Add(d)
}

// tran returns the row of a transaction.
func (w *world) tran(name string) *Row {
	w.t.Helper()
	for _, t := range allRows(w.c.Snapshot()) {
		if t.Name == name {
			return &t
		}
	}
	w.t.Fatalf("no row %s", name)
	return nil
}

// allRows returns the transactions of a snapshot.
func allRows(s *Snapshot) (list []Row) {
	for i := range s.Trans {
		list = append(list, s.Row(i))
	}
	return list
}

// names publishes a user's file of names with an application and two transactions.
func (w *world) names(nonce uint64) *readertest.Names {
	n := readertest.NewNames(w.t, w.dir, w.uid, nonce)
	a := n.App("Bank")
	n.Tran(a, "Deposit")
	n.Tran(a, "Withdraw")
	return n
}

// waitFor waits until f returns true.
func waitFor(t testing.TB, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}
