package libarm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

func TestMain(m *testing.M) {
	code := pcptest.Main(m)
	for _, p := range built {
		os.RemoveAll(p.dir)
	}
	os.Exit(code)
}

// TestSampleCompiles: the guide's sample program as it is printed. Its main has no type, and
// sleep is not declared; where the language has done without that no longer, options help.
func TestSampleCompiles(t *testing.T) {
	const typed = "-Dmain='int main' -include unistd.h "
	compile := func(cc, options string) string {
		t.Helper()
		return run(t, nil, "sh", "-c", cc+" "+options+" -Iinclude -c -o /dev/null examples/sample.c")
	}
	for _, cc := range []string{"gcc", "clang", "gcc -m32", "clang -m32"} {
		for _, std := range []string{"c89", "gnu89"} {
			if out := compile(cc, "-Werror -std="+std); out != "" {
				t.Errorf("%s %s: %s", cc, std, out)
			}
		}
		for _, std := range []string{"c99", "gnu99", "c11", "gnu11", "c17", "gnu17", "c2x", "gnu2x"} {
			compile(cc, "-Wno-error=implicit-int -Wno-error=implicit-function-declaration -std="+std)
			compile(cc, "-Wall -Wextra -Wno-strict-prototypes -Werror "+typed+"-std="+std)
		}
		for _, std := range []string{"c++98", "c++11", "c++17", "c++20", "gnu++17"} {
			compile(cc, "-Wall -Wextra -Werror "+typed+"-x c++ -std="+std)
		}
	}
}

// TestExamplesRun runs both with libarmlog.
func TestExamplesRun(t *testing.T) {
	p := build(t, "gcc")
	t.Run("sample", func(t *testing.T) { sampleRuns(t, p) })
	t.Run("armpeek", func(t *testing.T) { armpeekRuns(t, p) })
}

// sampleRuns runs the sample until it has done two transactions: it has no end.
func sampleRuns(t *testing.T, p place) {
	run(t, nil, "sh", "-c", fmt.Sprintf("gcc -std=gnu89 -Iinclude -o %[1]s/sample examples/sample.c -L%[1]s -larm -Wl,-rpath,%[1]s", p.dir))
	file := filepath.Join(t.TempDir(), "log")
	c := exec.Command(p.path("sample"))
	c.Env = append(os.Environ(), others(p, "log")["LD_PRELOAD"], "ARM_LOGFILE="+file)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		c.Process.Kill()
		c.Wait()
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		b, err := os.ReadFile(file)
		if strings.Count(string(b), "Status <0>") >= 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v, the log is %s", err, b)
		}
	}
	for _, line := range logLines(t, file) {
		if strings.Contains(line, "ERROR") || strings.Contains(line, "INFO") {
			t.Error(line)
		}
	}
}

// armpeekRuns asks a real pmcd, and the log has its transactions, with metrics and correlators.
func armpeekRuns(t *testing.T, p place) {
	p.compile(t, "armpeek", "examples/armpeek.c", "-L"+p.dir+" -larm -lpcp -Wl,-rpath,"+p.dir)
	pmcd := pcptest.Start(t, pcptest.Options{})
	file := filepath.Join(t.TempDir(), "log")
	nobody := filepath.Join(t.TempDir(), "log")
	c := exec.Command(p.path("armpeek"), "127.0.0.1")
	c.Env = append(os.Environ(), others(p, "log")["LD_PRELOAD"], "ARM_LOGFILE="+nobody, "PMCD_PORT="+strconv.Itoa(pcptest.FreePort(t)))
	if out, err := c.CombinedOutput(); err == nil {
		t.Errorf("nobody is there, and answers: %s", out)
	}
	// A refused connection is the system's fault.
	if log := strings.Join(logLines(t, nobody), "\n"); strings.Count(log, "Status <1>") != 2 || strings.Contains(log, "Status <2>") {
		t.Error(log)
	}
	env := []string{others(p, "log")["LD_PRELOAD"], "ARM_LOGFILE=" + file, "PMCD_PORT=" + strconv.Itoa(pmcd.Port())}
	for _, c := range []struct{ flag, want string }{{"", "pmcd answers"}, {"-l", "pmcd"}, {"-a", "pmcd.numagents"}} {
		out := run(t, env, p.path("armpeek"), strings.Fields(c.flag+" 127.0.0.1")...)
		if lines := strings.Split(out, "\n"); !slices.Contains(lines, c.want) {
			t.Errorf("%q: no %q in %q", c.flag, c.want, lines)
		}
		log := strings.Join(logLines(t, file), "\n")
		for _, want := range []string{
			"arm_init: Application <armpeek> User <root> = Appl_id <1>\n",
			"Transaction <127.0.0.1" + c.flag + "> = Start_handle <1>\n",
			"Transaction <connect> Start_handle <2> Parent correlator <0016",
			"Transaction <ask> Start_handle <3> Parent correlator <0016",
			"Transaction <127.0.0.1" + c.flag + "> Start_handle <1> Status <0>\n",
			fmt.Sprintf("Metric < lines of the answer > : <%d>\n", strings.Count(out, "\n")+1),
		} {
			if !strings.Contains(log, want) {
				t.Errorf("%q: no %q in\n%s", c.flag, want, log)
			}
		}
		if strings.Contains(log, "ERROR") || strings.Contains(log, "INFO") {
			t.Errorf("%q:\n%s", c.flag, log)
		}
	}
}
