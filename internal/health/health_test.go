package health

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFree: the file of a process that has ended or is stopped is taken over. No other file
// is.
func TestFree(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent")
	if err := free(filepath.Join(dir, "nowhere", "agent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its folder: %v", err)
	}
	if err := free(path); err != nil {
		t.Errorf("without a file: %v", err)
	}
	file := func(pid int) {
		head := make([]byte, 64)
		binary.NativeEndian.PutUint32(head[pidOffset:], uint32(pid))
		if err := os.WriteFile(path, head, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what string
		pid  int
		want error
	}{
		{"ours", os.Getpid(), nil},
		{"a living process's", os.Getppid(), errInUse},
		{"a dead one's", 1<<22 + 1, nil}, // beyond the highest pid there is
	} {
		file(c.pid)
		if err := free(path); !errors.Is(err, c.want) {
			t.Errorf("%s file: %v, want %v", c.what, err, c.want)
		}
	}
	// A process that is stopped, one that goes on, and one that has ended and was not waited for.
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		signal syscall.Signal
		state  string
		want   error
	}{
		{syscall.SIGSTOP, "T", nil}, {syscall.SIGCONT, "S", errInUse}, {syscall.SIGKILL, "Z", nil},
	} {
		if err := child.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); !strings.Contains(stat(t, child.Process.Pid), ") "+c.state); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the child does not come to state %s", c.state)
			}
		}
		file(child.Process.Pid)
		if err := free(path); !errors.Is(err, c.want) {
			t.Errorf("the file of a process in state %s: %v, want %v", c.state, err, c.want)
		}
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) != (c.want == nil) {
			t.Errorf("the file of a process in state %s: %v", c.state, err)
		}
		if ours(path) {
			t.Errorf("the file of a process in state %s is ours", c.state)
		}
	}
	_ = child.Wait()
	file(os.Getpid())
	if !ours(path) {
		t.Error("our own file is not ours")
	}
	if err := os.WriteFile(path, []byte("MMV"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := free(path); err != nil {
		t.Errorf("a stump: %v", err)
	}
}

// TestPlace: the place is the one that PCP's configuration names.
func TestPlace(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "pcp.conf")
	if err := os.WriteFile(conf, []byte("# comment\nPCP_TMP_DIR=/somewhere/tmp\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_CONF", conf)
	t.Setenv("PCP_DIR", "")
	if got, err := place("x"); err != nil || got != "/somewhere/tmp/mmv/x" {
		t.Errorf("%q, %v", got, err)
	}
}

// stat is the line of proc(5) about a process.
func stat(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
