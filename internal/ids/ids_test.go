package ids

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, path string) *Map {
	t.Helper()
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func number(t *testing.T, m *Map, name string) int32 {
	t.Helper()
	id, err := m.ID(name)
	if err != nil {
		t.Fatalf("ID(%q): %v", name, err)
	}
	return id
}

// until waits for a condition that other goroutines bring about.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still waiting for: %s", what)
		}
	}
}

func TestNumbersStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	names := []string{"farvel", "two words", " ", "0 1", "end 1", strings.Repeat("x", MaxName), "\xff\x01\r"}
	for run := range 3 {
		m := open(t, path)
		if m.Len() != min(run, 1)*len(names) {
			t.Errorf("run %d: Len = %d", run, m.Len())
		}
		for i, name := range names {
			if id := number(t, m, name); id != int32(i) {
				t.Errorf("run %d: ID(%.20q) = %d, want %d", run, name, id, i)
			}
			if got, ok := m.Name(int32(i)); !ok || got != name {
				t.Errorf("run %d: Name(%d) = %.20q, %v", run, i, got, ok)
			}
			if id, ok := m.Lookup(name); !ok || id != int32(i) {
				t.Errorf("run %d: Lookup(%.20q) = %d, %v", run, name, id, ok)
			}
		}
		if _, ok := m.Lookup("nobody"); ok {
			t.Error("Lookup finds what was never there")
		}
		if err := m.Close(); err != nil || m.Damage() != nil {
			t.Errorf("Close = %v, Damage %v", err, m.Damage())
		}
	}
}

func TestBadArguments(t *testing.T) {
	if _, err := Open(""); err == nil {
		t.Error("Open without a path succeeds")
	}
	if _, err := OpenMax("x", -1); err == nil {
		t.Error("OpenMax for no numbers succeeds")
	}
	m := open(t, filepath.Join(t.TempDir(), "f"))
	for _, name := range []string{"", "a\nb", "a\x00b", strings.Repeat("x", MaxName+1)} {
		if _, err := m.ID(name); err == nil {
			t.Errorf("ID(%.20q) succeeds", name)
		}
	}
	if m.Len() != 0 || m.Err() != nil {
		t.Errorf("Len = %d, Err = %v after bad names", m.Len(), m.Err())
	}
}

func TestClose(t *testing.T) {
	m := open(t, filepath.Join(t.TempDir(), "f"))
	number(t, m, "a")
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ID("b"); !errors.Is(err, ErrClosed) {
		t.Errorf("ID of a new name after Close: %v", err)
	}
	if id, err := m.ID("a"); id != 0 || err != nil {
		t.Errorf("ID of an old name after Close: %d, %v", id, err)
	}
	if err := m.Sync(); !errors.Is(err, ErrClosed) {
		t.Errorf("Sync after Close: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestSaver: what ID gives out reaches the disk by itself.
func TestSaver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	m := open(t, path)
	number(t, m, "a")
	until(t, "the name in the file", func() bool {
		c, _, err := read(path)
		return err == nil && len(c.entries) == 1 && c.reserved > 1
	})
}

func TestOpenMax(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	m, err := OpenMax(path, 99)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if id := number(t, m, fmt.Sprint("n", i)); id != int32(i) {
			t.Fatalf("ID = %d, want %d", id, i)
		}
	}
	if id, err := m.ID("one more"); !errors.Is(err, ErrFull) {
		t.Errorf("ID beyond the last = %d, %v", id, err)
	}
	if id := number(t, m, "n50"); id != 50 {
		t.Errorf("n50 has %d", id)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	missing, err := OpenMax(filepath.Join(t.TempDir(), "no", "f"), 99)
	if err != nil {
		t.Fatal(err)
	}
	defer missing.Close()
	if id, err := missing.ID("a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ID without a file = %d, %v", id, err)
	}
}

// TestBoundOnDisk looks at the file after every number: it must cover the number.
func TestBoundOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	m := open(t, path)
	for i := range 3000 {
		id := number(t, m, fmt.Sprint("n", i))
		if c, _, err := read(path); err != nil || int64(id) >= c.reserved {
			t.Fatalf("number %d is out, the file says %d, %v", id, c.reserved, err)
		}
	}
}

// TestMany: 100,000 names cost few writes, and a kill wastes no more than was used.
func TestMany(t *testing.T) {
	const n = 100000
	path := filepath.Join(t.TempDir(), "f")
	m := open(t, path)
	for i := range n {
		if id := number(t, m, fmt.Sprintf("host%d.example.net", i)); id != int32(i) {
			t.Fatalf("ID = %d, want %d", id, i)
		}
	}
	if err := m.Sync(); err != nil {
		t.Fatal(err)
	}
	m.mu.RLock()
	writes, bound := m.writes, m.bound
	m.mu.RUnlock()
	if writes > 1000 || bound > 3*n {
		t.Errorf("%d names cost %d writes and reserve up to %d", n, writes, bound)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	if again.Len() != n || number(t, again, "host99999.example.net") != n-1 || number(t, again, "new") != n {
		t.Errorf("opened again: Len %d", again.Len())
	}
}

func TestConcurrent(t *testing.T) {
	m := open(t, filepath.Join(t.TempDir(), "f"))
	var wg sync.WaitGroup
	var seen [8][2000]int32
	for g := range seen {
		wg.Go(func() {
			for i := range seen[g] {
				id, err := m.ID(fmt.Sprint("n", i))
				if name, ok := m.Name(id); err != nil || !ok || name != fmt.Sprint("n", i) {
					t.Errorf("ID = %d, %v; Name = %q", id, err, name)
				}
				seen[g][i] = id
			}
			_ = m.Sync()
		})
	}
	wg.Wait()
	for g := range seen {
		if seen[g] != seen[0] {
			t.Fatal("two goroutines got different numbers for one name")
		}
	}
	if m.Len() != len(seen[0]) {
		t.Errorf("Len = %d", m.Len())
	}
}

func TestSecondOpener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	first := open(t, path)
	number(t, first, "a")
	if err := first.Sync(); err != nil {
		t.Fatal(err)
	}
	second := open(t, path)
	if !errors.Is(second.Err(), ErrLocked) || !errors.Is(second.Sync(), ErrLocked) {
		t.Errorf("second opener: Err = %v", second.Err())
	}
	if id := number(t, second, "a"); id != 0 {
		t.Errorf("second opener gives an old name %d", id)
	}
	b := number(t, second, "b")
	if b < FirstVolatile {
		t.Errorf("second opener gives a new name the ordinary number %d", b)
	}
	if id := number(t, first, "c"); id != 1 {
		t.Errorf("first opener gives %d", id)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "the second to take over", func() bool { return second.Err() == nil })
	if c, d := number(t, second, "c"), number(t, second, "d"); c != 1 || d != 2 || number(t, second, "b") != b {
		t.Errorf("after the take-over: c %d, d %d, b %d (was %d)", c, d, number(t, second, "b"), b)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := open(t, path)
	if third.Len() != 4 || number(t, third, "b") != b || number(t, third, "e") != 3 {
		t.Errorf("opened again: Len %d, b %d", third.Len(), number(t, third, "b"))
	}
}
