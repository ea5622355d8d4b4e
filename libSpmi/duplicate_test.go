package libspmi_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/spmi"
)

// TestOnePath: a path belongs to one supplier, whether it is in C or in Go, fixed or
// volatile.
func TestOnePath(t *testing.T) {
	dir, lib := segments(t), t.TempDir()
	for _, d := range []string{lib, filepath.Dir(lib), dir, filepath.Join(dir, layout.ClaimsDir)} { // for another user, too
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "make", "-s", "BUILD="+lib, "all")
	program := filepath.Join(lib, "types")
	run(t, "cc", "-std=gnu11", "-Iinclude", "-o", program, "test/types.c", filepath.Join(lib, "libSpmi.a"), "-pthread")
	inC := func(uid ...uint32) (said string, end func()) {
		c := exec.Command(program, filepath.Join(lib, fmt.Sprint("hook", uid)))
		c.Env = append(os.Environ(), layout.DirEnv+"="+dir)
		if len(uid) > 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid[0], Gid: uid[0]}}
		}
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 200)
		n, _ := out.Read(b)
		return strings.TrimSpace(string(b[:n])), func() { in.Close(); _ = c.Wait() }
	}
	inGo := func(path string) error {
		s, err := spmi.Open(spmi.Options{Dir: dir}, &spmi.Context{Path: path})
		if err == nil {
			err = s.Err()
			s.Close()
		}
		return err
	}
	said, end := inC()
	if said != "word 8" {
		t.Fatal(said)
	}
	for _, path := range []string{"DDS/V/Types", "DDS/V/Volatile"} {
		if err := inGo(path); !errors.Is(err, spmi.ErrDuplicate) {
			t.Errorf("%s in Go, after C: %v", path, err)
		}
	}
	end()
	s := supplier(t, spmi.Options{Dir: dir}, &spmi.Context{Path: "DDS/V/Types"})
	if said, end = inC(); said != "context DDS/V/Types is another supplier's (193)" {
		t.Errorf("in C, after Go: %q", said)
	}
	end()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if said, end = inC(); said != "word 8" {
		t.Errorf("in C, after Go has closed: %q", said)
	}
	end()
	// Root comes before another user, who is refused where root was first.
	const nobody = 65534
	said, end = inC(nobody)
	if said != "word 8" {
		t.Fatalf("nobody: %q", said)
	}
	said, endRoot := inC()
	if said != "word 8" {
		t.Errorf("root in C, after nobody: %q", said)
	}
	endRoot()
	if err := inGo("DDS/V/Types"); err != nil {
		t.Errorf("root in Go, after nobody in C: %v", err)
	}
	end()
	_, endRoot = inC()
	if said, end = inC(nobody); !strings.HasSuffix(said, "is another supplier's (193)") {
		t.Errorf("nobody, after root: %q", said)
	}
	end()
	endRoot()
	s = supplier(t, spmi.Options{Dir: dir, Volatile: []*spmi.Context{{Path: "DDS/V/X", Values: &everything{}}}})
	if err := s.Add(&spmi.Context{Path: "DDS/V/Types", Values: &everything{}}); err != nil {
		t.Fatal(err)
	}
	if said, end = inC(); said != "context DDS/V/Types is another supplier's (193)" {
		t.Errorf("in C, after a volatile one in Go: %q", said)
	}
	end()
}
