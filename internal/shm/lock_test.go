//go:build linux

package shm

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is also the process that holds a lock: a process's own locks do not
// conflict with each other.
func TestMain(m *testing.M) {
	if path := os.Getenv("SHM_TEST_LOCK"); path != "" {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: 0, Len: 1})
		}
		fmt.Println(err)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestLocked: a lock is seen while its process lives, and no longer once the process
// was killed.
func TestLocked(t *testing.T) {
	path := file(t, 100)
	m := open(t, path, Options{Max: 1000})
	locked := func(off int64) bool {
		t.Helper()
		yes, err := m.Locked(off)
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if locked(0) {
		t.Fatal("locked by nobody")
	}
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), "SHM_TEST_LOCK="+path)
	in, err := holder.StdinPipe() // open until the test ends, because the holder ends with it
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "<nil>\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	if !locked(0) || locked(1) {
		t.Errorf("byte 0 locked: %v; byte 1: %v", locked(0), locked(1))
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // its error is that it was killed
	if locked(0) {
		t.Error("the lock outlives its process")
	}
}
