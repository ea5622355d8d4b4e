package collect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// traced returns the transactions that the agent's file asks to be traced.
func (w *world) traced(n *readertest.Names) (ids []uint32) {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, layout.SwitchesPath(n.UID, n.Nonce)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var s layout.Switches
	if err != nil || !s.Decode(b, n.Nonce) {
		w.t.Fatalf("%v, %d bytes", err, len(b))
	}
	for i, word := range s {
		for bit := range uint32(32) {
			if word>>bit&1 != 0 {
				ids = append(ids, uint32(i)*32+bit+1)
			}
		}
	}
	return ids
}

// switchFiles returns the files in the agent's directory.
func (w *world) switchFiles() []string { return w.glob(filepath.Join(layout.SwitchesDir, "*")) }

// TestSwitches: the agent's file asks for what the agent was asked for, as long as it is
// asked. Programs of all users may read the file, whatever the agent's umask.
func TestSwitches(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.look()
	is := func(want ...uint32) {
		t.Helper()
		w.look()
		if got := w.traced(n); !slices.Equal(got, want) {
			t.Errorf("traced: %v, want %v", got, want)
		}
		if files := w.switchFiles(); len(files) != min(len(want), 1) {
			t.Errorf("%v", files)
		}
	}
	is()
	w.c.Trace("Bank/Withdraw", true)
	is(2)
	for path, want := range map[string]fs.FileMode{
		layout.SwitchesDir: fs.ModeDir | 0o755, layout.SwitchesPath(n.UID, 7): 0o644, layout.PastDir: fs.ModeDir | 0o700,
	} {
		if info, err := os.Stat(filepath.Join(w.dir, path)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	w.c.Trace("Bank/Deposit", true)
	is(1, 2)
	w.c.Trace("Bank/Later", true)
	is(1, 2)
	n.Tran(1, "Later")
	is(1, 2, 3)
	w.c.Trace("Bank/Withdraw", false)
	w.c.Trace("Bank/Later", false)
	is(1)
	w.c.Trace("Bank/Deposit", false)
	is()
}

// TestSwitchesEnd: what a collector asks for ends with it, even if it is killed. A file of
// switches goes with its file of names.
func TestSwitchesEnd(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.c.Trace("Bank/Withdraw", true)
	w.look()
	w.c = nil // killed
	if len(w.switchFiles()) != 1 {
		t.Fatal("no file")
	}
	w.start()
	if files := w.switchFiles(); len(files) != 0 {
		t.Errorf("left by the one before: %v", files)
	}
	w.c.Trace("Bank/Withdraw", true)
	w.look()
	w.look()
	w.pass(w.conf.Timeout)
	w.look()
	if there(n.Path) || len(w.switchFiles()) != 0 {
		t.Errorf("names there: %v, %v", there(n.Path), w.switchFiles())
	}
	w.names(8)
	w.look()
	if files := w.switchFiles(); len(files) != 1 {
		t.Errorf("%v", files)
	}
	w.c.close()
	if files := w.switchFiles(); len(files) != 0 {
		t.Errorf("left at the end: %v", files)
	}
}

// TestSwitchesDirectory: the directory is made again if it was removed. Another user's is
// not used.
func TestSwitchesDirectory(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	dir := filepath.Join(w.dir, layout.SwitchesDir)
	if err := errors.Join(os.Mkdir(dir, 0o777), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	w.start()
	if info, err := os.Stat(dir); err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) || len(w.glob(layout.SwitchesDir+".not-ours-*")) != 1 {
		t.Fatalf("%v, %v", info, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	w.c.Trace("Bank/Deposit", true)
	w.look()
	if got := w.traced(n); !slices.Equal(got, []uint32{1}) || w.c.Snapshot().Health.Errors != 0 {
		t.Errorf("traced: %v, %+v", got, w.c.Snapshot().Health)
	}
}
