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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// system is the machine's own PCP.
type system struct {
	t   testing.TB
	env map[string]string // what /etc/pcp.conf says
}

// ours are the agents that Install installs.
var ours = []string{"rtlan", "rtarm", "dds"}

// found is what the first of the tests found on the machine.
var found struct {
	once   sync.Once
	agents []string
	files  map[string]kept
}

// kept is a configuration, or what an agent keeps across restarts.
type kept struct {
	text     []byte
	mode     fs.FileMode
	uid, gid int
}

func init() {
	around = func(run func() int) int {
		code := run()
		if err := restore(); err != nil {
			fmt.Println("the machine is not as it was found:", err)
			return 1
		}
		return code
	}
}

// newSystem makes sure that no agent of ours is installed when the test begins, nor when it
// has ended. After all tests, the agents that the machine had come back, with their
// configurations and ids.
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
	found.once.Do(s.find)
	t.Cleanup(func() { s.must(top(t, "Remove"), "--purge") })
	s.must(top(t, "Remove"), "--purge")
	return s
}

// find remembers what is installed.
func (s *system) find() {
	s.t.Helper()
	found.files = make(map[string]kept)
	for _, agent := range ours {
		if s.status(agent) != "" {
			found.agents = append(found.agents, agent)
		}
		confs, _ := filepath.Glob(filepath.Join(s.env["PCP_SYSCONF_DIR"], agent, "*"))
		state, _ := filepath.Glob(filepath.Join(s.state(), agent+".*"))
		for _, path := range append(confs, state...) {
			info, err := os.Stat(path)
			if err != nil {
				s.t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				s.t.Fatal(err)
			}
			owner := info.Sys().(*syscall.Stat_t)
			found.files[path] = kept{text, info.Mode(), int(owner.Uid), int(owner.Gid)}
		}
	}
}

// restore brings back what find remembers.
func restore() error {
	for path, f := range found.files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.text, f.mode); err != nil {
			return err
		}
		if err := os.Chown(path, f.uid, f.gid); err != nil {
			return err
		}
	}
	if len(found.agents) == 0 {
		return nil
	}
	install, err := filepath.Abs("../../Install")
	if err != nil {
		return err
	}
	if out, err := exec.Command(install, found.agents...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", install, err, out)
	}
	return nil
}

func (s *system) conf() string  { return filepath.Join(s.env["PCP_SYSCONF_DIR"], "rtlan", "rtlan.conf") }
func (s *system) state() string { return filepath.Join(s.env["PCP_VAR_DIR"], "config", "pmda") }
func (s *system) ids() string   { return filepath.Join(s.state(), "rtlan.ids") }

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

// files lists the files of PCP on this machine, without those that come and go by
// themselves.
func (s *system) files() []string {
	s.t.Helper()
	var list []string
	for _, root := range []string{
		s.env["PCP_SYSCONF_DIR"], s.env["PCP_PMDASADM_DIR"], s.env["PCP_VAR_DIR"], s.env["PCP_SHARE_DIR"],
		s.env["PCP_BINADM_DIR"], s.env["PCP_MAN_DIR"] + "/man1", s.env["PCP_TMP_DIR"] + "/mmv",
		"/usr/local/lib", "/usr/local/include", "/usr/local/share/man", "/etc/ld.so.conf.d", "/usr/lib/tmpfiles.d", "/etc/tmpfiles.d",
	} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil && !os.IsNotExist(err) {
				return err
			}
			inTmp := strings.HasPrefix(path, s.env["PCP_TMP_DIR"]) && filepath.Base(path) != "rtlan"
			otherIDs := filepath.Dir(path) == s.state() && !strings.HasPrefix(filepath.Base(path), "rtlan")
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

// minus returns the elements of a that are not in b.
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
