//go:build linux

package spmi_test

import (
	"bufio"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	segreader "github.com/pcp-rtime/rtime/internal/ddsseg/reader"
)

// TestDies: a reader sees that a supplier lives, and sees that it is dead as soon
// as it is killed.
func TestDies(t *testing.T) {
	dir := segments(t)
	p, said := supply(t, dir, "DDS/V/a", nobody)
	if said != "<nil>" {
		t.Fatal(said)
	}
	r := reader(t, dir)
	if alive, err := r.Alive(); !alive || err != nil {
		t.Errorf("alive: %v, %v", alive, err)
	}
	if i := r.Info(); i.UID != nobody || int(i.PID) != p.cmd.Process.Pid {
		t.Errorf("%+v", i)
	}
	p.kill()
	if alive, err := r.Alive(); alive || err != nil {
		t.Errorf("alive after it was killed: %v, %v", alive, err)
	}
	_, said = supply(t, dir, "DDS/V/b", nobody)
	if names := files(t, dir); said != "<nil>" || len(names) != 2 {
		t.Errorf("beside what is left of it: %s, %v", said, names)
	}
}

// TestEnds: a reader that has a segment open sees the end of its supplier.
func TestEnds(t *testing.T) {
	dir := segments(t)
	p, said := supply(t, dir, "DDS/V/a", 0)
	if said != "<nil>" {
		t.Fatal(said)
	}
	r := reader(t, dir)
	if state, err := r.State(); state != layout.StateReady || err != nil {
		t.Errorf("state %d, %v", state, err)
	}
	p.stop()
	if state, err := r.State(); state != layout.StateEnded || err != nil {
		t.Errorf("state %d, %v", state, err)
	}
	if names := files(t, dir); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// TestFileSizeLimit: beyond this limit the kernel sends a signal to a program that
// writes. The limit only keeps the supplier from publishing.
func TestFileSizeLimit(t *testing.T) {
	dir := tmpfs(t, "1m")
	if _, said := start(t, "limited", dir, "DDS/V/a", "0"); !strings.Contains(said, syscall.EFBIG.Error()) {
		t.Error(said)
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) != 1 { // the folder of claims
		t.Errorf("left behind: %v", left)
	}
}

// TestOtherWord: this process reads what a 32-bit program supplies.
func TestOtherWord(t *testing.T) {
	program := filepath.Join(t.TempDir(), "supplier")
	build := exec.Command("go", "build", "-o", program, "./testdata/supplier")
	build.Env = append(os.Environ(), "GOARCH=386", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := segments(t)
	cmd := exec.Command(program, dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "<nil>\n" {
		t.Fatal(said, err)
	}
	r, w := reader(t, dir), watch{}
	if r.Info().Word != 4 {
		t.Errorf("word of %d bytes", r.Info().Word)
	}
	w.scan(t, r)
	minus := int64(-3)
	want := []uint64{1 << 40, uint64(minus), 0xfffffff0, math.Float64bits(0.5), 1e6}
	for _, c := range []*segreader.Context{find(t, r.Contexts(), "DDS/V/a"), w.find(t, "DDS/V/a/b")} {
		if got := values(t, r, c); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.Path, got, want)
		}
	}
}
