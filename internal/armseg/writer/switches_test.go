//go:build linux

package writer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// ask writes the agent's file, which asks to trace trans, and makes w read it.
func ask(t testing.TB, w *Writer, trans ...uint32) {
	t.Helper()
	var s layout.Switches
	for _, id := range trans {
		s.Set(id, true)
	}
	put(t, w, s.Encode(w.names.nonce))
	reread(w)
}

func put(t testing.TB, w *Writer, b []byte) {
	t.Helper()
	path := filepath.Join(w.dir, w.switches.path)
	if err := os.Mkdir(filepath.Dir(path), layout.SwitchesDirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, layout.SwitchesMode); err != nil {
		t.Fatal(err)
	}
}

// reread reads the file as if a second had passed.
func reread(w *Writer) {
	w.switches.next.Store(0)
	w.readSwitches(w.now())
}

// TestSwitches: the lowest and the highest id can be switched, other ids are not affected,
// and the file is read once a second at most.
func TestSwitches(t *testing.T) {
	w := attachTo(t, t.TempDir())
	for _, want := range [][]uint32{{1}, {32, 33}, {layout.TranMax}, nil} {
		ask(t, w, want...)
		for id := uint32(1); id <= layout.TranMax; id++ {
			on := false
			for _, k := range want {
				on = on || k == id
			}
			if w.switches.on(id) != on {
				t.Fatalf("transaction %d: %v, of %v", id, !on, want)
			}
		}
	}
	var s layout.Switches
	s.Set(1, true)
	put(t, w, s.Encode(w.names.nonce))
	next := w.switches.next.Load()
	w.readSwitches(next - 1)
	if w.switches.on(1) {
		t.Error("read before its time")
	}
	w.readSwitches(next)
	if !w.switches.on(1) || w.switches.next.Load() != next+int64(switchesEvery) {
		t.Error("not read in its time")
	}
}

// TestSwitchesAtStart: a start reads the file when that is due, and a process that attaches
// reads it at once.
func TestSwitchesAtStart(t *testing.T) {
	dir := t.TempDir()
	w := attachTo(t, dir)
	tran := active(t, w, "app", "tran")
	var s layout.Switches
	s.Set(tran.ID, true)
	put(t, w, s.Encode(w.names.nonce))
	w.switches.next.Store(w.now() + int64(switchesEvery*1000))
	tran.Start().stop(t)
	if tran.Traced() {
		t.Error("read too soon")
	}
	w.switches.next.Store(0)
	tran.Start().stop(t)
	if !tran.Traced() {
		t.Error("not read at the start")
	}
	v := attachTo(t, dir)
	if tran, err := v.Tran(1, "tran", "", "", Declared{}); err != nil || !tran.Traced() {
		t.Error("not read when attaching")
	}
}

func (r Running) stop(t testing.TB) {
	t.Helper()
	if !r.Stop(Good, nil) {
		t.Error("not stopped")
	}
}

// TestStrangeSwitches: if something else stands in the place of the agent's file, no
// transaction is traced and nothing else happens.
func TestStrangeSwitches(t *testing.T) {
	w := attachTo(t, t.TempDir())
	var all layout.Switches
	for i := range all {
		all[i] = 1<<32 - 1
	}
	good := all.Encode(w.names.nonce)
	patched := func(off int, v uint16) []byte {
		b := bytes.Clone(good)
		binary.NativeEndian.PutUint16(b[off:], v)
		return b
	}
	path := filepath.Join(w.dir, w.switches.path)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, strange := range map[string]func(){
		"nothing":       func() { must(os.Remove(path)) },
		"empty":         func() { put(t, w, nil) },
		"cut off":       func() { put(t, w, good[:len(good)-1]) },
		"magic":         func() { put(t, w, patched(layout.SwitchesMagic, 0)) },
		"byte order":    func() { put(t, w, patched(layout.SwitchesOrder, 0)) },
		"major":         func() { put(t, w, patched(layout.SwitchesMajor, layout.Major+1)) },
		"nonce":         func() { put(t, w, patched(layout.SwitchesNonce, uint16(w.names.nonce+1))) },
		"a directory":   func() { must(os.Remove(path)); must(os.Mkdir(path, 0o755)) },
		"a fifo":        func() { must(os.Remove(path)); must(unix.Mkfifo(path, 0o644)) },
		"a link":        func() { must(os.Rename(path, path+"x")); must(os.Symlink(path+"x", path)) },
		"a stranger's":  func() { must(os.Chown(path, 65534, 65534)) },
		"no directory":  func() { must(os.RemoveAll(filepath.Dir(path))) },
		"a file before": func() { d := filepath.Dir(path); must(os.RemoveAll(d)); must(os.WriteFile(d, good, 0o644)) },
	} {
		must(os.RemoveAll(filepath.Dir(path)))
		put(t, w, good)
		reread(w)
		if !w.switches.on(1) || !w.switches.on(layout.TranMax) {
			t.Fatal("the good file is not read")
		}
		strange()
		reread(w)
		for id := uint32(1); id <= layout.TranMax; id++ {
			if w.switches.on(id) {
				t.Errorf("%s: transaction %d is traced", what, id)
				break
			}
		}
	}
}
