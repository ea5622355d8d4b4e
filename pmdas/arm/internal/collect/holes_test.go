package collect

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// onTmpfs puts the world's directory on tmpfs, where a load from a hole allocates memory.
func (w *world) onTmpfs() {
	w.t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rtime-holes-")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.dir = dir
}

// stored returns how many bytes of room a file takes.
func stored(t *testing.T, path string) int64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// TestHolesInNames: a file of names that claims to be full of records but consists of holes
// costs no memory. A record that comes later is found.
func TestHolesInNames(t *testing.T) {
	w := newWorld(t)
	w.onTmpfs()
	n := readertest.NewNames(t, w.dir, w.uid, 7)
	n.Tran(n.App("Bank"), "Deposit")
	n.Put32(layout.NamesAppNext, layout.AppMax)
	n.Put32(layout.NamesTranNext, layout.TranMax)
	before := stored(t, n.Path)
	w.start()
	for range 3 {
		w.look()
	}
	if after := stored(t, n.Path); after != before {
		t.Errorf("the file took %d bytes and takes %d: they were loaded", before, after)
	}
	n.Put32(layout.NamesTranNext, 1)
	n.Tran(1, "Withdraw")
	n.Put32(layout.NamesTranNext, layout.TranMax)
	w.look()
	if s := w.c.Snapshot(); len(s.Trans) != 2 || s.Trans[1].Name != "Bank/Withdraw" {
		t.Errorf("%d rows", len(s.Trans))
	}
}

// TestHolesInProcess: a process's file that consists of holes is refused, and so is one in which
// its owner makes holes later. What it had counted stays.
func TestHolesInProcess(t *testing.T) {
	w := newWorld(t)
	w.onTmpfs()
	n := w.names(7)
	p, sparse := readertest.NewProc(t, w.dir, n, 100), readertest.NewProc(t, w.dir, n, 101)
	p.Good(0, 1, 10, w.mono)
	sparse.Truncate(1 << 30)
	w.start()
	w.look()
	if h := w.c.Snapshot().Health; h.Files != 1 || h.Refused != 1 || !strings.Contains(h.LastRefused, "has holes") {
		t.Errorf("%+v", h)
	}
	p.Good(0, 1, 10, w.mono)
	w.look()
	p.Punch()
	before := stored(t, p.Path)
	w.look()
	if h := w.c.Snapshot().Health; h.Files != 0 || h.RefusedEver != 2 {
		t.Errorf("%+v", h)
	}
	if d := w.tran("Bank/Deposit"); d.Count != 2 || before > 1<<16 {
		t.Errorf("%+v, %d bytes", d, before)
	}
}
