//go:build linux

// Package python_test runs the tests of arm.py with a libarm that it builds, and counts
// what was measured.
package python_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/measured"
	"github.com/pcp-rtime/rtime/internal/version"
)

// python is the system's, which the tests' packages are of.
const python = "/usr/bin/python3"

var libarm string // where it was built

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "python-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	libarm = dir
	if out, err := exec.Command("make", "-s", "-j2", "-C", "../libarm", "BUILD="+dir,
		filepath.Join(dir, "libarm.so.2."+version.String()), filepath.Join(dir, "null", "libarm.so.2")).CombinedOutput(); err != nil {
		os.Stderr.Write(out)
		return 1
	}
	return m.Run()
}

// run runs Python in a directory with more in its environment, and returns what it prints.
func run(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(python, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libarm, "PYTHONDONTWRITEBYTECODE=1", "PYTHONWARNINGS=error")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestUnits runs the tests in Python.
func TestUnits(t *testing.T) {
	out := run(t, "", []string{"RTIME_ARM_DIR=" + t.TempDir()}, "-m", "unittest", "-v", "test_arm")
	if strings.Count(out, "... ok\n") < 17 || strings.Contains(out, "skipped") {
		t.Error(out)
	}
}

// TestCounts: what a program in Python does is counted as what one in Go does.
func TestCounts(t *testing.T) {
	dir := t.TempDir()
	run(t, "", []string{"RTIME_ARM_DIR=" + dir}, "counts.py")
	want := map[string]measured.Ended{
		"Order": {Good: 2, Aborted: 2, Failed: 2}, "Stock": {Good: 8}, "Thread": {Good: 4002}, "Numbers": {Good: 1}, "Identifiers": {Good: 2, BadData: 1},
	}
	if got := measured.CountsOf(t, dir, "WebShop"); !maps.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got := measured.Pairs(t, dir); !maps.Equal(got, map[string]uint64{"Order > Stock": 6, "Stock > Stock": 1}) {
		t.Errorf("%v", got)
	}
	if n := measured.Running(t, dir); n != 0 {
		t.Errorf("%d run", n)
	}
	details := map[string]string{}
	for _, tr := range measured.Names(t, dir) {
		details[tr.Key] = tr.Detail
	}
	if details["Stock"] != "of goods" {
		t.Errorf("%q", details)
	}
	type value struct {
		kind      uint32
		count     uint64
		sum, last float64
		id        uint64
		text      string
	}
	metrics := measured.Metrics(t, dir)
	for key, want := range map[string][7]value{
		"Numbers": {{1, 2, 5, 4, 0, ""}, {2, 2, 1700, 1710, 0, ""}, {3, 2, 10, 15, 0, ""}, {4, 1, -7, -7, 0, ""},
			{5, 1, -70, -70, 0, ""}, {6, 1, 3.5, 3.5, 0, ""}, {10, 2, 0, 0, 0, strings.Repeat("ä", 16)}},
		"Identifiers": {{7, 1, 0, 0, 32, ""}, {8, 1, 0, 0, 1 << 63, ""}, {9, 1, 0, 0, 0, "part 471"}},
	} {
		var got [7]value
		for i, m := range metrics[key] {
			got[i] = value{m.Type, m.Count, m.Sum, m.Last, m.ID, m.Text}
		}
		if got != want {
			t.Errorf("%s: %v\nwant %v", key, got, want)
		}
	}
}

// TestWheel: the module is packaged without a compiler and is found in its wheel, with the
// version of all.
func TestWheel(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"arm.py", "pyproject.toml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
	run(t, from, []string{"PYTHONWARNINGS=ignore"}, "-c", build, to)
	wheel := filepath.Join(to, "rtime_arm-"+version.String()+"-py3-none-any.whl")
	if _, err := os.Stat(wheel); err != nil {
		t.Fatal(err)
	}
	out := run(t, to, []string{"PYTHONPATH=" + wheel}, "-c", "import arm; print(arm.__file__, arm.__version__, arm.error)")
	if want := filepath.Join(wheel, "arm.py") + " " + version.String() + " None\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
}
