package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reading is a replay that keeps what it gets.
type reading struct{ records []string }

func (r *reading) add(record []byte) error {
	if bytes.HasPrefix(record, []byte("refuse")) {
		return errors.New("refused")
	}
	r.records = append(r.records, string(record))
	return nil
}

func open(t *testing.T, path string, o Options) (*Journal, *Damage, []string) {
	t.Helper()
	var r reading
	j, damage, err := Open(path, r.add, o)
	must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j, damage, r.records
}

func appendAll(t *testing.T, j *Journal, records ...string) {
	t.Helper()
	must(t, j.Append(batch(t, records...)))
}

func batch(t *testing.T, records ...string) *Batch {
	t.Helper()
	var b Batch
	for _, r := range records {
		must(t, b.Add([]byte(r)))
	}
	return &b
}

var sample = []string{"one", "", "two words", "\xff\x00\r\t", strings.Repeat("long ", 30000), "7dd8e04b rtime-journal 1", "last"}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var want []string
	for run := range 3 {
		j, damage, got := open(t, path, Options{})
		if damage != nil || !slices.Equal(got, want) {
			t.Fatalf("run %d: %v, %.100q", run, damage, got)
		}
		for _, r := range sample {
			appendAll(t, j, r)
		}
		appendAll(t, j, sample...)
		appendAll(t, j)
		want = append(append(want, sample...), sample...)
		if run == 1 {
			must(t, j.Sync())
			must(t, j.Fold(All))
		}
		var r reading
		must(t, j.Read(r.add))
		if !slices.Equal(r.records, want) {
			t.Errorf("run %d: Read finds %.100q", run, r.records)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != j.Size() {
			t.Errorf("Size is %d, the file has %d bytes, %v", j.Size(), info.Size(), err)
		}
		if run == 2 {
			continue // without Close, as after a kill
		}
		must(t, j.Close())
		must(t, j.Close())
		if err := j.Append(batch(t, "x")); !errors.Is(err, ErrClosed) {
			t.Errorf("Append after Close: %v", err)
		}
		if err := errors.Join(j.Sync(), j.Read(r.add), j.Fold(All)); !errors.Is(err, ErrClosed) || j.Size() != 0 || j.Grown() {
			t.Errorf("after Close: %v", err)
		}
	}
	var r reading
	must(t, Peek(path, r.add))
	if !slices.Equal(r.records, want) {
		t.Errorf("Peek finds %.100q", r.records)
	}
	must(t, Peek(path+"none", r.add))
}

func TestBadRecords(t *testing.T) {
	var b Batch
	if err := b.Add([]byte("a\nb")); err == nil {
		t.Error("a record with a newline is taken")
	}
	if err := b.Add(make([]byte, MaxRecord+1)); err == nil {
		t.Error("a record that is too long is taken")
	}
	if b.Len() != 0 {
		t.Errorf("%d bytes of bad records", b.Len())
	}
}

// TestEveryTear: however much of the last batch is in the file, nothing before it is lost, and
// no record of it is there in part.
func TestEveryTear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	j, _, _ := open(t, path, Options{})
	appendAll(t, j, "one", "two")
	whole := j.Size()
	appendAll(t, j, "three", "four", "")
	data, err := os.ReadFile(path)
	must(t, err)
	all := []string{"one", "two", "three", "four", ""}
	for size := whole; size <= int64(len(data)); size++ {
		for _, rest := range []string{"", "\x00\x00\x00", strings.Repeat("\x00", 5000)} {
			must(t, os.WriteFile(path, append(bytes.Clone(data[:size]), rest...), 0o644))
			j, damage, got := open(t, path, Options{})
			n := 2 + bytes.Count(data[whole:size], []byte("\n"))
			torn := size + int64(len(rest)) - int64(bytes.LastIndexByte(data[:size], '\n')+1)
			if damage != nil || !slices.Equal(got, all[:n]) || j.CutOff() != torn {
				t.Fatalf("%d bytes and %d zeros: %v, %q", size, len(rest), damage, got)
			}
			appendAll(t, j, "more")
			must(t, j.Close())
			j, damage, got = open(t, path, Options{})
			if damage != nil || !slices.Equal(got, append(slices.Clone(all[:n]), "more")) {
				t.Fatalf("%d bytes and %d zeros, then another record: %v, %q", size, len(rest), damage, got)
			}
			must(t, j.Close())
		}
	}
}

// TestEveryByteDamaged: undamaged records are kept, the file is set aside, and the damage is
// gone after folding.
func TestEveryByteDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	j, _, _ := open(t, path, Options{})
	all := []string{"one", "two", "three"}
	appendAll(t, j, all...)
	must(t, j.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	starts := []int{bytes.Index(data, []byte("\n")) + 1} // starts of the records
	for range all {
		starts = append(starts, starts[len(starts)-1]+bytes.IndexByte(data[starts[len(starts)-1]:], '\n')+1)
	}
	for i := range data {
		for _, b := range []byte{0, '\n', ' ', 'F', data[i] ^ 1, data[i] ^ 0x20, data[i] ^ 0x80} {
			if b == data[i] {
				continue
			}
			bad := bytes.Clone(data)
			bad[i] = b
			must(t, os.WriteFile(path, bad, 0o644))
			// If a newline is lost, the next record is lost with it, or the last record is
			// torn.
			var want []string
			for n := range all {
				if i < starts[n]-1 || i >= starts[n+1] {
					want = append(want, all[n])
				}
			}
			j, damage, got := open(t, path, Options{})
			if !slices.Equal(got, want) {
				t.Fatalf("byte %d as %q: %q", i, b, got)
			}
			if i == len(data)-1 {
				if damage != nil {
					t.Fatalf("without the last newline: %v", damage)
				}
				must(t, j.Close())
				continue
			}
			if damage == nil || damage.Lost == 0 || damage.Nothing || damage.Reason == "" || !strings.Contains(damage.String(), damage.SetAside) {
				t.Fatalf("byte %d as %q: damage %v", i, b, damage)
			}
			if kept, err := os.ReadFile(damage.SetAside); err != nil || !bytes.Equal(kept, bad) {
				t.Fatalf("byte %d as %q: set aside is %q, %v", i, b, kept, err)
			}
			if err := j.Append(batch(t, "early")); err == nil {
				t.Fatal("a damaged file takes records")
			}
			must(t, j.Fold(All))
			appendAll(t, j, "more")
			must(t, j.Close())
			j, damage, got = open(t, path, Options{})
			if damage != nil || !slices.Equal(got, append(want, "more")) {
				t.Fatalf("byte %d as %q, folded: %v, %q", i, b, damage, got)
			}
			must(t, j.Close())
			if list, _ := filepath.Glob(path + "*"); len(list) > 1+keepDamaged {
				t.Fatalf("left are %q", list)
			}
		}
	}
}

func TestNothingLeft(t *testing.T) {
	for _, text := range []string{strings.Repeat("garbage\n", 3), "no whole line", strings.Repeat("\x00", 10000), ""} {
		path := filepath.Join(t.TempDir(), "f")
		must(t, os.WriteFile(path, []byte(text), 0o644))
		j, damage, got := open(t, path, Options{})
		if damage == nil || !damage.Nothing || damage.Lost != int64(len(text)) || len(got) > 0 || j.CutOff() != 0 {
			t.Errorf("%.20q: %+v, %q", text, damage, got)
		}
	}
}

// TestRefused: a record that the user of the journal cannot use is damage.
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	j, _, _ := open(t, path, Options{})
	appendAll(t, j, "a", "refuse this", "b")
	must(t, j.Close())
	j, damage, got := open(t, path, Options{})
	if damage == nil || !strings.Contains(damage.Reason, "refused") || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v, %q", damage, got)
	}
	must(t, j.Close())
}

// TestOtherFiles: a file that is not of this version is neither used nor changed.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	later := string(appendLine(nil, []byte("rtime-journal 2"))) + "whatever\n"
	path := filepath.Join(dir, "later")
	must(t, os.WriteFile(path, []byte(later), 0o644))
	if _, _, err := Open(path, new(reading).add, Options{}); !errors.Is(err, errVersion) || !strings.Contains(err.Error(), path) {
		t.Errorf("a later version: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != later {
		t.Errorf("it is %q now, %v", data, err)
	}
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o755))
	must(t, os.Symlink(path, filepath.Join(dir, "link")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	for _, name := range []string{"dir", "link", "fifo", "none/f"} {
		if _, _, err := Open(filepath.Join(dir, name), new(reading).add, Options{}); err == nil {
			t.Errorf("%s is opened", name)
		}
	}
}

// TestFoldWhileAppending: nothing that is appended while the file is folded is lost. At each
// step, the file with the journal's name has it.
func TestFoldWhileAppending(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var j *Journal
	n := 0
	var failed error
	inside := false
	check := func(what string) {
		if j == nil || inside {
			return
		}
		inside = true // Append takes steps, too
		defer func() { inside = false }()
		for range 3 {
			var b Batch
			if err := errors.Join(b.Add(fmt.Appendf(nil, "%d %s", n, strings.Repeat("x", 5000))), j.Append(&b)); err != nil {
				failed = errors.Join(failed, fmt.Errorf("at %q: %w", what, err))
				return
			}
			n++
		}
		var r reading
		if err := Peek(path, r.add); err != nil || len(r.records) < n {
			failed = errors.Join(failed, fmt.Errorf("at %q: %d records of %d are in the file, %w", what, len(r.records), n, err))
		}
		for i := range n {
			if !slices.ContainsFunc(r.records, func(s string) bool { return strings.HasPrefix(s, fmt.Sprint(i, " ")) }) {
				failed = errors.Join(failed, fmt.Errorf("at %q: record %d is lost", what, i))
			}
		}
	}
	locked := func(what string) {
		if j != nil && !j.mu.TryLock() { // Append itself is running
			return
		} else if j != nil {
			j.mu.Unlock()
		}
		check(what)
	}
	opened, _, _ := open(t, path, Options{Step: locked})
	j = opened
	for range 3 {
		must(t, j.Fold(func(add func([]byte) error, read func(func([]byte) error) error) error {
			check("begun")
			return read(func(rec []byte) error {
				if n < 60 {
					check("reading")
				}
				return add(rec)
			})
		}))
		must(t, failed)
		n0 := n
		check("folded")
		if must(t, failed); n != n0+3 {
			t.Fatal("nothing was appended")
		}
		n = n0 + 3
	}
	if n < 30 {
		t.Errorf("only %d records were appended", n)
	}
}

// TestFoldFails: if there is no room, the old file stays and still takes records.
func TestFoldFails(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("journal-test", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("mount of a tmpfs (this test needs root): %v", err)
	}
	defer func() { must(t, syscall.Unmount(dir, 0)) }()
	path := filepath.Join(dir, "f")
	j, _, _ := open(t, path, Options{})
	appendAll(t, j, "one", strings.Repeat("x", 40000))
	if err := j.Fold(All); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Fold: %v", err)
	}
	if _, err := os.Stat(path + newSuffix); err == nil {
		t.Error("half a file is left over")
	}
	appendAll(t, j, "two")
	size := j.Size()
	for i := range 10 {
		if err := j.Append(batch(t, strings.Repeat("y", 30000+i))); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Append: %v", err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != size {
		t.Errorf("the file has %d bytes and had %d, %v", info.Size(), size, err)
	}
	appendAll(t, j, "three")
	must(t, j.Close())
	j, damage, got := open(t, path, Options{})
	if damage != nil || len(got) != 4 || got[3] != "three" {
		t.Errorf("%v, %d records", damage, len(got))
	}
	must(t, j.Close()) // before the file system is removed
}

// TestAppendWaitsForNothing: Append does not wait while fsync, rename or the copying of a file
// takes long.
func TestAppendWaitsForNothing(t *testing.T) {
	for _, slow := range []string{"fsync", "rename", "open"} {
		var mu sync.Mutex
		hold := chan struct{}(nil)
		reached := make(chan struct{}, 10)
		path := filepath.Join(t.TempDir(), "f")
		j, _, _ := open(t, path, Options{Step: func(what string) {
			mu.Lock()
			h := hold
			mu.Unlock()
			if what == slow && h != nil {
				reached <- struct{}{}
				<-h
			}
		}})
		appendAll(t, j, "before")
		mu.Lock()
		hold = make(chan struct{})
		mu.Unlock()
		done := make(chan error)
		go func() { done <- j.Fold(All) }()
		<-reached
		for i := range 1000 {
			appendAll(t, j, fmt.Sprint(i)) // hangs if Append waits for the disk
		}
		var r reading
		must(t, Peek(path, r.add))
		if len(r.records) != 1001 {
			t.Errorf("%s: %d records are in the file", slow, len(r.records))
		}
		close(hold)
		must(t, <-done)
		r.records = nil
		must(t, Peek(path, r.add))
		if len(r.records) != 1001 {
			t.Errorf("%s: %d records are in the folded file", slow, len(r.records))
		}
	}
}

// TestRemoved: if somebody has removed the file, Sync puts it back.
func TestRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	j, _, _ := open(t, path, Options{})
	appendAll(t, j, "one")
	must(t, os.Remove(path))
	appendAll(t, j, "two")
	must(t, j.Sync())
	appendAll(t, j, "three")
	must(t, j.Close())
	if _, damage, got := open(t, path, Options{}); damage != nil || !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("%v, %q", damage, got)
	}
}

func TestGrown(t *testing.T) {
	j, _, _ := open(t, filepath.Join(t.TempDir(), "f"), Options{})
	appendAll(t, j, strings.Repeat("x", foldMin+100))
	if !j.Grown() {
		t.Error("not grown")
	}
	must(t, j.Fold(All))
	if j.Grown() {
		t.Error("grown as soon as it is folded")
	}
	appendAll(t, j, strings.Repeat("x", foldMin+100))
	if j.Grown() {
		t.Error("grown by as much as it had")
	}
	appendAll(t, j, strings.Repeat("x", foldMin+100))
	if !j.Grown() {
		t.Error("not grown by more than it had")
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := Lock(path)
	must(t, err)
	if _, err := Lock(path); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second time: %v", err)
	}
	must(t, f.Close())
	f, err = Lock(path)
	must(t, err)
	must(t, f.Close())
	if _, err := Lock(filepath.Join(path, "x")); err == nil {
		t.Error("a lock below a file")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(string(appendLine(nil, []byte(header))) + "1a2b3c4d x\n"))
	f.Add([]byte("rtime-journal 1\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := read(bytes.NewReader(data), func(record []byte) error {
			if !bytes.Contains(data, appendLine(nil, record)) {
				t.Fatalf("%q is believed", record)
			}
			return nil
		})
		if err == nil && s.end+s.torn != int64(len(data)) {
			t.Fatalf("%+v of %d bytes", s, len(data))
		}
	})
}
