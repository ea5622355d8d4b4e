//go:build system

package install

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// system is the machine's own PCP.
type system struct {
	t   *testing.T
	env map[string]string // what /etc/pcp.conf says
}

// newSystem makes sure that the agent is not installed, and sees to it that in the
// end the machine is as it was found: with the agent, if it had it, and with the
// configuration and instance ids there were.
func newSystem(t *testing.T) *system {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("these tests install and remove agents: run them as root")
	}
	s := &system{t: t, env: make(map[string]string)}
	if out, code := s.run(top(t, "scripts/test-deps")); code != 0 {
		t.Fatalf("what the tests need is not there: %s", out)
	}
	text, err := os.ReadFile("/etc/pcp.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(PCP_\w+)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		s.env[m[1]] = m[2]
	}
	before := s.status("rtlan") != ""
	kept := s.keep(s.conf(), s.ids())
	t.Cleanup(func() {
		s.must(top(t, "Remove"), "--purge", "rtlan")
		kept()
		if before {
			s.must(top(t, "Install"), "rtlan")
		}
	})
	s.must(top(t, "Remove"), "--purge", "rtlan")
	return s
}

func (s *system) conf() string { return filepath.Join(s.env["PCP_SYSCONF_DIR"], "rtlan", "rtlan.conf") }
func (s *system) ids() string {
	return filepath.Join(s.env["PCP_VAR_DIR"], "config", "pmda", "rtlan.0.ids")
}

// keep remembers files, and returns a function that brings them back.
func (s *system) keep(paths ...string) (restore func()) {
	type file struct {
		data []byte
		info fs.FileInfo
	}
	kept := make(map[string]file)
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil {
			info, err := os.Stat(path)
			if err != nil {
				s.t.Fatal(err)
			}
			kept[path] = file{data, info}
		}
	}
	return func() {
		for path, f := range kept {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				s.t.Error(err)
			}
			if err := os.WriteFile(path, f.data, f.info.Mode()); err != nil {
				s.t.Error(err)
			}
			if filepath.Dir(path) == filepath.Dir(s.ids()) {
				if out, code := s.run("chown", s.env["PCP_USER"], path); code != 0 {
					s.t.Error(out)
				}
			}
		}
	}
}

// run runs a program without a terminal and with nothing to read.
func (s *system) run(name string, args ...string) (out string, code int) {
	s.t.Helper()
	return s.runEnv(nil, name, args...)
}

func (s *system) runEnv(env []string, name string, args ...string) (out string, code int) {
	s.t.Helper()
	c := exec.Command(name, args...)
	c.Env = append(append(os.Environ(), "PATH=/usr/bin:/bin:"+os.Getenv("PATH")), env...)
	c.Dir = s.t.TempDir()
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	c.WaitDelay = 10 * time.Second
	err := c.Run()
	if c.ProcessState == nil {
		s.t.Fatal(err)
	}
	return b.String(), c.ProcessState.ExitCode()
}

func (s *system) must(name string, args ...string) string {
	s.t.Helper()
	out, code := s.run(name, args...)
	if code != 0 {
		s.t.Errorf("%s %s: exit status %d\n%s", name, strings.Join(args, " "), code, out)
	}
	return out
}

// status is what pmcd says of an agent, empty if it does not know it.
func (s *system) status(agent string) string {
	s.t.Helper()
	out, _ := s.run("pminfo", "-f", "pmcd.agent.status")
	if m := regexp.MustCompile(`or "` + agent + `"\] value (\d+)`).FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}

// files lists what PCP has on this machine, but for what comes and goes by itself.
func (s *system) files() []string {
	s.t.Helper()
	var list []string
	for _, root := range []string{
		s.env["PCP_SYSCONF_DIR"], s.env["PCP_PMDASADM_DIR"], s.env["PCP_VAR_DIR"], s.env["PCP_SHARE_DIR"],
		s.env["PCP_BINADM_DIR"], s.env["PCP_MAN_DIR"] + "/man1", s.env["PCP_TMP_DIR"] + "/mmv",
	} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil && !os.IsNotExist(err) {
				return err
			}
			inTmp := strings.HasPrefix(path, s.env["PCP_TMP_DIR"]) && filepath.Base(path) != "rtlan"
			otherIDs := filepath.Dir(path) == filepath.Dir(s.ids()) && !strings.HasPrefix(filepath.Base(path), "rtlan")
			if !inTmp && !otherIDs {
				list = append(list, path)
			}
			return nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// agents are the lines of pmcd.conf that count.
func (s *system) agents() []string {
	s.t.Helper()
	text, err := os.ReadFile(s.env["PCP_PMCDCONF_PATH"])
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			lines = append(lines, strings.Join(f, " "))
		}
	}
	slices.Sort(lines)
	return lines
}

// names are the metrics of all agents.
func (s *system) names() []string {
	s.t.Helper()
	return strings.Fields(s.must("pminfo"))
}

func (s *system) pmcd() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.env["PCP_RUN_DIR"], "pmcd.pid"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// instances returns the ids of a metric's instances by their names.
func (s *system) instances(metric string) map[string]string {
	s.t.Helper()
	ids := make(map[string]string)
	for _, m := range regexp.MustCompile(`inst \[(\d+) or "(.*?)"\] value`).FindAllStringSubmatch(s.must("pminfo", "-f", metric), -1) {
		ids[m[2]] = m[1]
	}
	return ids
}

// minus returns what is in a and not in b.
func minus(a, b []string) []string {
	var rest []string
	for _, x := range a {
		if !slices.Contains(b, x) {
			rest = append(rest, x)
		}
	}
	return rest
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if more := minus(got, want); len(more) > 0 {
		t.Errorf("%s: added: %q", what, more)
	}
	if less := minus(want, got); len(less) > 0 {
		t.Errorf("%s: lost: %q", what, less)
	}
}

// TestInstallRemove takes the agent through its life on a machine.
func TestInstallRemove(t *testing.T) {
	s := newSystem(t)
	files, agents, names, pmcd := s.files(), s.agents(), s.names(), s.pmcd()

	out := s.must(top(t, "Install"), "rtlan")
	s.installed(out)
	line := "rtlan 470 pipe binary " + s.env["PCP_PMDAS_DIR"] + "/rtlan/pmdartlan -d 470"
	same(t, "agents after Install", s.agents(), append(slices.Clone(agents), line))
	s.upgrade()

	// In PCP's manner, out of pmcd and back.
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
	s.must(top(t, "Remove"), "--purge")
	same(t, "files after Remove --purge", s.files(), files)
	same(t, "agents after Remove --purge", s.agents(), agents)
	s.gone()
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

// upgrade installs over a configuration that was changed: it stays, as do the ids.
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

// TestNoValues has Install fail for want of a value.
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

// inDir runs a script of PCP's kind, which wants to be run in its folder.
func (s *system) inDir(dir, script string) {
	s.t.Helper()
	s.must("/bin/sh", "-c", "cd "+dir+" && exec "+script+" </dev/null")
}
