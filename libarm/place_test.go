package libarm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// place is where the three libraries are built, with the programs that are run with them.
type place struct {
	dir       string
	cc, flags string
}

// built has what build made, until TestMain removes it.
var built = map[string]place{}

// build makes the libraries, and the programs linked with libarm; once for each compiler.
func build(t *testing.T, cc string) place {
	t.Helper()
	if p, ok := built[cc]; ok {
		return p
	}
	dir, err := os.MkdirTemp("", "libarm-interchange-")
	if err != nil {
		t.Fatal(err)
	}
	p := place{dir, cc, ""}
	built[cc] = p
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "make", "-s", "BUILD="+dir, "CC="+cc, "CFLAGS=-O2 -g", "all")
	run(t, nil, "sh", "-c", fmt.Sprintf("%s %s -shared -fPIC -o %s/scripted.so interchange/scripted.c", cc, defs, dir))
	for _, name := range []string{"calls", "rules", "misuse"} {
		p.compile(t, name, "interchange/"+name+".c", "-L"+dir+" -larm -Wl,-rpath,"+dir)
	}
	return p
}

func (p place) compile(t *testing.T, name, sources, link string) {
	t.Helper()
	run(t, nil, "sh", "-c", fmt.Sprintf("%s -g %s %s -o %s/%s %s %s -pthread -ldl", p.cc, defs, p.flags, p.dir, name, sources, link))
}

func (p place) path(name ...string) string { return filepath.Join(append([]string{p.dir}, name...)...) }

// run fails the test if the command does, and returns what it printed.
func run(t *testing.T, env []string, name string, arg ...string) string {
	t.Helper()
	c := exec.Command(name, arg...)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arg, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// segments returns a directory for segments, with a variable that names it.
func segments(t *testing.T) (dir, env string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Chmod(dir, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	return dir, "RTIME_ARM_DIR=" + dir
}

func logLines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stamp := regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}: `)
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for i, line := range lines {
		if !stamp.MatchString(line) {
			t.Errorf("no time: %q", line)
		}
		lines[i] = stamp.ReplaceAllString(line, "")
	}
	return lines
}
