//go:build linux

package segdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := Make(dir, os.Geteuid(), os.Getegid(), 0o3773); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := os.ModeDir | os.ModeSticky | os.ModeSetgid | 0o773; st.Mode() != want {
			t.Errorf("mode %v, not %v", st.Mode(), want)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := Make(link, os.Geteuid(), os.Getegid(), 0o755); err == nil {
		t.Error("a link is followed")
	}
}

// next waits for the watch to tell something.
func next(t *testing.T, w *Watch) bool {
	t.Helper()
	select {
	case _, ok := <-w.C:
		return ok
	case <-time.After(30 * time.Second):
		t.Fatal("nothing is told")
	}
	return false
}

func TestWatch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := NewWatch(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	from, to := filepath.Join(dir, ".new"), filepath.Join(dir, "there")
	if err := os.WriteFile(from, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.C:
		t.Error("a file that is not published is told")
	default:
	}
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	next(t, w)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for next(t, w) { // until it is closed
	}
	if _, err := NewWatch(dir); err == nil {
		t.Error("a directory that is not there is watched")
	}
}

func TestClose(t *testing.T) {
	w, err := NewWatch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := <-w.C; ok {
		t.Error("told something after Close")
	}
}
