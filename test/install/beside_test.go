package install

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/version"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// rtlan starts a private PCP with the agent, in a network namespace of its own.
func rtlan(t *testing.T, conf string) *pcptest.PCP {
	t.Helper()
	p := pcptest.New(t, pcptest.Options{Namespace: true, Agents: []pcptest.Agent{{
		Name: "rtlan", Domain: 470, Program: pcptest.Build(t, "rtlan", "pmdas/lan"),
		Args: []string{"--config", "../rtlan.conf"},
	}}})
	p.WriteFile("rtlan.conf", conf)
	p.StartPmcd()
	return p
}

// waitFor waits until a metric of a host has the value.
func waitFor(t *testing.T, p *pcptest.PCP, metric, host, value string) {
	t.Helper()
	pcptest.Eventually(t, fmt.Sprintf("%s[%s] is %s", metric, host, value), func() error {
		if v := p.Values(metric)[host].Text; v != value {
			return fmt.Errorf("it is %q", v)
		}
		return nil
	})
}

// TestDefaultConfiguration serves the configuration that is installed.
func TestDefaultConfiguration(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(top(t, "pmdas/lan/rtlan.conf"))
	if err != nil {
		t.Fatal(err)
	}
	p := rtlan(t, string(text))
	waitFor(t, p, "rtime.lan.up", "localhost", "1")
	if log := p.Log("rtlan"); !strings.Contains(log, "probing 1 hosts") {
		t.Errorf("the agent's log: %s", log)
	}
}

// commented matches a default that the configuration file shows in a comment.
var commented = regexp.MustCompile(`(?m)^#([a-z]+)\t`)

// TestCommentedConfiguration serves the configuration with all of its commented lines
// switched on. So the file names only keywords and values that exist.
func TestCommentedConfiguration(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(top(t, "pmdas/lan/rtlan.conf"))
	if err != nil {
		t.Fatal(err)
	}
	full := commented.ReplaceAllString(string(text), "$1\t")
	if full == string(text) {
		t.Fatal("no defaults found in comments")
	}
	full = strings.Replace(full, "hosts\tiphosts\n", "", 1)
	p := rtlan(t, full)
	waitFor(t, p, "rtime.lan.up", "localhost", "1")
	if log := p.Log("rtlan"); strings.Contains(log, "rtlan.conf") {
		t.Errorf("the agent's log: %s", log)
	}
	for metric, want := range map[string]float64{"interval": 10, "maxrate": 10, "weight": 75, "window": 60} {
		if got := p.Number("rtime.lan.control."+metric, ""); got != want {
			t.Errorf("%s: %v, want %v", metric, got, want)
		}
	}
}

// TestPmlogconf has pmlogconf make a configuration with the agent and without it.
func TestPmlogconf(t *testing.T) {
	t.Parallel()
	with := rtlan(t, "host 127.0.0.1\n")
	without := pcptest.Start(t, pcptest.Options{})
	write := func(p *pcptest.PCP) string {
		file := p.Path("pmlogger.conf")
		p.Run("pmlogconf", "-c", "-q", "-h", "local:", "-d", top(t, "pmdas/lan/pmlogconf"), file)
		return p.ReadFile("pmlogger.conf")
	}
	conf := write(with)
	if !strings.Contains(conf, "#+ rtime/lan:y:default:") {
		t.Fatalf("the group is not included:\n%s", conf)
	}
	if conf := write(without); strings.Contains(conf, "#+ rtime/lan:y") {
		t.Errorf("the group is included without the agent:\n%s", conf)
	}
	// Everything that the group names exists.
	group, err := os.ReadFile(top(t, "pmdas/lan/pmlogconf/rtime/lan"))
	if err != nil {
		t.Fatal(err)
	}
	metrics := regexp.MustCompile(`(?m)^\t(rtime\.\S+)$`).FindAllStringSubmatch(string(group), -1)
	if len(metrics) == 0 {
		t.Fatal("the group names no metrics")
	}
	for _, m := range metrics {
		if !strings.Contains(conf, m[0]) {
			t.Errorf("%s is missing from the configuration", m[1])
		}
		with.Run("pminfo", "-h", "local:", m[1])
	}
}

// TestPmrep runs every report of the agent's configuration of pmrep.
func TestPmrep(t *testing.T) {
	t.Parallel()
	p := rtlan(t, "interval 0.2\nhost 127.0.0.1\n")
	waitFor(t, p, "rtime.lan.up", "127.0.0.1", "1")
	file := top(t, "pmdas/lan/pmrep/rtlan.conf")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reports := regexp.MustCompile(`(?m)^\[(.*)\]$`).FindAllStringSubmatch(string(text), -1)
	if len(reports) == 0 {
		t.Fatal("no reports")
	}
	for _, r := range reports {
		out := p.Run("pmrep", "-h", "local:", "-c", file, "-s", "2", "-t", "0.5", ":"+r[1])
		lines := strings.Split(strings.TrimSpace(out), "\n")
		last := lines[len(lines)-1]
		if len(lines) != 3 || strings.Contains(last, "N/A") {
			t.Errorf("%s: want a head and two lines with values:\n%s", r[1], out)
		}
		if r[1] != "rtlan-agent" && !strings.Contains(last, "127.0.0.1") {
			t.Errorf("%s: the host is missing:\n%s", r[1], out)
		}
	}
}

// TestPmieconf has pmieconf write rules, and pmie find a host down, slow and lossy.
func TestPmieconf(t *testing.T) {
	t.Parallel()
	p := rtlan(t, "interval 0.2\nmaxrate 100\ntimeout 5\nwindow 60\nhost 127.0.0.1 ::1\n")
	waitFor(t, p, "rtime.lan.up", "127.0.0.1", "1")
	waitFor(t, p, "rtime.lan.up", "::1", "1")
	pmie := p.Spawn("pmie", "-f", "-h", "local:", "-c", rules(t, p))
	said := func(what string) {
		t.Helper()
		pcptest.Eventually(t, "pmie says "+what, func() error {
			if !pmie.Running() {
				t.Fatalf("pmie ended: %s", pmie.Output())
			}
			if out := pmie.Output(); !strings.Contains(out, what) {
				return fmt.Errorf("%s", out)
			}
			return nil
		})
	}
	said("High response time of a host")
	p.Silence(true)
	said("Lost packets on the way to a host")
	said("Host does not answer")
	p.Silence(false)
	for _, line := range strings.Split(pmie.Output(), "\n") {
		if strings.Contains(line, "::1") && !strings.Contains(line, "High response") {
			t.Errorf("pmie reports a host that answered all the time: %s", line)
		}
	}
}

// rules writes a configuration of pmie that has only the agent's rules. They are evaluated
// often, print when they fire, and have a threshold that every response time exceeds.
func rules(t *testing.T, p *pcptest.PCP) string {
	t.Helper()
	groups := p.Path("rules")
	if err := os.Mkdir(groups, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"rtime": top(t, "pmdas/lan/pmieconf/rtime"), "global": "/etc/pcp/pmieconf/global",
	} {
		if err := os.Symlink(target, groups+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"enable rtime", "modify rtime delta 0.5sec", "modify rtime.lan_slow threshold 0.00001",
	} {
		p.Run("pmieconf", append([]string{"-f", p.Path("pmie"), "-r", groups}, strings.Fields(command)...)...)
	}
	conf := p.ReadFile("pmie")
	printed := strings.ReplaceAll(conf, "syslog 10 min", "print")
	if n := strings.Count(printed, "-> print"); n != 3 {
		t.Fatalf("%d rules, want 3:\n%s", n, conf)
	}
	return p.WriteFile("pmie.printed", printed)
}

// TestManual looks for every option and keyword in the manual pages.
func TestManual(t *testing.T) {
	t.Parallel()
	option := regexp.MustCompile(`(?m)^ +(?:-., )?(--[a-z0-9-]+)`)
	keyword := regexp.MustCompile(`(?m)^\t+"([a-z]+)": +keyword\.`)
	for dir, name := range map[string]string{"lan": "rtlan", "arm": "rtarm", "dds": "dds"} {
		page, err := os.ReadFile(top(t, "pmdas", dir, "pmda"+name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		manual := strings.ReplaceAll(string(page), `\-`, "-")
		out, _ := exec.Command(pcptest.Build(t, name, "pmdas/"+dir), "--help").CombinedOutput()
		options := option.FindAllStringSubmatch(string(out), -1)
		if len(options) < 10 {
			t.Fatalf("%s: options not found in: %s", name, out)
		}
		for _, o := range options {
			if !strings.Contains(manual, o[1]) {
				t.Errorf("%s: the manual page lacks the option %s", name, o[1])
			}
		}
		sources, err := filepath.Glob(top(t, "pmdas", dir, "internal/conf/*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var keywords [][]string
		for _, source := range sources {
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			keywords = append(keywords, keyword.FindAllStringSubmatch(string(text), -1)...)
		}
		if len(keywords) < 5 {
			t.Fatalf("%s: only %d keywords found", name, len(keywords))
		}
		for _, k := range keywords {
			if !regexp.MustCompile(`(?m)^(\.BI? "?|\\f[BI])` + k[1] + `\b`).MatchString(manual) {
				t.Errorf("%s: the manual page lacks the keyword %s", name, k[1])
			}
		}
	}
}

// TestVersion asks the three agents for their version, which is that of the tree.
func TestVersion(t *testing.T) {
	t.Parallel()
	for dir, name := range map[string]string{"lan": "rtlan", "arm": "rtarm", "dds": "dds"} {
		out, err := exec.Command(pcptest.Build(t, name, "pmdas/"+dir), "--version").CombinedOutput()
		if want := "pmda" + name + " version " + version.String() + "\n"; err != nil || string(out) != want {
			t.Errorf("--version: %v, %q, want %q", err, out, want)
		}
	}
}
