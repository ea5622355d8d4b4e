// Package arm tests the agent rtarm in a private pmcd, with PCP's own tools and with
// programs in C and in Go that are measured.
package arm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestMain is also the main function of the program in Go (program_test.go) and of the one
// in scribble_test.go.
func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		obey()
		os.Exit(0)
	}
	if dir := os.Getenv(scribbleEnv); dir != "" {
		scribble(dir)
		os.Exit(0)
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "armtest-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // other users run programs from it
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs.dir = dir
	return pcptest.Main(m)
}

const (
	name   = "rtarm"
	domain = 471
)

// nobody is a user beside root who runs programs.
const nobody = 65534

func agentProgram(t *testing.T) string { return pcptest.Build(t, name, "pmdas/arm") }

// start starts a private PCP with the agent. Programs leave their files for it in a folder
// of this PCP.
func start(t *testing.T, conf string) *pcptest.PCP {
	t.Helper()
	p := pcptest.New(t, pcptest.Options{MMV: true, Agents: []pcptest.Agent{{Name: name, Domain: domain, Program: agentProgram(t),
		Args: []string{"--config", "../rtarm.conf", "--dir", "../run/arm"}}}}) // agents run in the folder of the logs
	p.WriteFile("rtarm.conf", conf)
	p.StartPmcd()
	// What a program did before the agent's first look counts, but is in no window.
	atLeast(t, p, "rtime.arm.agent.cycles", "", 1)
	return p
}

// fast is the configuration of most tests.
const fast = "interval 0.1\n"

// programs are built once.
var programs struct {
	dir string

	mu   sync.Mutex
	path string
	err  error
}

// cProgram builds libarm and the program in C with it.
func cProgram(t *testing.T) string {
	t.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if programs.path == "" && programs.err == nil {
		programs.path, programs.err = buildC(programs.dir)
	}
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return programs.path
}

func buildC(dir string) (string, error) {
	lib, err := filepath.Abs("../../libarm")
	if err != nil {
		return "", err
	}
	build, path := filepath.Join(dir, "libarm"), filepath.Join(dir, "program-c")
	for _, args := range [][]string{
		{"make", "-C", lib, "BUILD=" + build},
		{"cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-I" + lib + "/include", "-o", path, "testdata/program.c",
			build + "/libarm.a", "-lpthread"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return path, nil
}

// goProgram is this test's own, at a path that every user may use.
func goProgram(t *testing.T) string {
	t.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	path := filepath.Join(programs.dir, "program-go")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(path, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// languages runs a test with programs in each.
func languages(t *testing.T, test func(t *testing.T, exe string)) {
	for language, program := range map[string]func(*testing.T) string{"C": cProgram, "Go": goProgram} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			test(t, program(t))
		})
	}
}

// is waits until a metric has the value. "" stands for no value.
func is(t *testing.T, p *pcptest.PCP, metric, inst, want string) {
	t.Helper()
	pcptest.Eventually(t, fmt.Sprintf("%s[%s] is %q", metric, inst, want), func() error {
		values, err := p.TryValues(metric)
		if err != nil && want != "" {
			return err
		}
		if got := values[inst].Text; got != want {
			return fmt.Errorf("%v", values)
		}
		return nil
	})
}

// has fails the test unless a text has all the parts.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}
