package pmda_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramWrites files that PCP's tools read.
func TestProgramWrites(t *testing.T) {
	exe := build(t, "../examples/hello")
	dir := stateDir(t, filepath.Dir(exe))
	if out, err := exec.Command(exe, "--write", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("--write: %v: %s", err, out)
	}
	out, err := exec.Command("pminfo", "-n", filepath.Join(dir, "root"), "-m", "hello").CombinedOutput()
	if want := "hello.mood PMID: 500.0.1\nhello.uptime PMID: 500.0.0\n"; err != nil || string(out) != want {
		t.Errorf("pminfo reads %q, %v, want %q", out, err, want)
	}
	text, err := os.ReadFile(filepath.Join(dir, "help"))
	if err != nil {
		t.Fatal(err)
	}
	help := exec.Command("/usr/lib/pcp/bin/newhelp", "-n", "root", "-o", "help")
	help.Dir = dir
	help.Stdin = strings.NewReader(strings.ReplaceAll(string(text), "@ HELLO.", "@ 500.")) // as pmdaproc.sh does
	if out, err := help.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("newhelp: %v: %s", err, out)
	}
	for _, script := range []string{"Install", "Remove"} {
		info, err := os.Stat(filepath.Join(dir, script))
		if err != nil || info.Mode() != 0o755 {
			t.Errorf("%s: mode %v, %v", script, info.Mode(), err)
			continue
		}
		if out, err := exec.Command("sh", "-n", filepath.Join(dir, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
	if out, err := exec.Command(exe, "--write", filepath.Join(dir, "no", "folder")).CombinedOutput(); err == nil {
		t.Errorf("--write into no folder: %s", out)
	}
}

// TestProgramTries prints values without PCP.
func TestProgramTries(t *testing.T) {
	exe := build(t, "../examples/hello")
	cmd := exec.Command(exe, "--try", "--json", "--count", "3", "--every", "0.01")
	cmd.Dir = filepath.Dir(exe)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d rounds, want 3:\n%s", len(lines), out)
	}
	for _, line := range lines {
		var round struct{ Metrics map[string]any }
		if err := json.Unmarshal([]byte(line), &round); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		mood, _ := round.Metrics["hello.mood"].(map[string]any)
		if up, ok := round.Metrics["hello.uptime"].(float64); !ok || up <= 0 || mood["anna"] != 0.0 || len(mood) != 2 {
			t.Errorf("round %s", line)
		}
	}
}
