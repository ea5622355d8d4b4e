package ids

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// childEnv makes this test program the child of TestKilled: the path to open and a
// number that makes its names its own.
const childEnv = "IDS_TEST_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		child(spec)
		return
	}
	if spec := os.Getenv(stepEnv); spec != "" {
		stepChild(spec)
		return
	}
	os.Exit(m.Run())
}

// stepEnv makes this test program the child of TestKilledAtEachStep: the step at which it
// kills itself, and the path to open.
const stepEnv = "IDS_TEST_STEP"

// stepChild does everything that a File does, and reports each number and value as soon as it
// may, until it kills itself at a step.
func stepChild(spec string) {
	var steps atomic.Int64
	digits, path, _ := strings.Cut(spec, " ")
	last, err := strconv.ParseInt(digits, 10, 64)
	kill := func(what string) {
		if steps.Add(1) == last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it comes at once, but not before the next instruction
		}
	}
	f, e := OpenWith(path, journal.Options{Step: kill})
	must := func(err error) {
		if err != nil {
			fmt.Println("!", err, f.Err())
			os.Exit(1)
		}
	}
	must(errors.Join(err, e))
	m, err := f.Space("n", math.MaxInt32)
	must(err)
	for i := range 6 {
		name := fmt.Sprintf("run%d.%d", last, i)
		id, err := m.ID(name)
		must(err)
		must(f.Put(name, fmt.Append(nil, id)))
		for err = f.Commit(); err == ErrBusy; err = f.Commit() {
			time.Sleep(time.Millisecond)
		}
		must(err)
		kill("told")
		fmt.Println(id, name)
		kill("tells")
		switch i {
		case 2:
			must(f.Sync())
		case 3:
			must(f.fold(f.j))
		}
	}
	must(f.Close())
	fmt.Println("# closed")
}

// TestKilledAtEachStep: a process that is killed before or after each thing that it does to
// the file system, and between those, changes no number and no value that it has told.
func TestKilledAtEachStep(t *testing.T) {
	dir := mount(t, "64m")
	for start, prepare := range map[string]func(path string){
		"no file": func(string) {},
		"a file":  func(string) {},
		"files of an earlier version": func(path string) {
			data, err := os.ReadFile(filepath.Join("testdata", "old.0.ids"))
			must(t, err)
			must(t, os.WriteFile(strings.TrimSuffix(path, ".ids")+".n.ids", data, 0o644))
		},
		"a record in part": func(path string) {
			must(t, os.WriteFile(path, []byte("7dd8e04b rtime-journal 1\n01234"), 0o644))
		},
		"a damaged file": func(path string) {
			must(t, os.WriteFile(path, []byte("7dd8e04b rtime-journal 1\nbad\n"), 0o644))
		},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(start, " ", "-")+".ids")
		given := make(map[int32]string)
		if strings.Contains(start, "earlier") {
			given = map[int32]string{0: "farvel", 1: "two words", 2: "\xff\x01\r", 3: "end 1 reserved 5"}
		}
		step, ended := 1, false
		for ; !ended; step++ {
			if start != "a file" { // which grows from one kill to the next
				for _, suffix := range []string{"", ".new"} {
					_ = os.Remove(path + suffix)
				}
				maps.DeleteFunc(given, func(_ int32, name string) bool { return strings.HasPrefix(name, "run") })
			}
			prepare(path)
			for again := range 2 { // the second one finds what the first has left
				lines, err := stepped(step, path)
				if err != nil {
					t.Fatalf("%s, step %d: %v", start, step, err)
				}
				for _, line := range lines {
					digits, name, _ := strings.Cut(line, " ")
					n, err := strconv.ParseInt(digits, 10, 32)
					if line == "# closed" {
						ended = ended || again == 0
						continue
					}
					if old, ok := given[int32(n)]; err != nil || ok && old != name {
						t.Fatalf("%s, step %d: %q, and the number is %q's", start, step, line, old)
					}
					given[int32(n)] = name
				}
			}
			data, err := os.ReadFile(path)
			if err == nil {
				c := newContents()
				must(t, journal.Peek(path, c.record))
				for id, name := range given {
					if strings.HasPrefix(name, "run") && (idIn(c.space("n"), name) != id || !strings.Contains(string(data), fmt.Sprintf(" v %d %s %d\n", len(name), name, id))) {
						t.Fatalf("%s, step %d: %s with number %d was told, and is not in the file:\n%s", start, step, name, id, data)
					}
				}
			}
			if err == nil || len(given) > 0 {
				f, m := open(t, path)
				for id, name := range given {
					if now, ok := m.Lookup(name); !ok || now != id {
						t.Fatalf("%s, step %d: %q had number %d and has %d, %v", start, step, name, id, now, ok)
					}
				}
				must(t, f.Close())
			}
		}
		if step < 30 {
			t.Errorf("%s: only %d steps", start, step)
		}
	}
}

// stepped runs a child that kills itself, and returns what it has reported.
func stepped(step int, path string) ([]string, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", stepEnv, step, path))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}

// child hands out numbers for old and new names and reports each as soon as it may, until it
// is killed.
func child(spec string) {
	run, path, _ := strings.Cut(spec, " ")
	f, err := Open(path)
	if err != nil || f.Err() != nil {
		fmt.Println("! cannot open:", err, f.Err())
		return
	}
	if d := f.Damage(); d != nil {
		fmt.Println("!", d)
		return
	}
	m, err := f.Space("n", 1<<28)
	for i := 0; err == nil; i++ {
		name := fmt.Sprintf("run%s.%d", run, i)
		if i%3 == 0 {
			name = fmt.Sprintf("old%d", i)
		}
		var id int32
		for id, err = m.ID(name); err == ErrBusy; id, err = m.ID(name) {
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			break
		}
		for err = f.Commit(); err == ErrBusy; err = f.Commit() {
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			break
		}
		fmt.Println(id, name)
		// Keep the file small over all the runs, however late the kill.
		if i > 100 && i%20 == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		if i == 5000 {
			time.Sleep(time.Hour)
		}
	}
	fmt.Println("!", err, f.Err())
}

// TestKilled kills a process again and again while it gives out numbers. Whatever it
// reported before its death counts as recorded in an archive, and stays for ever.
func TestKilled(t *testing.T) {
	const kills = 100
	// In memory, since a kill takes nothing from a disk and waiting for one takes long.
	path := filepath.Join(mount(t, "256m"), "f")
	given, numbers := make(map[int32]string), make(map[string]int32)
	for run := range kills {
		for _, line := range killed(t, path, run) {
			if strings.HasPrefix(line, "!") {
				t.Fatalf("run %d: %s", run, line)
			}
			digits, name, _ := strings.Cut(line, " ")
			n, err := strconv.ParseInt(digits, 10, 32)
			if err != nil {
				t.Fatalf("run %d reports %q", run, line)
			}
			if old, ok := given[int32(n)]; ok && old != name {
				t.Fatalf("run %d: number %d was %q's and is %q's", run, n, old, name)
			}
			if old, ok := numbers[name]; ok && old != int32(n) {
				t.Fatalf("run %d: %q had number %d and has %d", run, name, old, n)
			}
			given[int32(n)], numbers[name] = name, int32(n)
		}
	}
	f, _ := open(t, path)
	m := space(t, f, "n", 1<<28)
	if len(given) < kills {
		t.Fatalf("only %d numbers were reported: nothing was tested", len(given))
	}
	for id, name := range given {
		if now, ok := m.Lookup(name); !ok || now != id {
			t.Errorf("%q had number %d and has %d, %v", name, id, now, ok)
		}
	}
	if next := number(t, m, "after all"); given[next] != "" {
		t.Errorf("number %d was %q's already", next, given[next])
	}
	_ = f.Close() // before the file system goes
}

// killed starts a child, kills it after a number of lines or a time that changes with
// each run, and returns the whole lines that it reported.
func killed(t *testing.T, path string, run int) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", childEnv, run, path))
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(pipe)
	var lines []string
	for len(lines) < 1+run%7*40 {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	// Every other child goes on until the saver is at work, somewhere within it.
	if run%2 == 1 {
		timer := time.AfterFunc(time.Duration(run%25)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	} else if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	_ = cmd.Wait()
	return lines
}

// mount puts a small file system of its own at a new directory.
func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("ids-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount of a tmpfs (this test needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no room in a file system.
func fill(t *testing.T, dir string) (filler string) {
	t.Helper()
	filler = filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the file system is not full: %v", err)
	}
	return filler
}

func TestFullDisk(t *testing.T) {
	dir := mount(t, "1m")
	path := filepath.Join(dir, "f")
	f, m := open(t, path)
	small := space(t, f, "small", 1<<18)
	number(t, m, "before")
	number(t, small, "before")
	must(t, f.Sync())
	filler := fill(t, dir)
	bound, smallBound := onDisk(t, path).spaces["n"].bound, onDisk(t, path).spaces["small"].bound
	ids := make(map[string]int32)
	for i := range 10000 {
		name := fmt.Sprint("full", i)
		id := number(t, m, name)
		if int64(id) >= bound && id < FirstVolatile {
			t.Fatalf("number %d is out, the full disk says %d", id, bound)
		}
		if ids[name] = id; i%10 == 0 {
			commit(t, f)
		}
	}
	refused := 0
	for i := range 200 {
		id, err := small.ID(fmt.Sprint("full", i))
		switch {
		case err == nil && int64(id) >= smallBound:
			t.Fatalf("number %d is out, the full disk says %d", id, smallBound)
		case err != nil && !errors.Is(err, syscall.ENOSPC):
			t.Fatal(err)
		case err != nil:
			refused++
		}
	}
	if refused == 0 {
		t.Error("the full disk's space has numbers without end")
	}
	if err := f.Sync(); !errors.Is(err, syscall.ENOSPC) || !errors.Is(f.Err(), syscall.ENOSPC) {
		t.Errorf("on a full disk: Sync = %v, Err = %v", err, f.Err())
	}
	if _, err := os.Stat(path + ".new"); err == nil {
		t.Error("half a file is left over")
	}
	must(t, os.Remove(filler))
	until(t, "the saver to try again", func() bool { return f.Err() == nil })
	commit(t, f)
	if id := number(t, m, "after"); id >= FirstVolatile {
		t.Errorf("with room again a new name gets %d", id)
	}
	must(t, f.Close())
	again, m := open(t, path)
	defer again.Close() // before the file system goes
	for name, id := range ids {
		if got, ok := m.Lookup(name); !ok || got != id {
			t.Fatalf("%s had %d and has %d, %v", name, id, got, ok)
		}
	}
}

// TestKilledOnFullDisk: numbers that could not be written may be lost by a kill, but nobody
// else gets them.
func TestKilledOnFullDisk(t *testing.T) {
	dir := mount(t, "1m")
	path := filepath.Join(dir, "f")
	f, m := open(t, path)
	must(t, f.Sync())
	fill(t, dir)
	for i := 0; f.Err() == nil; i++ { // the last page of the file takes some
		number(t, m, fmt.Sprint("written", i))
		commit(t, f)
	}
	given := make(map[int32]bool)
	for i := range 100 {
		given[number(t, m, fmt.Sprint("full", i))] = true
		commit(t, f)
	}
	// A kill leaves the file as it is.
	data, err := os.ReadFile(path)
	must(t, err)
	copied := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(copied, data, 0o644))
	again, m2 := open(t, copied)
	for i := range 100 {
		name := fmt.Sprint("other", i)
		if id := number(t, m2, name); given[id] {
			t.Errorf("number %d was given out before the kill, and is %s's now", id, name)
		}
	}
	_, _ = again.Close(), f.Close() // before the file system goes
}

func TestMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	f, m := open(t, filepath.Join(dir, "f"))
	if !errors.Is(f.Err(), os.ErrNotExist) {
		t.Errorf("Err = %v", f.Err())
	}
	a, b := number(t, m, "a"), number(t, m, "b")
	if a < FirstVolatile || b != a+1 || number(t, m, "a") != a {
		t.Errorf("numbers without a file: %d, %d", a, b)
	}
	must(t, os.Mkdir(dir, 0o755))
	until(t, "the saver to try again", func() bool { return f.Err() == nil })
	if c := number(t, m, "c"); c != 0 {
		t.Errorf("first number in a new file: %d", c)
	}
	must(t, f.Close())
	if _, again := open(t, filepath.Join(dir, "f")); number(t, again, "a") != a || again.Len() != 3 {
		t.Errorf("opened again: Len %d", again.Len())
	}
}

// TestRemoved: a file that somebody removes is there again with the next name, whole.
func TestRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, m := open(t, path)
	a := number(t, m, "a")
	must(t, f.Put("k", []byte("v")))
	must(t, f.Sync())
	must(t, os.Remove(path))
	b := number(t, m, "b")
	must(t, f.Sync())
	if s := onDisk(t, path).spaces["n"]; s == nil || idIn(s, "a") != a || idIn(s, "b") != b {
		t.Errorf("the file holds %+v", s)
	}
	if got := values(t, f); got["k"] != "v" {
		t.Errorf("values %q", got)
	}
}

// TestNotAFile: what cannot be read is neither believed nor replaced.
func TestNotAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	must(t, os.Mkdir(path, 0o755))
	f, m := open(t, path)
	if f.Err() == nil || f.Damage() != nil || number(t, m, "a") < FirstVolatile {
		t.Errorf("a directory: Err %v, Damage %v", f.Err(), f.Damage())
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("the directory is gone: %v", err)
	}
}

// TestSkipped: a process that is killed skips at most one number for each that it has given,
// and the smallest reserve; when few numbers are left, at most a 64th of them.
func TestSkipped(t *testing.T) {
	const limit, ends = 4096, 300
	dir := mount(t, "64m") // a kill takes nothing from it
	next, most := int64(0), int64(0)
	for run := range ends {
		path := filepath.Join(dir, fmt.Sprint(run))
		if run > 0 { // as the process before has left it
			data, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(run-1)))
			must(t, err)
			must(t, os.WriteFile(path, data, 0o644))
		}
		f, err := Open(path)
		must(t, err)
		m := space(t, f, "n", limit-1)
		must(t, f.Sync()) // the bound is on the disk
		first := int64(number(t, m, fmt.Sprint("run", run)))
		if skipped := first - next; skipped > most {
			t.Fatalf("run %d: the next number was %d, and is %d: want at most %d skipped", run, next, first, most)
		}
		next = first + 1
		for i := range run % 3 {
			next = int64(number(t, m, fmt.Sprint("run", run, "more", i))) + 1
		}
		commit(t, f)
		must(t, f.Sync())
		// The reserve is counted from any of the numbers that the run has given.
		most = min(reserve(limit)+1+int64(run%3), max((limit-first)/64, 1))
		t.Cleanup(func() { _ = f.Close() })
	}
	if next >= limit {
		t.Error("all numbers are used up")
	}
}
