package main

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/spmi"
)

// segments makes a directory as the agent does.
func segments(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "claims"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The agent sees what is supplied.
func TestGadgets(t *testing.T) {
	dir := segments(t)
	var f factory
	s, err := f.open(spmi.Options{Dir: dir, Name: "gadgets"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	f.work()
	f.work()
	var values bingo
	if err := s.Add(&spmi.Context{Path: "Moretest/Bingo", Values: &values}); err != nil {
		t.Fatal(err)
	}
	values.Problems.Add(0.5)
	out := try(t, dir)
	for _, want := range []string{
		`"dds.IBM.Test.gadgets":4`, `"dds.IBM.Test.widgets":2`, `"dds.IBM.Moretest.SubTest.level":28`,
		`"dds.IBM.Moretest.SubTest.queue":2`, `"dds.IBM.Moretest.problems":{"Bingo":0.5}`, `"rtime.dds.supplier.state":{"gadgets@`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	var second factory
	if _, err := second.open(spmi.Options{Dir: dir}); !errors.Is(err, spmi.ErrDuplicate) {
		t.Errorf("a second supplier of the same paths: %v, want %v", err, spmi.ErrDuplicate)
	}
}

// Without the agent the program works, and knows that nobody sees its statistics.
func TestNobodySees(t *testing.T) {
	var f factory
	s, err := f.open(spmi.Options{Dir: filepath.Join(t.TempDir(), "none")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !errors.Is(s.Err(), spmi.ErrNoShmPtr) {
		t.Errorf("%v, want %v", s.Err(), spmi.ErrNoShmPtr)
	}
	f.work()
	if n := f.Test.Gadgets.Value(); n != 2 {
		t.Errorf("%d gadgets, want 2", n)
	}
}

// try has the agent print all values.
func try(t *testing.T, dir string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "try-dds")
	if out, err := exec.Command("go", "build", "-o", exe, "../../pmdas/dds").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	me, err := user.Current() // the agent becomes the user that PCP runs as, which may not look here
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, "-U", me.Username, "--try", "--json", "--count", "1", "--dir", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
