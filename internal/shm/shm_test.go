//go:build linux

package shm

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

var page = int64(os.Getpagesize())

// file makes a file of a size, filled with 0x5a.
func file(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, bytes.Repeat([]byte{0x5a}, int(size)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string, o Options) *Map {
	t.Helper()
	m, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.WriteFile(in("plain"), make([]byte, 100), 0o600))
	check(os.WriteFile(in("linked"), make([]byte, 100), 0o600))
	check(os.Link(in("linked"), in("linked2")))
	check(os.Symlink(in("plain"), in("symlink")))
	check(unix.Mkfifo(in("fifo"), 0o600))
	check(os.Mkdir(in("dir"), 0o700))
	check(os.WriteFile(in("empty"), nil, 0o600))
	check(os.WriteFile(in("huge"), nil, 0o600))
	check(os.Truncate(in("huge"), 2<<40))
	for _, c := range []struct {
		name string
		min  int64
		want error
	}{
		{"missing", 0, fs.ErrNotExist}, {"linked", 0, ErrLinks}, {"symlink", 0, unix.ELOOP},
		{"fifo", 0, ErrNotRegular}, {"dir", 0, ErrNotRegular}, {"empty", 0, ErrSmall},
		{"plain", 101, ErrSmall}, {"huge", 0, ErrLarge}, {"plain", 100, nil},
	} {
		m, err := Open(in(c.name), Options{Min: c.min, Max: 1 << 30})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if m != nil {
			m.Close()
		}
	}
}

func TestBounds(t *testing.T) {
	m := open(t, file(t, 20), Options{Max: 100})
	for _, c := range []struct {
		off             uint64
		ok8, ok32, ok64 bool
	}{
		{0, true, true, true}, {4, true, true, false}, {8, true, true, true}, {12, true, true, false},
		{16, true, true, false}, {17, true, false, false}, {19, true, false, false}, {20, false, false, false},
		{2, true, false, false}, {24, false, false, false}, {1 << 63, false, false, false},
		{math.MaxUint64, false, false, false}, {math.MaxUint64 - 7, false, false, false}, {math.MaxUint64 - 3, false, false, false},
	} {
		if _, ok := m.Load64(c.off); ok != c.ok64 {
			t.Errorf("Load64(%d): %v", c.off, ok)
		}
		if _, ok := m.Load32(c.off); ok != c.ok32 {
			t.Errorf("Load32(%d): %v", c.off, ok)
		}
		if _, ok := m.Load8(c.off); ok != c.ok8 {
			t.Errorf("Load8(%d): %v", c.off, ok)
		}
	}
	for _, c := range []struct {
		off, n uint64
		want   bool
	}{
		{0, 20, true}, {0, 21, false}, {20, 0, true}, {21, 0, false}, {19, 1, true}, {19, 2, false},
		{math.MaxUint64, 1, false}, {1, math.MaxUint64, false}, {math.MaxUint64, math.MaxUint64, false},
	} {
		if m.Has(c.off, c.n) != c.want {
			t.Errorf("Has(%d, %d) is not %v", c.off, c.n, c.want)
		}
	}
	b := []byte("as before")
	if m.Copy(b, 12) || string(b) != "as before" {
		t.Errorf("Copy beyond the end: %q", b)
	}
	if !m.Copy(b, 11) {
		t.Error("Copy up to the end is refused")
	}
}

// TestTruncated: all ways of reading survive a file that was cut off. What is
// left of it can still be read.
func TestTruncated(t *testing.T) {
	path := file(t, 3*page)
	m := open(t, path, Options{Max: 1 << 20})
	if err := os.Truncate(path, 1); err != nil {
		t.Fatal(err)
	}
	off := uint64(2 * page)
	for name, f := range map[string]func(){
		"Load64": func() { m.Load64(off) }, "Load32": func() { m.Load32(off) }, "Copy": func() { m.Copy(make([]byte, 100), off) },
		"nested": func() {
			if err := m.Guard(func() { m.Load32(off) }); !errors.Is(err, ErrFault) {
				t.Errorf("inner guard: %v", err)
			}
			m.Load64(off)
		},
	} {
		after := false
		err := m.Guard(func() { f(); after = true })
		if !errors.Is(err, ErrFault) || after {
			t.Errorf("%s: %v, went on: %v", name, err, after)
		}
	}
	if err := m.Guard(func() { m.Load64(0) }); err != nil {
		t.Errorf("the first page: %v", err)
	}
	if err := m.Grow(); err != nil || m.Len() != uint64(3*page) {
		t.Errorf("Grow of a file that shrank: %v, %d bytes", err, m.Len())
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := m.Guard(func() { m.Load64(0) }); !errors.Is(err, ErrFault) {
		t.Errorf("an empty file: %v", err)
	}
}

// TestGuardLetsOthersPass: Guard does not blame the file for a mistake in f.
func TestGuardLetsOthersPass(t *testing.T) {
	m := open(t, file(t, page), Options{Max: 1 << 20})
	for name, f := range map[string]func(){
		"panic": func() { panic("mine") },
		"nil":   func() { var p *int; *p = 1 },
		"index": func() { var s []int; s[len(os.Args)] = 1 },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: swallowed", name)
				}
			}()
			t.Errorf("%s: %v", name, m.Guard(f))
		}()
	}
}

func TestGrow(t *testing.T) {
	path := file(t, page)
	m := open(t, path, Options{Max: 4 * page})
	if err := os.Truncate(path, 4*page); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Load64(uint64(page)); ok {
		t.Error("read beyond the mapping before Grow")
	}
	if err := m.Grow(); err != nil || m.Len() != uint64(4*page) {
		t.Fatalf("%v, %d bytes", err, m.Len())
	}
	if v, ok := m.Load64(uint64(page)); !ok || v != 0 {
		t.Errorf("%#x %v", v, ok)
	}
	if v, ok := m.Load64(0); !ok || v != 0x5a5a5a5a5a5a5a5a {
		t.Errorf("%#x %v", v, ok)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := m.Grow(); !errors.Is(err, ErrLarge) || m.Len() != uint64(4*page) {
		t.Errorf("%v, %d bytes", err, m.Len())
	}
}

func TestClosed(t *testing.T) {
	m := open(t, file(t, page), Options{Max: 1 << 20})
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, ok64 := m.Load64(0)
	_, ok32 := m.Load32(0)
	if ok64 || ok32 || m.Copy(make([]byte, 1), 0) || m.Has(0, 1) {
		t.Error("access after Close")
	}
	if _, err := m.Stat(); err == nil {
		t.Error("Stat after Close")
	}
}
