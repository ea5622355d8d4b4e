package collect

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// files returns the names in the directory that end with suffix.
func (w *world) files(suffix string) []string { return w.glob("*" + suffix) }

func (w *world) glob(pattern string) []string {
	w.t.Helper()
	list, err := filepath.Glob(filepath.Join(w.dir, pattern))
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// TestKilledAtEachStep ends the collector at each step of taking processes over, and again when the
// next one tries. Nothing is lost or counted twice, whatever the step.
func TestKilledAtEachStep(t *testing.T) {
	steps := []string{"rows: recorded", "fold: recorded", "fold: removed",
		"past: written beside", "past: written anew"}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			n := w.names(7)
			w.start()
			for pid := range uint32(4) {
				p := readertest.NewProc(t, w.dir, n, 100+pid)
				p.Good(0, 1, 1000, w.mono)
				p.Use(1, 1)
				p.Run(0, 1, layout.SlotActive, w.mono)
				if pid > 0 {
					p.Bad(0, 2, true, 10)
					p.Die()
				}
			}
			w.kill = step
			kills := 0
			for range 8 {
				if w.start() || w.look() {
					kills++
				}
			}
			w.kill = ""
			if w.steps[step] == 0 || kills == 0 {
				t.Fatalf("the step was not taken: %v", w.steps)
			}
			for range 3 {
				w.start()
				for range 4 {
					w.look()
				}
				d, wd := w.tran("Bank/Deposit"), w.tran("Bank/Withdraw")
				if d.Count != 4 || d.GoodNS != 4000 || d.Abandoned != 3 || d.Active != 1 || wd.Failed != 3 || wd.FailedNS != 30 {
					t.Errorf("%+v\n%+v", d, wd)
				}
			}
			if left := w.files(layout.ProcSuffix); len(left) != 1 {
				t.Errorf("left: %v", left)
			}
			// The agent changes no file of a program: what the ended processes used stays.
			if use := uint32(n.Get64(readertest.AppOff(1) + layout.AppUse)); use != 4 {
				t.Errorf("use %d", use)
			}
			if a := w.c.Snapshot().Apps[0]; !a.Active || a.Processes != 1 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestTornWrite cuts off the entry of a process at many lengths, as a kill in the middle of the
// write might. The process's file still exists then.
func TestTornWrite(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	first := readertest.NewProc(t, w.dir, n, 99)
	first.Good(0, 1, 50, w.mono)
	first.Die()
	w.look()
	log := filepath.Join(w.dir, layout.PastDir, fmt.Sprint(w.uid)+".past")
	before, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	p := readertest.NewProc(t, w.dir, n, 100)
	p.Good(0, 1, 1000, w.mono)
	p.Die()
	w.kill = "fold: recorded"
	if !w.look() {
		t.Fatal("not killed")
	}
	w.kill = ""
	after, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	// The file's contents are kept, so that the file can be put back after it was removed.
	kept, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(before); size < len(after); size += 1 + (size-len(before))/8 {
		if err := os.WriteFile(log, after[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(p.Path); err != nil {
			if err := os.WriteFile(p.Path, kept, 0o660); err != nil {
				t.Fatal(err)
			}
		}
		w.start()
		w.look()
		if d := w.tran("Bank/Deposit"); d.Count != 2 || d.GoodNS != 1050 {
			t.Fatalf("cut to %d of %d bytes: %+v", size, len(after), d)
		}
		if damaged := w.c.Snapshot().Health.Damaged; damaged != 0 {
			t.Fatalf("cut to %d of %d bytes: %d damaged", size, len(after), damaged)
		}
	}
}

// TestRandomLife lets processes count, end and come, and kills the collector at random steps. It
// compares each look with what was counted.
func TestRandomLife(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomLife(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func randomLife(t *testing.T, r *rand.Rand) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	steps := []string{"", "", "", "rows: recorded", "fold: recorded", "fold: removed",
		"past: written beside", "past: written anew"}
	var procs []*readertest.Proc
	var count, ns, failed, abandoned, seen uint64
	pid := uint32(100)
	for range 60 {
		w.kill = ""
		switch k := r.IntN(10); {
		case k < 3 || len(procs) == 0:
			pid++
			procs = append(procs, readertest.NewProc(t, w.dir, n, pid))
			procs[len(procs)-1].Use(1, 1)
		case k < 5:
			i := r.IntN(len(procs))
			procs[i].Run(0, 1, layout.SlotActive, w.mono)
			abandoned++
			procs[i].Die()
			procs = append(procs[:i], procs[i+1:]...)
			w.kill = steps[r.IntN(len(steps))]
		case k < 6:
			w.start()
		}
		for _, p := range procs {
			for range r.IntN(40) {
				d := r.Uint64N(1 << 30)
				p.Good(r.IntN(3), 1, d, w.mono+r.Int64N(sec))
				count, ns = count+1, ns+d
			}
			if r.IntN(3) == 0 {
				p.Bad(r.IntN(3), 1, true, 1)
				failed++
			}
		}
		for w.c == nil || w.look() {
			w.start()
			w.kill = ""
		}
		d := w.tran("Bank/Deposit")
		if d.Count != count || d.GoodNS != ns || d.Failed != failed || d.Abandoned != abandoned || d.Count < seen {
			t.Fatalf("%+v, want %d in %d, %d failed, %d abandoned", d, count, ns, failed, abandoned)
		}
		seen = d.Count
	}
}
