package collect

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// TestVisitors: processes come and go while the collector removes each file of names as
// soon as it has no user. Each process counts, in the names that it found or in new ones.
func TestVisitors(t *testing.T) {
	const visitors = 200
	bin := t.TempDir()
	lib, err := filepath.Abs("../../../../libarm")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"make", "-s", "-C", lib, "BUILD=" + bin, bin + "/libarm.a"},
		{"cc", "-Wall", "-Wextra", "-Werror", "-I" + lib + "/include", "-o", bin + "/visitors", "testdata/visitors.c",
			bin + "/libarm.a", "-pthread"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	dir := t.TempDir()
	conf := DefaultConfig()
	conf.Timeout = time.Nanosecond
	c, err := newCollector(conf, Options{Dir: dir}, host{now: clocks, alive: processes().alive, step: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	cmd := exec.Command(bin+"/visitors", strconv.Itoa(visitors))
	cmd.Env, cmd.Stderr = append(os.Environ(), layout.DirEnv+"="+dir), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	look := func() {
		c.dir.changed = true
		c.look()
	}
	for running := true; running; look() {
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
	}
	waitFor(t, func() bool {
		look()
		return c.Snapshot().Health.NameFiles == 0
	})
	s := c.Snapshot()
	t.Logf("%d files of names were removed", s.Health.Retired)
	if len(s.Trans) != 1 || s.Health.Errors != 0 || s.Health.Retired < 1 {
		t.Fatalf("%d rows, %+v", len(s.Trans), s.Health)
	}
	if n := s.Row(0).Count; n != visitors {
		t.Errorf("%d counted, want %d", n, visitors)
	}
}
