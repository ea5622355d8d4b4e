package segdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestMake(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("run by root: it gives folders away")
	}
	path := filepath.Join(t.TempDir(), "rtime", "dds")
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for range 2 { // made, and found
		if err := Make(path, 1, 2); err != nil {
			t.Fatal(err)
		}
		for name, mode := range map[string]uint32{"": 0o3773, "claims": 0o1777} {
			info, err := os.Stat(filepath.Join(path, name))
			if err != nil {
				t.Fatal(err)
			}
			st := info.Sys().(*syscall.Stat_t)
			if st.Uid != 1 || st.Gid != 2 || st.Mode&0o7777 != mode {
				t.Errorf("%q: user %d, group %d, mode %o", name, st.Uid, st.Gid, st.Mode&0o7777)
			}
		}
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Make(link, 1, 2); err == nil {
		t.Error("a symbolic link was followed")
	}
}

func TestEvents(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	expect := func(want ...string) {
		t.Helper()
		seen, err := d.Events()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for name := range seen {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect()
	must(os.WriteFile(in(".new-1"), nil, 0o600))
	must(os.WriteFile(in("other"), nil, 0o600))
	expect()
	must(os.Rename(in(".new-1"), in("1-2-3.dds")))
	expect("1-2-3.dds")
	must(os.Rename(in("1-2-3.dds"), in("2.dds")))
	expect("1-2-3.dds", "2.dds")
	must(os.WriteFile(in("2.dds"), nil, 0o600))
	expect("2.dds")
	list, others, last, err := d.List(9)
	if err != nil || !last || !slices.Equal(list, []string{"2.dds"}) || !slices.Equal(others, []string{"other"}) {
		t.Errorf("%v %v %v %v", list, others, last, err)
	}
	must(os.Truncate(in("2.dds"), 5))
	expect("2.dds")
	must(d.Remove("2.dds"))
	expect("2.dds")
	must(os.RemoveAll(dir))
	if _, err := d.Events(); !errors.Is(err, ErrGone) {
		t.Errorf("without the directory: %v", err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("a directory that is not there was opened")
	}
}

// TestLost: when more happens than the kernel notes, that is told, and List has it.
func TestLost(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	var limit int
	if _, err := fmt.Sscan(string(text), &limit); err != nil || limit > 1<<20 {
		t.Fatalf("max_queued_events is %q", text)
	}
	dir := t.TempDir()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	a, b := filepath.Join(dir, "a.dds"), filepath.Join(dir, "b.dds")
	if err := os.WriteFile(a, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range limit/2 + 10 {
		if err := os.Rename(a, b); err != nil {
			t.Fatal(err)
		}
		a, b = b, a
	}
	for range limit {
		if _, err := d.Events(); errors.Is(err, ErrLost) {
			return
		}
	}
	t.Error("not told")
}
