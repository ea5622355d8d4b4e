package library

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestHello runs the example of the documentation.
func TestHello(t *testing.T) {
	t.Parallel()
	p := pcptest.Start(t, pcptest.Options{Agents: []pcptest.Agent{{
		Name: "hello", Domain: 500, Program: pcptest.Build(t, "hello", "examples/hello"),
	}}})
	if up := p.Number("hello.uptime", ""); up < 0 || up > 1000 {
		t.Errorf("hello.uptime is %v", up)
	}
	p.Run("pmstore", "-h", "local:", "-i", "bert", "hello.mood", "7")
	mood := p.Values("hello.mood")
	if mood["anna"] != (pcptest.Value{ID: 0, Text: "0"}) || mood["bert"] != (pcptest.Value{ID: 1, Text: "7"}) {
		t.Errorf("hello.mood is %v", mood)
	}
	contains(t, p.Run("pminfo", "-h", "local:", "-dt", "hello"), "time since the agent was started", "Units: sec", "Semantics: discrete")
}

// TestDrafts has PCP's own programs use what --write writes besides the files for Install.
func TestDrafts(t *testing.T) {
	t.Parallel()
	exe := pcptest.Build(t, "hello", "examples/hello")
	p := pcptest.Start(t, pcptest.Options{Agents: []pcptest.Agent{{Name: "hello", Domain: 500, Program: exe}}})
	dir := t.TempDir()
	if out, err := exec.Command(exe, "--write", dir).CombinedOutput(); err != nil {
		t.Fatalf("--write: %v: %s", err, out)
	}
	p.Run("pmlogconf", "-c", "-q", "-h", "local:", "-d", filepath.Join(dir, "pmlogconf"), p.Path("pmlogger.conf"))
	contains(t, p.ReadFile("pmlogger.conf"), "#+ hello/hello:y:default:", "\thello.mood\n", "\thello.uptime\n")
	out := p.Run("pmrep", "-h", "local:", "-c", filepath.Join(dir, "pmrep", "hello.conf"), "-s", "2", "-t", "0.1", ":hello")
	contains(t, out, "anna", "bert", "mood", "uptime")
}
