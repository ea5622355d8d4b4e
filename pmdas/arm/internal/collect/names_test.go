package collect

import (
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// TestNamedMeanwhile: no count is lost of transactions that programs name while a look is
// under way, however many processes do so in one look.
func TestNamedMeanwhile(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	procs := make(map[uint32]*readertest.Proc)
	for pid := uint32(100); pid < 105; pid++ {
		procs[pid] = readertest.NewProc(t, w.dir, n, pid)
		procs[pid].Die() // its lock is free, so the collector asks for its pid
	}
	next, busy := uint32(3), false
	h := w.host()
	h.alive = func(p *reader.ProcInfo) bool { // called before the process's file is read, and after the names were
		if busy {
			n.Tran(1, string(rune('a'+next)))
			procs[p.PID].Good(0, next, 1000, w.mono)
			next++
		}
		return true
	}
	c, err := newCollector(w.conf, Options{Dir: w.dir}, h)
	if err != nil {
		t.Fatal(err)
	}
	w.c = c
	w.look()
	busy = true
	w.look()
	busy = false
	w.look()
	if s := c.Snapshot(); len(s.Trans) != 7 {
		t.Fatalf("%d rows, want 7", len(s.Trans))
	}
	for _, row := range allRows(c.Snapshot())[2:] {
		if row.Count != 1 {
			t.Errorf("%s: count %d, want 1", row.Name, row.Count)
		}
	}
}
