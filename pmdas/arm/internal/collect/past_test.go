package collect

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
	"github.com/pcp-rtime/rtime/internal/journal"
)

// TestNoRoomForThePast: as long as the record cannot be written, a dead process's file
// stays, and its counts are still seen.
func TestNoRoomForThePast(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.look()
	p := readertest.NewProc(t, w.dir, n, 100)
	p.Good(0, 1, 1000, w.mono)
	p.Die()
	log := filepath.Join(w.dir, layout.PastDir, fmt.Sprint(w.uid)+".past")
	if err := os.Mkdir(log, 0o755); err != nil { // nothing can be added to a directory
		t.Fatal(err)
	}
	for range 3 {
		w.look()
		if d := w.tran("Bank/Deposit"); d.Count != 1 {
			t.Errorf("%+v", d)
		}
	}
	h := w.c.Snapshot().Health
	if h.Folds != 0 || h.Errors < 3 || h.LastError == "" || len(w.files(layout.ProcSuffix)) != 1 {
		t.Errorf("%+v", h)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.start()
	w.look()
	if d := w.tran("Bank/Deposit"); d.Count != 1 || len(w.files(layout.ProcSuffix)) != 0 {
		t.Errorf("%+v, left %v", d, w.files(layout.ProcSuffix))
	}
}

// TestDamagedPast: damaged lines are set aside, and the others are used.
func TestDamagedPast(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	for pid := range uint32(3) {
		p := readertest.NewProc(t, w.dir, n, 100+pid)
		p.Good(0, 1, 1<<(10*pid), w.mono)
		p.Die()
		w.look()
	}
	log := filepath.Join(w.dir, layout.PastDir, fmt.Sprint(w.uid)+".past")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1 // in the second of three
	if err := os.WriteFile(log, b, 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		w.start()
		w.look()
		if d := w.tran("Bank/Deposit"); d.GoodNS != 1+1<<20 {
			t.Errorf("%+v", d)
		}
		if h := w.c.Snapshot().Health; h.Damaged != uint64(1-i) {
			t.Errorf("%+v", h)
		}
	}
	if _, err := os.Stat(log + ".damaged-1"); err != nil {
		t.Error(err)
	}
}

// TestPastOfEarlierVersion: logs that the version before wrote are taken over once.
func TestPastOfEarlierVersion(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	p := readertest.NewProc(t, w.dir, n, 100)
	p.Good(0, 1, 1000, w.mono)
	p.Die()
	w.look()
	was := *w.tran("Bank/Deposit")
	past := filepath.Join(w.dir, layout.PastDir)
	for _, name := range []string{"rows", fmt.Sprint(w.uid)} {
		var old []byte
		path := filepath.Join(past, name+".past")
		if err := journal.Peek(path, func(text []byte) error {
			old = fmt.Appendf(old, "%08x %s\n", crc32.ChecksumIEEE(text), text)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		old = append(old, "a line that is torn"...)
		if err := os.WriteFile(filepath.Join(past, name+".log"), old, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		w.start()
		w.look()
		now := *w.tran("Bank/Deposit")
		now.Window = was.Window // that begins anew
		if now != was {
			t.Errorf("%+v, was %+v", now, was)
		}
		if left, err := filepath.Glob(filepath.Join(past, "*.log")); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}

// TestCompaction: a log that has grown is written anew, with the same meaning.
func TestCompaction(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	for i := range 300 {
		n.Tran(1, fmt.Sprintf("T%d", i))
	}
	w.start()
	for round := range uint32(30) {
		p := readertest.NewProc(t, w.dir, n, 100+round)
		for i := range uint32(300) {
			p.Good(0, 3+i, 10, w.mono)
		}
		p.Die()
		w.look()
	}
	if w.steps["past: written anew"] < 2 { // one of these is the record of rows
		t.Errorf("%v", w.steps)
	}
	log := filepath.Join(w.dir, layout.PastDir, fmt.Sprint(w.uid)+".past")
	for range 2 {
		w.start()
		w.look()
		for i := range 300 {
			if d := w.tran(fmt.Sprintf("Bank/T%d", i)); d.Count != 30 || d.GoodNS != 300 {
				t.Fatalf("%+v", d)
			}
		}
	}
	if info, err := os.Stat(log); err != nil || info.Size() > 300*400 {
		t.Errorf("%v %v", info, err)
	}
}

// TestPastOfAnother: a directory of that name that another user has made first is not
// trusted.
func TestPastOfAnother(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.dir, layout.PastDir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	w.start()
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o022 != 0 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", dir); err != nil {
		t.Fatal(err)
	}
	w.start()
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		t.Errorf("%v %v", info, err)
	}
}

// TestPastRemoved: somebody removes the whole directory and makes it again. What is known
// stays known, and what comes is recorded.
func TestPastRemoved(t *testing.T) {
	w := newWorld(t)
	w.conf.MaxTransactions = 2
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	p.Good(0, 1, 10, w.mono)
	w.start()
	w.look()
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.look()
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.look()
	}
	if d := w.tran("Bank/Deposit"); d.Count != 1 {
		t.Errorf("%+v", d)
	}
	n = w.names(8)
	n.Tran(1, "Third")
	q := readertest.NewProc(t, w.dir, n, 101)
	q.Good(0, 1, 10, w.mono)
	q.Good(0, 3, 10, w.mono)
	q.Die()
	w.look()
	if d := w.tran("Bank/Deposit"); d.Count != 2 {
		t.Errorf("%+v", d)
	}
	w.start()
	w.look()
	if d := w.tran("Bank/other"); d.Count != 1 {
		t.Errorf("%+v", d)
	}
	if d := w.tran("Bank/Deposit"); d.Count != 2 {
		t.Errorf("%+v", d)
	}
}

// block makes every write at a path fail, as a full file system does.
func block(t *testing.T, path string) (unblock func()) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(path, "in it"), 0o755); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoRoomAtStart: any user can fill the file system of the directory. A collector that
// starts then cannot write its record anew, but has all values that are in it.
func TestNoRoomAtStart(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	past := filepath.Join(w.dir, layout.PastDir)
	log, rows := filepath.Join(past, fmt.Sprint(w.uid)+".past"), filepath.Join(past, "rows.past")
	defer block(t, rows+".new")()
	count := uint64(0)
	add := func() {
		p := readertest.NewProc(t, w.dir, n, 100+uint32(count))
		p.Good(0, 1, 10, w.mono)
		p.Die()
		count++
	}
	see := func() {
		t.Helper()
		if d := w.tran("Bank/Deposit"); d.Count != count {
			t.Errorf("%d, want %d", d.Count, count)
		}
	}
	w.start() // without any record of rows
	add()
	w.look()
	see()
	if err := os.RemoveAll(rows + ".new"); err != nil {
		t.Fatal(err)
	}
	w.look()
	add()
	w.look() // the log has two entries
	unblock := block(t, log+".new")
	w.start()
	w.look()
	see()
	b, err := os.ReadFile(log)
	if err == nil {
		err = os.WriteFile(log, append(b, "no record\n"...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.start()
		if h := w.c.Snapshot().Health; h.Damaged != 1 || h.Errors == 0 {
			t.Errorf("%+v", h)
		}
		add() // cannot be recorded, but is seen
		w.look()
		see()
	}
	unblock()
	for range 2 {
		w.look()
		see()
	}
	w.start()
	w.look()
	see()
	if left := w.files(layout.ProcSuffix); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}
