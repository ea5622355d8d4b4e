//go:build system

package install

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestInstallRemove takes the agent through its life on a machine.
func TestInstallRemove(t *testing.T) {
	s := newSystem(t)
	files, agents, names, pmcd := s.files(), s.agents(), s.names(), s.pmcd()

	out := s.must(top(t, "Install"), "rtlan")
	s.installed(out)
	line := "rtlan 470 pipe binary " + s.env["PCP_PMDAS_DIR"] + "/rtlan/pmdartlan -d 470"
	same(t, "agents after Install", s.agents(), append(slices.Clone(agents), line))
	s.upgrade()

	// Out of pmcd in PCP's manner, and back.
	dir := filepath.Join(s.env["PCP_PMDAS_DIR"], "rtlan")
	s.inDir(dir, "./Remove")
	s.gone()
	s.inDir(dir, "./Install")
	if st := s.status("rtlan"); st != "0" {
		t.Errorf("pmcd.agent.status is %q", st)
	}

	ids := s.instances("rtime.lan.requests")
	s.must(top(t, "Remove"), "lan")
	same(t, "agents after Remove", s.agents(), agents)
	same(t, "names after Remove", s.names(), names)
	same(t, "files after Remove", s.files(), append(files, s.conf(), filepath.Dir(s.conf()), s.ids(), s.ids()+".lock"))
	s.gone()

	s.must(top(t, "Install"))
	if got := s.instances("rtime.lan.requests"); fmt.Sprint(got) != fmt.Sprint(ids) {
		t.Errorf("ids after Remove and Install: %v, before: %v", got, ids)
	}
	s.cutOut("rtlan")
	s.must(top(t, "Remove"), "--purge")
	same(t, "names after Remove --purge", s.names(), names)
	same(t, "files after Remove --purge", s.files(), files)
	same(t, "agents after Remove --purge", s.agents(), agents)
	s.gone()
	if _, err := os.Stat("/run/rtime"); err == nil {
		t.Error("the folder of the agents' segments is there yet")
	}
	s.must(top(t, "Remove"), "--purge") // nothing to do is no error
	if s.pmcd() != pmcd {
		t.Error("pmcd was restarted")
	}
}

// installed checks what is there after the first installation.
func (s *system) installed(out string) {
	s.t.Helper()
	for _, want := range []string{
		`rtime.lan.respavg`, `inst [0 or "localhost"] value 1`, "== rtlan: installed; the values are there",
	} {
		if !strings.Contains(out, want) {
			s.t.Errorf("Install did not print %q:\n%s", want, out)
		}
	}
	if st := s.status("rtlan"); st != "0" {
		s.t.Errorf("pmcd.agent.status is %q", st)
	}
	s.must("man", "-w", "pmdartlan")
	if out := s.must("pmrep", "-s", "1", ":rtlan"); !strings.Contains(out, "localhost") {
		s.t.Errorf("pmrep :rtlan: %s", out)
	}
	if out := s.must("pmieconf", "-f", filepath.Join(s.t.TempDir(), "pmie"), "rules", "enabled"); !strings.Contains(out, "rtime.lan_down") {
		s.t.Errorf("pmieconf does not know the rules: %s", out)
	}
	file := filepath.Join(s.t.TempDir(), "pmlogger")
	s.must("pmlogconf", "-c", "-q", file)
	if text, _ := os.ReadFile(file); !bytes.Contains(text, []byte("#+ rtime/lan:y")) {
		s.t.Error("pmlogconf does not include the group")
	}
	s.unprivileged()
}

// unprivileged looks at the process of the agent.
func (s *system) unprivileged() {
	s.t.Helper()
	pid := s.agentPID()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		s.t.Fatal(err)
	}
	uid, _ := pcptest.UID(s.t)
	for field, want := range map[string]string{
		"Uid":    strings.Repeat("\t"+strconv.Itoa(uid), 4),
		"CapEff": "\t0000000000000000", "CapPrm": "\t0000000000000000",
	} {
		if !strings.Contains(string(text), "\n"+field+":"+want+"\n") {
			s.t.Errorf("the agent's process: want %s:%s in\n%s", field, want, text)
		}
	}
}

// agentPID returns the process that runs the installed agent.
func (s *system) agentPID() string {
	s.t.Helper()
	program := s.env["PCP_PMDAS_DIR"] + "/rtlan/pmdartlan\x00"
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil && strings.HasPrefix(string(text), program) {
			return filepath.Base(filepath.Dir(line))
		}
	}
	s.t.Fatal("no process runs the agent")
	return ""
}

// upgrade installs again after the configuration was changed. The configuration stays, and
// so do the ids.
func (s *system) upgrade() {
	s.t.Helper()
	const mine = "interval 1\nhost 127.0.0.2 localhost\n"
	if err := os.WriteFile(s.conf(), []byte(mine), 0o644); err != nil {
		s.t.Fatal(err)
	}
	pid := s.agentPID()
	out := s.must(top(s.t, "Install"), "rtlan")
	if !strings.Contains(out, s.conf()+" is kept as it is") {
		s.t.Errorf("nothing is said of the configuration:\n%s", out)
	}
	if text, _ := os.ReadFile(s.conf()); string(text) != mine {
		s.t.Errorf("the configuration was changed: %q", text)
	}
	if _, err := os.Stat(s.conf() + ".new"); err != nil {
		s.t.Errorf("the new default: %v", err)
	}
	// The new host may have any id but that of another; a killed agent skips some.
	if ids := s.instances("rtime.lan.requests"); ids["localhost"] != "0" || ids["127.0.0.2"] == "0" || len(ids) != 2 {
		s.t.Errorf("ids %v, want localhost 0 and another for 127.0.0.2", ids)
	}
	if s.agentPID() == pid {
		s.t.Error("the old program still runs")
	}
}

// cutOut removes an agent's line from pmcd.conf, as with an editor, and leaves all other
// lines.
func (s *system) cutOut(agent string) {
	s.t.Helper()
	s.must("sed", "-i", "/^"+agent+"[[:space:]]/d", filepath.Join(s.env["PCP_SYSCONF_DIR"], "pmcd", "pmcd.conf"))
	s.must("pkill", "-HUP", "-x", "pmcd")
}

// gone checks that pmcd has forgotten the agent.
func (s *system) gone() {
	s.t.Helper()
	if st := s.status("rtlan"); st != "" {
		s.t.Errorf("pmcd.agent.status of the removed agent is %q", st)
	}
	if out, code := s.run("pminfo", "rtime.lan"); code == 0 {
		s.t.Errorf("there are metrics yet: %s", out)
	}
}

// TestNoValues: Install fails because a value is missing.
func TestNoValues(t *testing.T) {
	s := newSystem(t)
	tree := filepath.Join(t.TempDir(), "name with blanks")
	s.must("cp", "-a", top(t), tree)
	expect := filepath.Join(tree, "pmdas/lan/expect")
	text, err := os.ReadFile(expect)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(expect, append(text, "rtime.lan.nosuch\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	out, code := s.runEnv([]string{"RTIME_WAIT=2"}, filepath.Join(tree, "Install"), "rtlan")
	if code != 1 || !strings.Contains(out, "rtime.lan.nosuch: no value") || !strings.Contains(out, "without values: rtlan") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	if out, code := s.run(filepath.Join(tree, "Install"), "nosuch"); code != 1 || !strings.Contains(out, "no agent is called nosuch") {
		t.Errorf("nosuch: exit status %d:\n%s", code, out)
	}
}

// TestExample installs the example as docs/writing-an-agent.md does.
func TestExample(t *testing.T) {
	s := newSystem(t)
	files, agents := s.files(), s.agents()
	dir := filepath.Join(s.env["PCP_PMDAS_DIR"], "hello")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(s.env["PCP_VAR_DIR"], "config", "pmda")
	t.Cleanup(func() {
		os.RemoveAll(dir)
		left, _ := filepath.Glob(filepath.Join(state, "hello.*"))
		for _, path := range left {
			os.Remove(path)
		}
		same(t, "files", s.files(), files)
		same(t, "agents", s.agents(), agents)
	})
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "pmdahello"), "./examples/hello")
	build.Dir = top(t)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.must(filepath.Join(dir, "pmdahello"), "--write", dir)
	s.inDir(dir, "./Install")
	for _, want := range []string{`inst [0 or "anna"] value 0`, `inst [1 or "bert"] value 0`} {
		if out := s.must("pminfo", "-f", "hello"); !strings.Contains(out, want) {
			t.Errorf("pminfo -f hello lacks %q:\n%s", want, out)
		}
	}
	s.must("pmstore", "-i", "anna", "hello.mood", "3")
	if out := s.must("pmprobe", "-v", "hello.mood"); out != "hello.mood 2 3 0\n" {
		t.Errorf("pmprobe: %q", out)
	}
	s.inDir(dir, "./Remove")
	if st := s.status("hello"); st != "" {
		t.Errorf("pmcd.agent.status of the removed agent is %q", st)
	}
}

// inDir runs a script of PCP's kind, which has to be run in its own folder.
func (s *system) inDir(dir, script string) {
	s.t.Helper()
	s.must("/bin/sh", "-c", "cd "+dir+" && exec "+script+" </dev/null")
}

// TestDomainTaken has the example's own Install find its domain number with another agent.
func TestDomainTaken(t *testing.T) {
	s := newSystem(t)
	conf := s.env["PCP_PMCDCONF_PATH"]
	before, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.env["PCP_PMDAS_DIR"], "hello")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.RemoveAll(dir)
		if err := os.WriteFile(conf, before, 0o644); err != nil {
			t.Error(err)
		}
	})
	taken := append([]byte("squatter\t500\tpipe\tbinary\t/bin/false\n"), before...)
	if err := os.WriteFile(conf, taken, 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "pmdahello"), "./examples/hello")
	build.Dir = top(t)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.must(filepath.Join(dir, "pmdahello"), "--write", dir)
	out, code := s.run("/bin/sh", "-c", "cd "+dir+" && exec ./Install </dev/null")
	if want := "the agent squatter in " + conf + " has the domain number 500"; code != 1 || !strings.Contains(out, want) {
		t.Errorf("exit status %d, want %q in\n%s", code, want, out)
	}
	if text, err := os.ReadFile(conf); err != nil || !bytes.Equal(text, taken) {
		t.Errorf("Install changed %s, %v:\n%s", conf, err, text)
	}
}
