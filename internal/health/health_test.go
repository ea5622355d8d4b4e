package health

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFree: a file of a process that has ended is taken over, and no other.
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
