//go:build linux

package segdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMake(t *testing.T) {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = 65534, 65534
	}
	d := Dir{Path: filepath.Join(t.TempDir(), "d"), Mode: 0o3773, Inside: []Sub{{"claims", 0o3773}, {"own", 0o755}}}
	for round := range 2 {
		if err := d.Make(uid, gid); err != nil {
			t.Fatal(err)
		}
		for name, mode := range map[string]uint32{".": 0o3773, "claims": 0o3773, "own": 0o755} {
			path := filepath.Join(d.Path, name)
			var st syscall.Stat_t
			if err := syscall.Stat(path, &st); err != nil {
				t.Fatal(err)
			}
			if st.Mode&0o7777 != mode || int(st.Uid) != uid || int(st.Gid) != gid {
				t.Errorf("round %d, %s: mode %o of %d:%d, want %o of %d:%d", round, name, st.Mode&0o7777, st.Uid, st.Gid, mode, uid, gid)
			}
			if os.Geteuid() == 0 { // what is there is put right
				if err := errors.Join(os.Chmod(path, 0o700), os.Chown(path, 0, 0)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestMakeRefuses: nothing is made along a wrong path, nor behind a link.
func TestMakeRefuses(t *testing.T) {
	top := t.TempDir()
	wrong := filepath.Join(top, "a", "b", "c")
	err := Dir{Path: wrong, Mode: 0o755}.Make(os.Geteuid(), os.Getegid())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(fmt.Sprint(err), filepath.Dir(wrong)+":") || !strings.Contains(fmt.Sprint(err), wrong) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(top, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
	link, to := filepath.Join(top, "link"), filepath.Join(top, "to")
	if err := errors.Join(os.Mkdir(to, 0o700), os.Symlink(to, link)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := (Dir{Path: link, Mode: 0o755}).Make(0, 0); err == nil {
			t.Error("a link is followed")
		}
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Dir{Path: filepath.Join(file, "d"), Mode: 0o755}).Make(os.Geteuid(), os.Getegid()); err == nil {
		t.Error("a directory in a file")
	}
}

// names waits until the watch has told of as many names, and returns them, and the error
// that ended it.
func names(t *testing.T, w *Watch, want int) (map[string]bool, error) {
	t.Helper()
	all, end := make(map[string]bool), time.After(30*time.Second)
	for {
		some, err := w.Names()
		for name := range some {
			all[name] = true
		}
		if err != nil || len(all) >= want {
			return all, err
		}
		select {
		case <-w.C():
		case <-end:
			t.Fatalf("nothing more is told than %v", all)
		}
	}
}

func TestWatch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := NewWatch(dir, Published)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	publish := func(name string) {
		from := filepath.Join(dir, ".new")
		if err := errors.Join(os.WriteFile(from, []byte(name), 0o600), os.Rename(from, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "written"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Names(); err != nil || len(got) != 0 {
		t.Errorf("a file that is not published is told: %v, %v", got, err)
	}
	publish("one") // without waiting: it is there at once
	if got, err := w.Names(); err != nil || len(got) != 2 || !got["one"] || !got[".new"] {
		t.Errorf("%v, %v", got, err)
	}
	go func() { // while the other one waits
		for i := range 1000 {
			publish(fmt.Sprint(i))
		}
	}()
	if got, err := names(t, w, 1001); err != nil || !got["0"] || !got["999"] {
		t.Errorf("%d names, %v", len(got), err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := names(t, w, 1<<20); !errors.Is(err, ErrGone) {
		t.Errorf("the directory is gone: %v", err)
	}
	if _, err := NewWatch(dir, Published); err == nil {
		t.Error("a directory that is not there is watched")
	}
}

func TestWatchChanged(t *testing.T) {
	dir := t.TempDir()
	w, err := NewWatch(dir, Published|Changed)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Names(); err != nil || !got["f"] {
		t.Errorf("%v, %v", got, err)
	}
}

// TestLost: more than the kernel notes is an error, and no name is invented.
func TestLost(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	var most int
	if _, err := fmt.Sscan(string(text), &most); err != nil {
		t.Fatal(err)
	}
	w, err := NewWatch(dir, Published)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(a, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range most/2 + 1 { // two events each
		if err := os.Rename(a, b); err != nil {
			t.Fatal(err)
		}
		a, b = b, a
	}
	if got, err := names(t, w, 3); !errors.Is(err, ErrLost) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestClose(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		w, err := NewWatch(t.TempDir(), Published)
		if err != nil {
			t.Fatal(err)
		}
		if waiting {
			w.C()
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMakeOwn: what others have put in the place of a directory of one's own, or may write
// into, is not used.
func TestMakeOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "own")
	for what, make := range map[string]func() error{
		"nothing":               func() error { return nil },
		"a link":                func() error { return os.Symlink("/", dir) },
		"a file":                func() error { return os.WriteFile(dir, nil, 0o600) },
		"anybody's":             func() error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)) },
		"one with another mode": func() error { return os.Mkdir(dir, 0o755) },
	} {
		if err := errors.Join(os.RemoveAll(dir), make(), MakeOwn(dir, 0o700)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if info, err := os.Lstat(dir); err != nil || info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", what, info.Mode(), err)
		}
	}
}
