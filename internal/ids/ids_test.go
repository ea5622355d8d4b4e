package ids

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// open opens a file and its space "n" of all numbers.
func open(t *testing.T, path string) (*File, *Map) {
	t.Helper()
	return openWith(t, path, journal.Options{})
}

func openWith(t *testing.T, path string, o journal.Options) (*File, *Map) {
	t.Helper()
	f, err := OpenWith(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, space(t, f, "n", math.MaxInt32)
}

func space(t *testing.T, f *File, name string, last int32) *Map {
	t.Helper()
	m, err := f.Space(name, last)
	if err != nil {
		t.Fatal(err)
	}
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// commit commits, on a machine that may be so busy that it takes several times.
func commit(t *testing.T, f *File) {
	t.Helper()
	until(t, "Commit", func() bool {
		err := f.Commit()
		if err != nil && !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// onDisk returns what a file holds.
func onDisk(t *testing.T, path string) *contents {
	t.Helper()
	c := newContents()
	must(t, journal.Peek(path, c.record))
	return c
}

// idIn returns the number of a name in a table, -1 where it has none.
func idIn(s *table, name string) int32 {
	if id, ok := s.lookup(name); ok {
		return id
	}
	return -1
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
	names := []string{"farvel", "two words", " ", "0 1", "i n 1 x", strings.Repeat("x", MaxName), "\xff\x01\r"}
	for run := range 3 {
		f, m := open(t, path)
		other := space(t, f, "other", 1<<20)
		if m.Len() != min(run, 1)*len(names) || other.Len() != m.Len() {
			t.Errorf("run %d: Len = %d, %d", run, m.Len(), other.Len())
		}
		for i, name := range names {
			if id := number(t, m, name); id != int32(i) {
				t.Errorf("run %d: ID(%.20q) = %d, want %d", run, name, id, i)
			}
			if id := number(t, other, name); id != int32(i) {
				t.Errorf("run %d: in the other space ID(%.20q) = %d, want %d", run, name, id, i)
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
		if f.Has("n") != true || f.Has("nothing") {
			t.Error("Has is wrong")
		}
		if err := f.Close(); err != nil || f.Damage() != nil {
			t.Errorf("Close = %v, Damage %v", err, f.Damage())
		}
	}
}

func TestBadArguments(t *testing.T) {
	if _, err := Open(""); err == nil {
		t.Error("Open without a path succeeds")
	}
	f, m := open(t, filepath.Join(t.TempDir(), "f"))
	for _, name := range []string{"", "a b", "a\nb", "a/b", "a\x00", strings.Repeat("x", 65)} {
		if _, err := f.Space(name, 1); err == nil {
			t.Errorf("Space(%q) succeeds", name)
		}
	}
	if _, err := f.Space("x", -1); err == nil {
		t.Error("a space of no numbers succeeds")
	}
	for _, name := range []string{"", "a\nb", "a\x00b", strings.Repeat("x", MaxName+1)} {
		if _, err := m.ID(name); err == nil {
			t.Errorf("ID(%.20q) succeeds", name)
		}
	}
	for _, key := range []string{"", "a\nb", "a\x00b", strings.Repeat("x", MaxKey+1)} {
		if err := f.Put(key, nil); err == nil {
			t.Errorf("Put(%.20q) succeeds", key)
		}
	}
	for _, value := range []string{"\n", strings.Repeat("x", MaxValue+1)} {
		if err := f.Put("x", []byte(value)); err == nil {
			t.Errorf("Put of %.20q succeeds", value)
		}
	}
	if m.Len() != 0 || f.Err() != nil {
		t.Errorf("Len = %d, Err = %v after bad names", m.Len(), f.Err())
	}
}

// values returns what a file keeps.
func values(t *testing.T, f *File) map[string]string {
	t.Helper()
	got := make(map[string]string)
	must(t, f.Values(func(key string, value []byte) { got[key] = string(value) }))
	return got
}

// TestValues: the last value of each key is kept, over restarts and folding.
func TestValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, _ := open(t, path)
	put := func(key, value string) { t.Helper(); must(t, f.Put(key, []byte(value))) }
	want := map[string]string{"a b": `{"x": "\\n"}`, "c": "", strings.Repeat("k", MaxKey): "long", "ü": " "}
	for key, value := range want {
		put(key, "old")
		put("gone "+key[:1], "old")
		if len(key) == 1 {
			commit(t, f)
		}
		put(key, value)
		must(t, f.Put("gone "+key[:1], nil))
	}
	if got := values(t, f); !maps.Equal(got, want) {
		t.Errorf("before Commit: %q", got)
	}
	commit(t, f)
	if got := values(t, f); !maps.Equal(got, want) {
		t.Errorf("after Commit: %q", got)
	}
	must(t, f.fold(f.j))
	put("new", "1")
	want["new"] = "1"
	must(t, f.Close())
	if err := f.Put("x", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Put after Close: %v", err)
	}
	f, _ = open(t, path)
	if got := values(t, f); !maps.Equal(got, want) {
		t.Errorf("after a restart: %q", got)
	}
}

// TestFoldDropsOld: what was replaced does not stay in the file for ever.
func TestFoldDropsOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, m := open(t, path)
	number(t, m, "a")
	value := []byte(strings.Repeat("v", 1000))
	for i := range 5000 {
		must(t, f.Put(fmt.Sprint("key ", i%10), value))
		commit(t, f)
	}
	must(t, f.Sync())
	if info, err := os.Stat(path); err != nil || info.Size() > 2<<20 {
		t.Errorf("a file of 10 values of 1000 bytes has %d bytes, %v", info.Size(), err)
	}
	must(t, f.Close())
	f, m = open(t, path)
	if len(values(t, f)) != 10 || number(t, m, "a") != 0 {
		t.Error("values or numbers are lost")
	}
}

func TestClose(t *testing.T) {
	f, m := open(t, filepath.Join(t.TempDir(), "f"))
	number(t, m, "a")
	must(t, f.Close())
	if _, err := m.ID("b"); !errors.Is(err, ErrClosed) {
		t.Errorf("ID of a new name after Close: %v", err)
	}
	if id, err := m.ID("a"); id != 0 || err != nil {
		t.Errorf("ID of an old name after Close: %d, %v", id, err)
	}
	if err := f.Sync(); !errors.Is(err, ErrClosed) {
		t.Errorf("Sync after Close: %v", err)
	}
	if err := f.Commit(); err != nil {
		t.Errorf("Commit after Close: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestMemory(t *testing.T) {
	f := Memory()
	m := space(t, f, "n", 9)
	for i := range 10 {
		if id := number(t, m, fmt.Sprint(i)); id != int32(i) {
			t.Errorf("ID = %d, want %d", id, i)
		}
	}
	if _, err := m.ID("one more"); !errors.Is(err, ErrFull) {
		t.Errorf("ID beyond the last: %v", err)
	}
	if err := errors.Join(f.Put("k", nil), f.Commit(), f.Sync(), f.Values(nil), f.Err(), f.Close()); err != nil {
		t.Error(err)
	}
}

// TestCommit: after Commit numbers and values are in the file, before it they need not be.
func TestCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, m := open(t, path)
	for i := range 3000 {
		name := fmt.Sprint("n", i)
		id := number(t, m, name)
		must(t, f.Put("v"+name, []byte("x")))
		commit(t, f)
		if i%100 > 0 {
			continue
		}
		if s := onDisk(t, path).spaces["n"]; idIn(s, name) != id || s.count != i+1 {
			t.Fatalf("number %d of %s is told, and not in the file", id, name)
		}
		if got := values(t, f); len(got) != i+1 {
			t.Fatalf("%d values are in the file, want %d", len(got), i+1)
		}
	}
}

// TestBoundOnDisk: a number is below the bound that was on the disk before it was given.
func TestBoundOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var synced sync.Mutex
	bound := int64(0) // as of the last fsync
	f, _ := openWith(t, path, journal.Options{Step: func(what string) {
		if what == "fsync done" {
			synced.Lock()
			defer synced.Unlock()
			c := newContents()
			if journal.Peek(path, c.record) == nil && c.spaces["small"] != nil {
				bound = c.spaces["small"].bound
			}
		}
	}})
	m := space(t, f, "small", 1<<19)
	for i := range 3000 {
		id := number(t, m, fmt.Sprint("n", i))
		synced.Lock()
		now := bound
		synced.Unlock()
		if int64(id) >= now {
			t.Fatalf("number %d is out, the disk says %d", id, now)
		}
		commit(t, f)
	}
}

// TestSaver: what was given out reaches the disk by itself.
func TestSaver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	_, m := open(t, path)
	number(t, m, "a")
	until(t, "the name in the file", func() bool {
		s := onDisk(t, path).spaces["n"]
		return s != nil && s.count == 1 && s.bound > 1
	})
}

func TestSmallSpace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	f, _ := open(t, path)
	m := space(t, f, "small", 99)
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
	must(t, f.Close())
	missing, _ := open(t, filepath.Join(dir, "no", "f"))
	m = space(t, missing, "small", 99)
	if id, err := m.ID("a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ID without a file = %d, %v", id, err)
	}
}

// TestMany: a burst of names costs few writes, and a kill wastes no more numbers than were
// used.
func TestMany(t *testing.T) {
	const n = 100000
	path := filepath.Join(t.TempDir(), "f")
	var mu sync.Mutex
	writes := 0
	f, _ := openWith(t, path, journal.Options{Step: func(what string) {
		if what == "write" {
			mu.Lock()
			defer mu.Unlock()
			writes++
		}
	}})
	m := space(t, f, "m", 1<<22)
	given := make(map[int32]bool)
	for i := range n {
		id, err := m.ID(fmt.Sprintf("host%d.example.net", i))
		for errors.Is(err, ErrBusy) { // the machine is busy
			must(t, f.Sync())
			id, err = m.ID(fmt.Sprintf("host%d.example.net", i))
		}
		must(t, err)
		given[id] = true
	}
	commit(t, f)
	must(t, f.Sync())
	f.mu.RLock()
	bound := m.bound
	f.mu.RUnlock()
	if len(given) != n || writes > 500 || bound > 3*n {
		t.Errorf("%d names have %d numbers, cost %d writes and reserve up to %d", n, len(given), writes, bound)
	}
	must(t, f.Close())
	f, _ = open(t, path)
	again := space(t, f, "m", 1<<22)
	last, _ := m.Lookup("host99999.example.net")
	if again.Len() != n || number(t, again, "host99999.example.net") != last || given[number(t, again, "new")] {
		t.Errorf("opened again: Len %d", again.Len())
	}
}

// TestBytesOfFewNames: five new names a second, for hours, as anybody can cause. What is
// written is in proportion to the names, not to all that there are.
func TestBytesOfFewNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, m := open(t, path)
	for i := range 20000 {
		number(t, m, fmt.Sprintf("there already %06d", i))
	}
	must(t, f.Close())
	var mu sync.Mutex
	written, fsyncs := int64(0), 0
	last := int64(0)
	f, m = openWith(t, path, journal.Options{Step: func(what string) {
		mu.Lock()
		defer mu.Unlock()
		switch what {
		case "write done":
			// The bytes that any of the two files has grown by.
			for _, p := range []string{path, path + ".new"} {
				if info, err := os.Stat(p); err == nil && info.Size() > last {
					written += info.Size() - last
					last = info.Size()
				}
			}
		case "rename done":
			last = 0
		case "fsync":
			fsyncs++
		}
	}})
	mu.Lock()
	info, err := os.Stat(path)
	must(t, err)
	written, last, fsyncs = 0, info.Size(), 0
	mu.Unlock()
	const n = 1000
	start := time.Now()
	for i := range n {
		number(t, m, fmt.Sprintf("new name %06d", i))
		commit(t, f)
	}
	must(t, f.Sync())
	took := time.Since(start)
	mu.Lock()
	defer mu.Unlock()
	// A record of these has 37 bytes; bounds and headers come to that.
	if written > n*60 {
		t.Errorf("%d names cost %d bytes", n, written)
	}
	if most := 10 + int(took/(minPause/4)); fsyncs > most {
		t.Errorf("%d names in %v cost %d times fsync, want at most %d", n, took, fsyncs, most)
	}
}

func TestConcurrent(t *testing.T) {
	f, m := open(t, filepath.Join(t.TempDir(), "f"))
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
				if i%100 == g {
					if err := f.Commit(); err != nil && !errors.Is(err, ErrBusy) {
						t.Error(err)
					}
				}
			}
			_ = f.Sync()
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
	first, one := open(t, path)
	number(t, one, "a")
	must(t, first.Put("k", []byte("v")))
	commit(t, first)
	second, two := open(t, path)
	if !errors.Is(second.Err(), ErrLocked) || !errors.Is(second.Sync(), ErrLocked) {
		t.Errorf("second opener: Err = %v", second.Err())
	}
	if id := number(t, two, "a"); id != 0 {
		t.Errorf("second opener gives an old name %d", id)
	}
	if got := values(t, second); got["k"] != "v" {
		t.Errorf("second opener has values %q", got)
	}
	b := number(t, two, "b")
	if b < FirstVolatile {
		t.Errorf("second opener gives a new name the ordinary number %d", b)
	}
	if err := second.Commit(); err != nil {
		t.Errorf("Commit without the file: %v", err)
	}
	must(t, second.Put("k2", []byte("v2")))
	if id := number(t, one, "c"); id != 1 {
		t.Errorf("first opener gives %d", id)
	}
	must(t, first.Close())
	until(t, "the second to take over", func() bool { return second.Err() == nil })
	if c, d := number(t, two, "c"), number(t, two, "d"); c != 1 || d != 2 || number(t, two, "b") != b {
		t.Errorf("after the take-over: c %d, d %d, b %d (was %d)", c, d, number(t, two, "b"), b)
	}
	must(t, second.Close())
	third, three := open(t, path)
	if three.Len() != 4 || number(t, three, "b") != b || number(t, three, "e") != 3 {
		t.Errorf("opened again: Len %d, b %d", three.Len(), number(t, three, "b"))
	}
	if got := values(t, third); got["k"] != "v" || got["k2"] != "v2" {
		t.Errorf("opened again: values %q", got)
	}
}

// old puts files of the earlier version, as its code has written them, into a folder.
func old(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"old.0.ids", "old.items.ids"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
		must(t, os.WriteFile(filepath.Join(dir, name+".lock"), nil, 0o644))
	}
	return dir
}

// oldNumbers checks the numbers of testdata, of which nothing may change.
func oldNumbers(t *testing.T, f *File) {
	t.Helper()
	hosts, items := space(t, f, "0", math.MaxInt32), space(t, f, "items", 521215)
	for i, name := range []string{"farvel", "two words", "\xff\x01\r", "end 1 reserved 5"} {
		if id, ok := hosts.Lookup(name); !ok || id != int32(i) {
			t.Errorf("%q has number %d, %v, and had %d", name, id, ok, i)
		}
	}
	for i := range 100 {
		if id, ok := items.Lookup(fmt.Sprint("u64 counter 00000000 DDS/v/c/s", i)); !ok || id != int32(i) {
			t.Errorf("item %d has number %d, %v", i, id, ok)
		}
	}
	if id := number(t, hosts, "new"); id != 4 {
		t.Errorf("the next host has number %d: the file was closed at 4", id)
	}
	if id := number(t, items, "new"); id < 276 {
		t.Errorf("the next item has number %d: up to 275 may be out", id)
	}
}

func TestOldFiles(t *testing.T) {
	dir := old(t)
	for range 2 {
		f, _ := open(t, filepath.Join(dir, "old.ids"))
		if f.Err() != nil || f.Damage() != nil {
			t.Error(f.Err(), f.Damage())
		}
		oldNumbers(t, f)
		must(t, f.Close())
		list, err := filepath.Glob(filepath.Join(dir, "*"))
		if want := []string{filepath.Join(dir, "old.ids"), filepath.Join(dir, "old.ids.lock")}; err != nil || !slices.Equal(list, want) {
			t.Errorf("left are %v, %v", list, err)
		}
	}
}

// TestOldFileInUse: while an agent of the earlier version runs its numbers are known, and
// new names get volatile ones.
func TestOldFileInUse(t *testing.T) {
	dir := old(t)
	lock, err := journal.Lock(filepath.Join(dir, "old.items.ids.lock"))
	must(t, err)
	f, m := open(t, filepath.Join(dir, "old.ids"))
	if !errors.Is(f.Err(), ErrLocked) || number(t, m, "x") < FirstVolatile {
		t.Errorf("Err %v", f.Err())
	}
	must(t, lock.Close())
	until(t, "the file to be taken over", func() bool { return f.Err() == nil })
	oldNumbers(t, f)
}

// TestOldFileDamaged: nothing of it is believed, and no number of it is given again.
func TestOldFileDamaged(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "old.items.ids"))
	must(t, err)
	for i := 0; i < len(data); i += 61 {
		dir := old(t)
		path := filepath.Join(dir, "old.items.ids")
		bad := slices.Clone(data)
		bad[i] ^= 0x55
		must(t, os.WriteFile(path, bad, 0o644))
		f, _ := open(t, filepath.Join(dir, "old.ids"))
		items := space(t, f, "items", 521215)
		d := f.Damage()
		if d == nil || d.Path != path || d.SetAside == "" || items.Len() != 0 || f.Err() != nil {
			t.Fatalf("byte %d: %v, %d names believed, %v", i, d, items.Len(), f.Err())
		}
		if id := number(t, items, "new"); id < 276 || id > 521215/2 {
			t.Fatalf("byte %d: the next number is %d", i, id)
		}
		if kept, err := os.ReadFile(d.SetAside); err != nil || !slices.Equal(kept, bad) {
			t.Fatalf("byte %d: kept is %d bytes, %v", i, len(kept), err)
		}
		must(t, f.Close())
	}
}
