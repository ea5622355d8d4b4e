package collect

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// TestHostileNeighbour damages one process's file in every way while another process
// counts. The other's values stay exact, and what the first had contributed stays.
func TestHostileNeighbour(t *testing.T) {
	for what, damage := range map[string]func(*readertest.Proc){
		"cut off":           func(p *readertest.Proc) { p.Truncate(1) },
		"empty":             func(p *readertest.Proc) { p.Truncate(0) },
		"cut in the middle": func(p *readertest.Proc) { p.Truncate(16 << 10) },
		"count goes back":   func(p *readertest.Proc) { p.Put64(p.Cell(0, 1)+layout.CellN, 0) },
		"sum goes back":     func(p *readertest.Proc) { p.Put64(p.Cell(0, 1)+layout.CellSum, 1) },
		"hist goes back": func(p *readertest.Proc) {
			p.Put64(p.Cell(0, 1)+layout.CellHist, 0)
			p.Add64(p.Cell(0, 1)+layout.CellN, 1)
		},
		"aborted goes back":  func(p *readertest.Proc) { p.Put64(p.Cell(0, 1)+layout.CellAborted, 0) },
		"cell moves":         func(p *readertest.Proc) { p.Put32(uint64(p.Get32(p.Block(0)+layout.BlockDir))*64, 100) },
		"cell beyond":        func(p *readertest.Proc) { p.Put32(uint64(p.Get32(p.Block(0)+layout.BlockDir))*64+4, 1<<31) },
		"page in the header": func(p *readertest.Proc) { p.Put32(p.Block(0)+layout.BlockDir+4, 1) },
		"page beyond":        func(p *readertest.Proc) { p.Put32(p.Block(0)+layout.BlockDir+4, 1<<32-1) },
		"block beyond": func(p *readertest.Proc) {
			p.Put32(readertest.BlocksOff+4*1000, 1<<32-1)
			p.Put32(layout.ProcBlockNext, 1<<32-1)
		},
		"chunk beyond": func(p *readertest.Proc) {
			p.Put32(readertest.ChunksOff+4*1000, 1<<32-1)
			p.Put32(layout.ProcChunkNext, 1<<32-1)
		},
		"pairs beyond": func(p *readertest.Proc) {
			p.Put64(layout.ProcPairsOff, 1<<62)
			p.Put32(layout.ProcPairsLen, layout.PairsLen)
		},
		"pairs unaligned": func(p *readertest.Proc) {
			p.Put64(layout.ProcPairsOff, 1025)
			p.Put32(layout.ProcPairsLen, layout.PairsLen)
		},
		"events beyond": func(p *readertest.Proc) {
			p.Put64(layout.ProcTraceOff, 1<<64-64)
			p.Put32(layout.ProcTraceLen, layout.TraceLen)
			p.Put64(layout.ProcTraceNext, 1<<60)
		},
		"metrics beyond": func(p *readertest.Proc) {
			p.Put64(p.Cell(0, 1)+layout.CellMetricsOff, 1<<64-64)
			p.Add64(p.Cell(0, 1)+layout.CellUpdates, 1)
		},
		"header's counter goes back": func(p *readertest.Proc) { p.Put64(layout.ProcNoRoom, 0) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			n := w.names(7)
			bad := readertest.NewProc(t, w.dir, n, 100)
			good := readertest.NewProc(t, w.dir, n, 101)
			w.start()
			w.look()
			bad.Good(0, 1, 10, w.mono)
			bad.Bad(0, 1, false, 1)
			bad.Put64(layout.ProcNoRoom, 5)
			bad.Alloc(100 << 10)
			good.Good(0, 1, 1000, w.mono)
			w.look()
			damage(bad)
			for range 3 {
				good.Good(0, 1, 1000, w.mono)
				w.look()
			}
			w.start()
			for range 2 {
				w.look()
				s := w.c.Snapshot()
				if d := w.tran("Bank/Deposit"); d.Count != 5 || d.GoodNS != 4010 || d.Aborted != 1 {
					t.Errorf("%+v", d)
				}
				if s.Health.Processes != 1 || s.Health.Errors != 0 {
					t.Errorf("%+v", s.Health)
				}
			}
			if left := w.files(layout.ProcSuffix); len(left) != 1 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestNotFiles: what stands in the place of segments is not read and does no harm. What
// does not belong to its user is removed.
func TestNotFiles(t *testing.T) {
	w := newWorld(t)
	in := func(format string, args ...any) string { return filepath.Join(w.dir, fmt.Sprintf(format, args...)) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	proc := func(i int) string { return in("%d-%d-00000000000000%02x.arm", w.uid, i, i) }
	must(unix.Mkfifo(proc(1), 0o666))
	must(os.Mkdir(proc(2), 0o777))
	must(os.Symlink("/etc/passwd", proc(3)))
	must(os.WriteFile(proc(4), nil, 0o666))
	must(os.WriteFile(proc(5), []byte("hello"), 0o666))
	must(os.Truncate(proc(5), 1<<42))
	must(os.WriteFile(proc(6), make([]byte, 1<<20), 0o666))
	must(os.Link(proc(6), in("link")))
	must(os.WriteFile(in("77.names"), make([]byte, 1<<20), 0o666)) // another user's
	must(unix.Mkfifo(in("78.names"), 0o666))
	must(os.Mkdir(in("79-1-2.arm"), 0o777))
	must(os.WriteFile(in("not a library's"), nil, 0o666))
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	p.Good(0, 1, 10, w.mono)
	w.start()
	w.look()
	w.look()
	h := w.c.Snapshot().Health
	if d := w.tran("Bank/Deposit"); d.Count != 1 || h.Processes != 1 || h.Refused != 6 || h.RefusedEver != 9 || h.Swept != 3 {
		t.Errorf("%+v %+v", d, h)
	}
	for _, gone := range []string{in("77.names"), in("78.names"), in("79-1-2.arm")} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	// Much later, what is no segment is removed, too, and nothing else.
	w.wall = w.wall.Add(2 * time.Hour)
	w.mono += 2 * 3600 * sec
	w.look()
	if _, err := os.Lstat(proc(4)); err == nil {
		t.Error("an empty file is still there")
	}
	for _, kept := range []string{in("not a library's"), in("link"), p.Path, n.Path, proc(2)} {
		if _, err := os.Lstat(kept); err != nil {
			t.Error(err)
		}
	}
	if d := w.tran("Bank/Deposit"); d.Count != 1 {
		t.Errorf("%+v", d)
	}
}

// TestLeftOver: files that were never published are removed. Files of another kind stay.
func TestLeftOver(t *testing.T) {
	w := newWorld(t)
	name := filepath.Join(w.dir, fmt.Sprintf(".new-%d-1-2", w.uid))
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.look()
	if _, err := os.Lstat(name); err != nil {
		t.Error("removed at once")
	}
	w.wall = w.wall.Add(11 * time.Minute)
	w.look()
	if _, err := os.Lstat(name); err == nil {
		t.Error("still there")
	}
}

// TestHostileNames: if a file of names is cut off or lies, its processes still count.
func TestHostileNames(t *testing.T) {
	for what, damage := range map[string]func(*readertest.Names){
		"cut off": func(n *readertest.Names) { n.Truncate(100) },
		"too many": func(n *readertest.Names) {
			n.Put32(layout.NamesTranNext, 1<<32-1)
			n.Put32(layout.NamesAppNext, 1<<32-1)
		},
		"other state": func(n *readertest.Names) { n.Put32(layout.NamesState, 77) },
		"removed": func(n *readertest.Names) {
			if err := os.Remove(n.Path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			n := w.names(7)
			p := readertest.NewProc(t, w.dir, n, 100)
			w.start()
			p.Good(0, 1, 10, w.mono)
			w.look()
			damage(n)
			for range 3 {
				p.Good(0, 1, 10, w.mono)
				w.look()
			}
			if d := w.tran("Bank/Deposit"); d.Count != 4 {
				t.Errorf("%+v", d)
			}
			p.Die()
			w.look()
			if d := w.tran("Bank/Deposit"); d.Count != 4 || w.c.Snapshot().Health.Folds != 1 {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestOwnerRemoves: when the owner removes a file, its counts stay as they stood.
func TestOwnerRemoves(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	w.start()
	p.Good(0, 1, 10, w.mono)
	w.look()
	p.Good(0, 1, 10, w.mono)
	if err := os.Remove(p.Path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.look()
		if d := w.tran("Bank/Deposit"); d.Count != 2 {
			t.Errorf("%+v", d)
		}
		w.start()
	}
}

// TestHostileTimes: impossible times are not passed on.
func TestHostileTimes(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	w.start()
	w.look()
	for i, start := range []int64{-1 << 63, -1, 1<<63 - 1, w.mono + 100*sec} {
		p.Run(i, 1, layout.SlotActive, start)
		off := p.Event(layout.EventKindStop, 1, 1, start)
		p.Put64(off+layout.EventDuration, 1<<64-1)
	}
	w.look()
	d := w.tran("Bank/Deposit")
	if age, _ := w.c.Snapshot().Age(0); d.Active != 4 || age < 0 || age > sec {
		t.Errorf("%+v, age %d", d, age)
	}
	for _, e := range w.events {
		if !e.Time.Equal(w.wall) || e.Duration < 0 {
			t.Errorf("%+v", e)
		}
	}
}

// FuzzNeighbour changes words of one process's file while another process counts. The
// other's values stay exact.
func FuzzNeighbour(f *testing.F) {
	for i := range uint16(60) {
		f.Add(i*83, uint64(1)<<(i%64), i%3)
	}
	f.Fuzz(func(t *testing.T, at uint16, v uint64, how uint16) {
		w := newWorld(t)
		n := w.names(7)
		bad := readertest.NewProc(t, w.dir, n, 100)
		good := readertest.NewProc(t, w.dir, n, 101)
		bad.Good(0, 1, 10, w.mono)
		bad.Run(0, 1, layout.SlotActive, 5)
		good.Good(0, 2, 1000, w.mono)
		w.start()
		w.look()
		off := uint64(at) % (40 << 10) &^ 7
		switch how % 3 {
		case 0:
			bad.Put64(off, v)
		case 1:
			bad.Put32(off, uint32(v))
		case 2:
			bad.Truncate(int64(off))
		}
		good.Good(0, 2, 1000, w.mono)
		w.look()
		good.Die()
		w.look()
		w.start()
		w.look()
		if d := w.tran("Bank/Withdraw"); d.Count < 2 || d.GoodNS < 2000 || how%3 == 2 && d.Count != 2 {
			t.Errorf("%+v", d)
		}
	})
}
