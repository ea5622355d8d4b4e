package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shell runs lines of shell with the functions of the scripts named, in an empty
// folder, and returns what they print and their exit status.
func shell(t *testing.T, dir, scripts, lines string) (string, int) {
	t.Helper()
	text := "set -u\nprog=test\ntop='" + top(t) + "'\n"
	for _, s := range strings.Fields(scripts) {
		text += ". '" + top(t, "scripts", s+".sh") + "'\n"
	}
	c := exec.Command("/bin/sh", "-c", text+lines)
	c.Dir = dir
	c.Env = append(os.Environ(), "PATH="+dir+"/bin:"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// write writes files into a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSelectAgents(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"lan", "pmdas/lan\n"},
		{"rtlan", "pmdas/lan\n"},
		{"rtlan lan", "pmdas/lan\npmdas/lan\n"},
	} {
		if out, code := shell(t, top(t), "common", "select_agents "+c.args); code != 0 || out != c.want {
			t.Errorf("%s: %q, exit status %d; want %q", c.args, out, code, c.want)
		}
	}
	out, code := shell(t, top(t), "common", "select_agents nosuch")
	if code == 0 || !strings.Contains(out, "no agent is called nosuch") || !strings.Contains(out, "rtlan (lan)") {
		t.Errorf("nosuch: %q, exit status %d", out, code)
	}
	if out, _ := shell(t, top(t), "common", "select_agents"); !strings.Contains(out, "pmdas/lan\n") {
		t.Errorf("all agents: %q", out)
	}
}

func TestDomainOwner(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"pmcd.conf": "# a 470 comment\nroot\t1\tpipe\tbinary /x\n" +
		"other\t470\tpipe\tbinary\t/y -d 470\n\n[access]\nallow 471 : all;\n"})
	for _, c := range []struct{ domain, want string }{{"470", "other\n"}, {"1", "root\n"}, {"471", ""}, {"47", ""}} {
		out, _ := shell(t, dir, "common pmcd", "PCP_PMCDCONF_PATH=pmcd.conf; domain_owner "+c.domain)
		if out != c.want {
			t.Errorf("domain %s: %q, want %q", c.domain, out, c.want)
		}
	}
}

// TestMissing has a pmprobe that says what the real one would.
func TestMissing(t *testing.T) {
	const expect = "# comment\n\na.hosts\na.up if a.hosts\na.rtt if a.up\n"
	for _, c := range []struct{ name, probe, want string }{
		{"all there", "a.hosts 1 2\na.up 2 1 0\na.rtt 1 0.5\n", ""},
		{"hosts are down", "a.hosts 1 2\na.up 2 0 0\na.rtt 0\n", ""},
		{"no hosts", "a.hosts 1 0\na.up 0\na.rtt 0\n", ""},
		{"not settled yet", "a.hosts 1 2\na.up 0\na.rtt 0\n", "a.up: no value\n"},
		{"up but no value", "a.hosts 1 2\na.up 2 1 1\na.rtt 0\n", "a.rtt: no value\n"},
		{"none at present", "a.hosts 1 0\na.x -12351 Missing metric value(s)\n", ""},
		{"name unknown", "a.up 0\n", "a.hosts: no value\n"},
		{"error", "a.hosts 1 0\na.x -12389 Try again. Information not currently available\n",
			"a.x: Try again. Information not currently available\n"},
		{"pmcd is gone", "pmprobe: Cannot connect to PMCD: Connection refused\n",
			"pmprobe: Cannot connect to PMCD: Connection refused\na.hosts: no value\n"},
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{
			"expect": expect, "probe": c.probe, "bin/pmprobe": "#!/bin/sh\ncat " + dir + "/probe\n",
		})
		out, _ := shell(t, dir, "common pmcd", "missing expect a")
		if out != c.want {
			t.Errorf("%s: %q, want %q", c.name, out, c.want)
		}
	}
}

func TestPutConfig(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"default": "one\n"})
	put := func() string {
		t.Helper()
		out, code := shell(t, dir, "common files", "manifest=list known=/dev/null; : >list; put_config default etc/a.conf a.conf; echo; cat list")
		if code != 0 {
			t.Fatalf("exit status %d: %s", code, out)
		}
		return out
	}
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return string(text)
	}
	if list := put(); read("etc/a.conf") != "one\n" || list != "\netc/\na.conf\n" {
		t.Errorf("first: %q, listed %q", read("etc/a.conf"), list)
	}
	if put(); read("etc/a.conf.new") != "" {
		t.Error("a new default beside a configuration that is the default")
	}
	write(t, dir, map[string]string{"etc/a.conf": "mine\n"})
	out := put()
	if read("etc/a.conf") != "mine\n" || read("etc/a.conf.new") != "one\n" {
		t.Errorf("changed: %q, new default %q", read("etc/a.conf"), read("etc/a.conf.new"))
	}
	if !strings.Contains(out, "is kept as it is") || !strings.HasSuffix(out, "\netc/a.conf.new\na.conf\n") {
		t.Errorf("changed: said and listed %q", out)
	}
}

func TestRemoveListed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a/b/gone": "", "a/b c/gone too": "", "a/stays": "", "x/not listed": "", "y/listed": "",
		"old": "a/b/\na/b/gone\na/b c/\na/b c/gone too\na/\na/stays\nnever/\nnever/was\nx/\ny/listed\n", "new": "a/stays\n",
	})
	if out, code := shell(t, dir, "common files", "remove_listed old new; find a x y | sort"); code != 0 ||
		out != "a\na/stays\nx\nx/not listed\ny\n" {
		t.Errorf("left, exit status %d:\n%s", code, out)
	}
}

// TestSharedFolders: two lists have files in a folder that the first one made. The folder
// is removed together with the last of them. A folder that was there before stays.
func TestSharedFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"file": "", "there/before": ""})
	out, code := shell(t, dir, "common files", `rm there/before
known=/dev/null manifest=one; : >one; put 644 file there/made/deep/a
known=one manifest=two; : >two; put 644 file there/made/b && put_link b there/made/c && echo two >>two
cat one two >known
known=known manifest=again; : >again; put 644 file there/made/deep/a && echo one >>again && replace_list one again
remove_listed one /dev/null; find there; echo
remove_listed two /dev/null; find there one two`)
	want := "there\nthere/made\nthere/made/b\nthere/made/c\n\nthere\n"
	if lines := strings.SplitN(out, "find:", 2); code == 0 || len(lines) != 2 || !equalLines(lines[0], want) {
		t.Errorf("exit status %d, left\n%swant\n%s", code, out, want)
	}
}

// equalLines compares lines in any order.
func equalLines(a, b string) bool {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// TestPut replaces a program that is running.
func TestPut(t *testing.T) {
	dir := t.TempDir()
	out, code := shell(t, dir, "common files", `manifest=list known=/dev/null
: >list
cp /bin/sleep prog
./prog 60 &
put 755 /bin/true prog
kill -0 $! && ./prog && echo replaced
kill $!
cat list
ls -A`)
	if code != 0 || out != "replaced\nprog\nbin\nlist\nprog\n" && out != "replaced\nprog\nlist\nprog\n" {
		t.Errorf("exit status %d: %q", code, out)
	}
}

// TestStubSystemctl looks which systemctl is found while packages are installed.
func TestStubSystemctl(t *testing.T) {
	out, code := shell(t, t.TempDir(), "common packages", `systemd_runs() { false; }
with_stub_systemctl sh -c 'systemctl start nosuch.service && command -v systemctl'
systemd_runs() { true; }
with_stub_systemctl sh -c 'exit 3'`)
	line, _, _ := strings.Cut(out, "\n")
	if code != 3 || !strings.HasPrefix(line, os.TempDir()) {
		t.Errorf("exit status %d: %q", code, out)
	}
	if _, err := os.Stat(line); err == nil {
		t.Errorf("%s is left", line)
	}
}

// TestNoGo asks for Go where there is none.
func TestNoGo(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"bin/go": "#!/bin/sh\necho go version go1.19.8 linux/amd64\n"})
	out, code := shell(t, dir, "common build", "find_go")
	if code != 1 || !strings.Contains(out, "Go 1.19 is too old") {
		t.Errorf("old Go: exit status %d: %s", code, out)
	}
}

// TestEach runs targets that succeed, that fail with a list, that fail without one, and
// that do not exist.
func TestEach(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(top(t, "scripts/each"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"scripts/each": string(text), "Makefile": `
good:
	@echo 3 passed, 0 failed, 0 skipped
lists: one two
one:
	@echo FAILED pkg TestA/b; echo 1 passed, 1 failed, 0 skipped; exit 1
two:
	@echo FAILED pkg TestC "(skipped)"; echo 5 passed, 0 failed, 1 skipped; exit 1
silent: silent-part
silent-%:
	@exit 3
`})
	run := func(targets ...string) (string, int) {
		t.Helper()
		c := exec.Command(filepath.Join(dir, "scripts/each"), targets...)
		out, err := c.CombinedOutput()
		if c.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	out, code := run("good")
	if code != 0 || !strings.HasSuffix(out, "\n== nothing failed\ntotal: 3 passed, 0 failed, 0 skipped\n") {
		t.Errorf("good: exit status %d:\n%s", code, out)
	}
	out, code = run("lists", "silent", "nosuch", "good")
	want := "\n== failed\n  lists: pkg TestA/b\n  lists: pkg TestC (skipped)\n  silent: silent-part\n" +
		"  nosuch: exit status 2\ntotal: 9 passed, 1 failed, 1 skipped\n"
	if code != 1 || !strings.HasSuffix(out, want) {
		t.Errorf("exit status %d, printed\n%swant at the end%s", code, out, want)
	}
}
