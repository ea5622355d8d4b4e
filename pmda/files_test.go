package pmda_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pmda"
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

// TestWriteIntoAnothersFolder: an agent that has the name of another installed agent does
// not write through the links in that one's folder, and does not replace its files.
func TestWriteIntoAnothersFolder(t *testing.T) {
	theirs, links, copies, own := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	text := make(map[string]string)
	for _, name := range []string{"Install", "Remove", "domain.h", "help", "root", "pmns"} {
		text[name] = "/* of pmdazoo of another package */\n#define ZOO 444\n"
		for _, dir := range []string{theirs, copies} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text[name]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join(theirs, name), filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{links, copies} {
		if err := pmda.WriteFiles(newZoo().agent, dir); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("into another's folder: %v", err)
		}
	}
	for name, want := range text {
		for _, dir := range []string{theirs, copies} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
				t.Errorf("%s holds %q, %v", name, b, err)
			}
		}
	}

	// One link is enough, also in a folder of our own; and so is one file without domain.h.
	if err := pmda.WriteFiles(newZoo().agent, own); err != nil {
		t.Fatal(err)
	}
	again := newZoo()
	again.agent.Domain++ // the number may change
	before, err := os.ReadFile(filepath.Join(own, "domain.h"))
	if err != nil {
		t.Fatal(err)
	}
	reader := filepath.Join(t.TempDir(), "domain.h") // the file that somebody has open
	if err := os.Link(filepath.Join(own, "domain.h"), reader); err != nil {
		t.Fatal(err)
	}
	if err := pmda.WriteFiles(again.agent, own); err != nil {
		t.Errorf("again into the same folder: %v", err)
	}
	if b, err := os.ReadFile(reader); err != nil || string(b) != string(before) {
		t.Errorf("a file that somebody reads is written over: %q, %v", b, err)
	}
	if err := os.Remove(filepath.Join(own, "help")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(theirs, "help"), filepath.Join(own, "help")); err != nil {
		t.Fatal(err)
	}
	if err := pmda.WriteFiles(newZoo().agent, own); err == nil || !strings.Contains(err.Error(), "help") {
		t.Errorf("with a link in the way: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(theirs, "help")); string(b) != text["help"] {
		t.Errorf("written through the link: %q", b)
	}
	if err := errors.Join(os.Remove(filepath.Join(own, "help")), os.Remove(filepath.Join(own, "domain.h"))); err != nil {
		t.Fatal(err)
	}
	if err := pmda.WriteFiles(newZoo().agent, own); err == nil {
		t.Error("without domain.h the other files are replaced")
	}
	left, err := filepath.Glob(filepath.Join(own, ".*.*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}

// TestWriteDrafts: drafts are written once, and files that are there stay as they are.
func TestWriteDrafts(t *testing.T) {
	dir := t.TempDir()
	if err := pmda.WriteDrafts(newZoo().agent, dir); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "pmdazoo.1")
	c := exec.Command("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page)
	var said bytes.Buffer
	c.Stderr = &said
	if _, err := c.Output(); err != nil || said.Len() > 0 {
		t.Errorf("man: %v: %s", err, &said)
	}
	for _, path := range []string{page, filepath.Join(dir, "pmrep", "zoo.conf"), filepath.Join(dir, "pmlogconf", "zoo", "zoo")} {
		if err := os.WriteFile(path, []byte("edited"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := pmda.WriteDrafts(newZoo().agent, dir); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "edited" {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
}
