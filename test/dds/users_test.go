package dds

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// opened starts a supplier that only opens, and returns the error that it prints, or "<nil>".
func opened(t *testing.T, p *pcptest.PCP, uid uint32) string {
	t.Helper()
	c := exec.Command(p.Path("supplier")) // startSupplier has put it there
	c.Env = append(p.Env(), "DDS_TEST_SUPPLIER="+p.Path("run/dds"))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v", out, err)
	}
	return string(out)
}

// segments lists the segments in a folder.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.dds"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// later waits until a new file gets a later time than an existing one. The file system's
// clock advances in steps.
func later(t *testing.T, path string) {
	t.Helper()
	probe := filepath.Join(t.TempDir(), "probe")
	pcptest.Eventually(t, "the file system's clock goes on", func() error {
		old, err := os.Stat(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(probe, nil, 0o600); err != nil {
			return err
		}
		now, err := os.Stat(probe)
		if err == nil && !now.ModTime().After(old.ModTime()) {
			err = fmt.Errorf("it is %v", now.ModTime())
		}
		return err
	})
}

// TestUsers: two users want one path, and the first supplier has it as long as it lives.
// The library refuses the second. The agent does not give the path to a supplier that went
// around the library, not even after a restart. A dead supplier holds nothing.
func TestUsers(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	const first, second = 65534, 1 // whose files' names sort the other way round
	s := startSupplier(t, p, first)
	s.do("gadgets")
	is(t, p, "dds.IBM.Test.gadgets", "", "1")
	for range 2 {
		if out := opened(t, p, second); !strings.Contains(out, "(193)") {
			t.Errorf("the second user is told %q", out)
		}
	}
	rogue := startRogue(t, p, s, second)
	rogue.do("gadgets")
	rogue.do("gadgets")
	is(t, p, "rtime.dds.supplier.errors", "SpmiSupl@daemon", "2")
	is(t, p, "rtime.dds.supplier.contexts", "SpmiSupl@daemon", "0")
	is(t, p, "dds.IBM.Test.gadgets", "", "1")
	restart(t, p)
	is(t, p, "rtime.dds.agent.suppliers", "", "2")
	is(t, p, "dds.IBM.Test.gadgets", "", "1")
	is(t, p, "rtime.dds.supplier.errors", "SpmiSupl@daemon", "2")
	rogue.kill()
	is(t, p, "rtime.dds.agent.suppliers", "", "1")

	s.kill() // leaves its file behind, and nothing else
	startSupplier(t, p, second)
	is(t, p, "dds.IBM.Test.gadgets", "", "0")
	is(t, p, "rtime.dds.supplier.contexts", "SpmiSupl@daemon", "2")
	if out := opened(t, p, first); !strings.Contains(out, "(193)") {
		t.Errorf("now the first user is told %q", out)
	}
	is(t, p, "rtime.dds.agent.waiting", "", "0")
	pcptest.Eventually(t, "only the living have a segment", func() error {
		if list := segments(t, p.Path("run/dds")); len(list) != 1 || !strings.HasPrefix(filepath.Base(list[0]), fmt.Sprintf("%d-", second)) {
			return fmt.Errorf("%v", list)
		}
		return nil
	})
}

// startRogue starts a supplier with the statistics of s in a folder of its own, and moves
// its segment beside the others.
func startRogue(t *testing.T, p *pcptest.PCP, s *supplier, uid int) *supplier {
	t.Helper()
	later(t, segments(t, p.Path("run/dds"))[0])
	dir := p.Path("run/rogue")
	for _, path := range []string{dir, filepath.Join(dir, "claims")} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	rogue := startSupplierIn(t, p, uid, dir)
	path := segments(t, dir)[0]
	rogue.path = path
	if _, gid := pcptest.UID(t); os.Chown(path, uid, gid) != nil {
		t.Fatal("the agent has no access")
	}
	if err := os.Rename(path, p.Path("run/dds", filepath.Base(path))); err != nil {
		t.Fatal(err)
	}
	return rogue
}

// restart kills the agent and waits until pmcd has started it again.
func restart(t *testing.T, p *pcptest.PCP) {
	t.Helper()
	old := p.AgentPID(program(t))
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	pcptest.Eventually(t, "pmcd has started the agent again", func() error {
		p.Try("pminfo", "-h", "local:", "-f", "rtime.dds.agent.suppliers")
		if pids := p.AgentPIDs(program(t)); len(pids) != 1 || pids[0] == old {
			p.HangUp()
			return fmt.Errorf("processes %v", pids)
		}
		return nil
	})
}

// TestAway: after a restart of the agent the metrics of a supplier that is gone are still
// there, with the same numbers and without values. Its successor needs no new names.
func TestAway(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	s := startSupplier(t, p, 65534)
	s.do("add DDS/IBM/Moretest/Bingo")
	metrics := []string{"dds.IBM.Test.gadgets", "dds.IBM.Moretest.problems"}
	describe := func() string { return p.Run("pminfo", append([]string{"-h", "local:", "-dtT"}, metrics...)...) }
	want := describe()
	s.kill()
	is(t, p, "rtime.dds.supplier.state", "SpmiSupl@nobody", "died")
	restart(t, p)
	if got := describe(); got != want {
		t.Errorf("without supplier, after a restart:\n%s\nbefore:\n%s", got, want)
	}
	has(t, fmt.Sprint(p.Try("pminfo", "-h", "local:", "-f", metrics[0])), "Missing metric value(s)")
	// pmlogger finds the name, and the values when they are there.
	p.WriteFile("logger.conf", "log mandatory on 50 msec { dds.IBM.Test.gadgets }\n")
	archive := p.Path("log/away")
	logger := p.Spawn("pmlogger", "-h", "local:", "-c", p.Path("logger.conf"), "-l", p.Path("log/pmlogger.log"), archive)
	pcptest.Eventually(t, "pmlogger writes", func() error {
		_, err := os.Stat(archive + ".0")
		return err
	})
	startSupplier(t, p, 65534)
	is(t, p, metrics[0], "", "0")
	is(t, p, "rtime.dds.supplier.subscribed", "SpmiSupl@nobody", "1")
	logger.Signal(syscall.SIGTERM)
	if code := logger.Wait(); code != 0 {
		t.Errorf("pmlogger: exit status %d: %s", code, logger.Output())
	}
	has(t, p.Run("pmdumplog", "-a", archive), "(dds.IBM.Test.gadgets): value 0")
	if got := describe(); got != want {
		t.Errorf("with its successor:\n%s\nbefore:\n%s", got, want)
	}
}

// TestNoDirectory: the agent goes on without its directory. It makes the directory again if
// it may. If it may not, it finds the directory when somebody has made it.
func TestNoDirectory(t *testing.T) {
	t.Parallel()
	for name, parent := range map[string]string{"of the agent's user": "run", "of root": "closed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pcptest.New(t, pcptest.Options{Agents: []pcptest.Agent{{Name: "dds", Domain: domain, Program: program(t),
				Args: []string{"--config", "../dds.conf", "--dir", "../" + parent + "/dds"}}}})
			p.WriteFile("dds.conf", "")
			if err := os.MkdirAll(p.Path(parent), 0o755); err != nil {
				t.Fatal(err)
			}
			p.StartPmcd()
			dir := p.Path(parent, "dds")
			s := startSupplierIn(t, p, 65534, dir)
			is(t, p, "dds.IBM.Test.gadgets", "", "0")
			// The agent may be making it again already.
			pcptest.Eventually(t, "it is removed", func() error { return os.RemoveAll(dir) })
			s.kill()
			if parent == "closed" {
				is(t, p, "rtime.dds.agent.watching", "", "0")
				logged(t, p, "watching ../closed/dds: no such file or directory")
				makeLike(t, dir)
			}
			is(t, p, "rtime.dds.agent.watching", "", "1")
			pcptest.Eventually(t, "there is a folder for claims", func() error {
				_, err := os.Stat(filepath.Join(dir, "claims"))
				return err
			})
			startSupplierIn(t, p, 65534, dir).do("gadgets")
			is(t, p, "dds.IBM.Test.gadgets", "", "1")
		})
	}
}

// makeLike makes the directory as systemd-tmpfiles does.
func makeLike(t *testing.T, dir string) {
	t.Helper()
	uid, gid := pcptest.UID(t)
	for _, d := range []struct {
		path string
		mode os.FileMode
	}{{dir, 0o773 | os.ModeSetgid | os.ModeSticky}, {filepath.Join(dir, "claims"), 0o777 | os.ModeSticky}} {
		if err := os.Mkdir(d.path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d.path, uid, gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d.path, d.mode); err != nil {
			t.Fatal(err)
		}
	}
}
