package pcptest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var built struct {
	sync.Mutex
	dir  string
	prog map[string]string
}

// Main runs the tests of a package that uses Build; call it in TestMain. Tests spend
// their time waiting, so more of them run at once than there are processors.
func Main(m *testing.M) int {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set("6")
	}
	dir, err := os.MkdirTemp("/tmp", "pcptest-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built.dir, built.prog = dir, make(map[string]string)
	return m.Run()
}

// Build returns a program built from a package of this module, such as pmdas/lan. It
// is built once in the life of the test process, under a name of its own: PCP's
// installation scripts kill every process called pmdaNAME, and may run in a test of
// another package at the same time.
func Build(t testing.TB, name, pkg string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		t.Fatal("the package has no TestMain that calls pcptest.Main")
	}
	if path := built.prog[pkg]; path != "" {
		return path
	}
	path := filepath.Join(built.dir, "test-"+name)
	c := exec.Command("go", "build", "-o", path, "./"+pkg)
	c.Dir = moduleRoot(t)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	built.prog[pkg] = path
	return path
}

func moduleRoot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
