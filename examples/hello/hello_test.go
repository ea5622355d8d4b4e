package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

func TestHello(t *testing.T) {
	c := pmdatest.Start(t, hello())
	if v, err := c.Value("hello.uptime", ""); err != nil {
		t.Errorf("hello.uptime: %v", err)
	} else if s, _ := v.Float64(); !(s > 0) {
		t.Errorf("hello.uptime is %v", v)
	}
}

func TestHelloStores(t *testing.T) {
	c := pmdatest.Start(t, hello())
	c.Client(0, 1000, 1000, 4711)
	if err := c.Store("hello.mood", "anna", pcp.Num[int32](7)); err != nil {
		t.Fatalf("storing anna's mood: %v", err)
	}
	for name, want := range map[string]string{"anna": "7", "bert": "0"} {
		if v, err := c.Value("hello.mood", name); err != nil || v.String() != want {
			t.Errorf("mood of %s: %v, %v; want %s", name, v, err, want)
		}
	}
	if err := c.Store("hello.uptime", "", pcp.Num(1.0)); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("storing into hello.uptime: %v, want %v", err, pcp.ErrPermission)
	}
	if err := c.Store("hello.mood", "carl", pcp.Num[int32](1)); !errors.Is(err, pcp.ErrInst) {
		t.Errorf("storing carl's mood: %v, want %v", err, pcp.ErrInst)
	}
}

// The ids of people are the same after a restart.
func TestIDsAreKept(t *testing.T) {
	dir := t.TempDir()
	var first []pcp.Instance
	for range 2 {
		t.Run("", func(t *testing.T) {
			c := pmdatest.StartOptions(t, hello(), pmda.Options{StateDir: dir})
			d, err := c.Desc("hello.mood")
			if err != nil {
				t.Fatal(err)
			}
			got := c.Instances(d.InDom)
			if first == nil {
				first = got
			}
			if len(got) != 2 || got[0] != first[0] || got[1] != first[1] {
				t.Errorf("instances %v, at first %v", got, first)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "hello.ids")); err != nil {
		t.Error(err)
	}
}

// The files for installation are all there.
func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	if err := pmda.WriteFiles(hello(), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Install", "Remove", "domain.h", "help", "pmns", "root"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// The program as dbpmda drives it: PCP's own test tool, with no pmcd.
func TestDbpmda(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "pmdahello")
	run(t, "", "go", "build", "-o", program, ".")
	run(t, "", program, "--write", dir)
	out := run(t, "open pipe "+program+" -d 500 -U root -l - --state "+dir+"\n"+
		"desc hello.mood\ninstance 500.0\nstore hello.mood \"5\"\nfetch hello.mood\nquit\n",
		"dbpmda", "-n", filepath.Join(dir, "root"), "-e")
	ended(t, filepath.Join(dir, "hello.ids.lock"))
	for _, want := range []string{"Data Type: 32-bit int", "[  0] inst: 0 name: \"anna\"", "value 5"} {
		if !strings.Contains(out, want) {
			t.Errorf("dbpmda does not say %q:\n%s", want, out)
		}
	}
}

// ended waits until the agent that dbpmda has let go of has written its files: it
// holds the lock until then, and the folder is to be removed.
func ended(t *testing.T, lock string) {
	t.Helper()
	f, err := os.Open(lock)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, input, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
