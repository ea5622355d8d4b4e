package ids

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childEnv makes this test program the child of TestKilled: the path to open and a
// number that makes its names its own.
const childEnv = "IDS_TEST_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		child(spec)
		return
	}
	os.Exit(m.Run())
}

// child hands out numbers for old and new names and reports each, until it is killed.
func child(spec string) {
	run, path, _ := strings.Cut(spec, " ")
	m, err := Open(path)
	if err != nil || m.Err() != nil {
		fmt.Println("! cannot open:", err, m.Err())
		return
	}
	if d := m.Damage(); d != nil {
		fmt.Println("!", d)
		return
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("run%s.%d", run, i)
		if i%3 == 0 {
			name = fmt.Sprintf("old%d", i)
		}
		id, err := m.ID(name)
		if err != nil || id >= FirstVolatile {
			fmt.Printf("! ID(%q) = %d, %v, Err %v\n", name, id, err, m.Err())
			return
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
}

// TestKilled kills a process again and again while it gives out numbers. Whatever it
// reported before its death counts as recorded in an archive.
func TestKilled(t *testing.T) {
	const kills = 300
	// In memory, since a kill takes nothing from a disk and waiting for one takes long.
	path := filepath.Join(mount(t, "256m"), "f")
	given := make(map[int32]string)
	runs := make(map[int32]int)
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
				t.Fatalf("number %d belongs to %q since run %d, run %d gives it to %q", n, old, runs[int32(n)], run, name)
			}
			given[int32(n)], runs[int32(n)] = name, run
		}
	}
	m := open(t, path)
	if m.Len() == 0 || len(given) < kills {
		t.Fatalf("only %d numbers were reported and %d kept: nothing was tested", len(given), m.Len())
	}
	for id, name := range given {
		if now, ok := m.Name(id); ok && now != name {
			t.Errorf("number %d was %q's and is %q's now", id, name, now)
		}
	}
	if next := number(t, m, "after all"); given[next] != "" {
		t.Errorf("number %d was %q's already", next, given[next])
	}
	_ = m.Close() // before the file system goes
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

func TestFullDisk(t *testing.T) {
	dir := mount(t, "64k")
	path := filepath.Join(dir, "f")
	m := open(t, path)
	number(t, m, "before")
	if err := m.Sync(); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the file system is not full: %v", err)
	}
	onDisk, _, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]int32)
	for i := range 1000 {
		name := fmt.Sprint("full", i)
		id := number(t, m, name)
		if int64(id) >= onDisk.reserved && id < FirstVolatile {
			t.Fatalf("number %d is out, the full disk says %d", id, onDisk.reserved)
		}
		ids[name] = id
	}
	if err := m.Sync(); !errors.Is(err, syscall.ENOSPC) || !errors.Is(m.Err(), syscall.ENOSPC) {
		t.Errorf("on a full disk: Sync = %v, Err = %v", err, m.Err())
	}
	m.disk.Lock() // the saver may be trying again
	if _, err := os.Stat(path + ".tmp"); err == nil {
		t.Error("half a file is left over")
	}
	m.disk.Unlock()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	until(t, "the saver to try again", func() bool { return m.Err() == nil })
	if id := number(t, m, "after"); id >= FirstVolatile {
		t.Errorf("with room again a new name gets %d", id)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	defer again.Close() // before the file system goes
	for name, id := range ids {
		if got, ok := again.Lookup(name); !ok || got != id {
			t.Fatalf("%s had %d and has %d, %v", name, id, got, ok)
		}
	}
}

func TestMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	m := open(t, filepath.Join(dir, "f"))
	if !errors.Is(m.Err(), os.ErrNotExist) {
		t.Errorf("Err = %v", m.Err())
	}
	a, b := number(t, m, "a"), number(t, m, "b")
	if a < FirstVolatile || b != a+1 || number(t, m, "a") != a {
		t.Errorf("numbers without a file: %d, %d", a, b)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	until(t, "the saver to try again", func() bool { return m.Err() == nil })
	if c := number(t, m, "c"); c != 0 {
		t.Errorf("first number in a new file: %d", c)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if again := open(t, filepath.Join(dir, "f")); number(t, again, "a") != a || again.Len() != 3 {
		t.Errorf("opened again: Len %d", again.Len())
	}
}

// TestNotAFile: what cannot be read is neither believed nor replaced.
func TestNotAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	m := open(t, path)
	if m.Err() == nil || m.Damage() != nil || number(t, m, "a") < FirstVolatile {
		t.Errorf("a directory: Err %v, Damage %v", m.Err(), m.Damage())
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("the directory is gone: %v", err)
	}
}

// TestDamagedOnFullDisk: as long as no good file can be written the damaged one stays
// in its place, so that a kill does not begin again at zero.
func TestDamagedOnFullDisk(t *testing.T) {
	path := filepath.Join(mount(t, "64k"), "f")
	data := small().encode()
	data[3] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "filler"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the file system is not full: %v", err)
	}
	for range 3 {
		m := open(t, path)
		if m.Damage() == nil || m.Err() == nil || number(t, m, "new") < FirstVolatile {
			t.Errorf("Damage %v, Err %v", m.Damage(), m.Err())
		}
		_ = m.Close()
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
		t.Errorf("the damaged file changed: %v", err)
	}
	if got := damagedFiles(path); len(got) != 1 {
		t.Errorf("set aside %v times", got)
	}
}
