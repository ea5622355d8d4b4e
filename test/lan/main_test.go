// Package lan tests the agent rtlan in a private pmcd, with PCP's own tools.
package lan

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

func TestMain(m *testing.M) { os.Exit(pcptest.Main(m)) }

const (
	name   = "rtlan"
	domain = 470
)

// nobody is a user that no rule of the agent knows.
const nobody, nogroup = 65534, 65534

// basic is the configuration of most tests. Its timeout is so long that no answer is late.
const basic = "interval 0.5\nmaxrate 200\ntimeout 20\nhost 127.0.0.1 ::1 127.0.0.2\n"

// program builds the agent.
func program(t *testing.T) string { return pcptest.Build(t, name, "pmdas/lan") }

// options has pmcd start the agent over a pipe.
func options(t *testing.T, args ...string) pcptest.Options {
	return pcptest.Options{Agents: []pcptest.Agent{{Name: name, Domain: domain, Program: program(t), Args: args}}}
}

// prepare makes a private PCP with the agent and its configuration, not yet started.
func prepare(t *testing.T, o pcptest.Options, conf string) *pcptest.PCP {
	t.Helper()
	args := &o.Agents[0].Args
	*args = append(*args, "--config", "../rtlan.conf") // agents run in the folder of the logs
	p := pcptest.New(t, o)
	p.WriteFile("rtlan.conf", conf)
	return p
}

// start starts a private PCP with the agent.
func start(t *testing.T, o pcptest.Options, conf string) *pcptest.PCP {
	t.Helper()
	p := prepare(t, o, conf)
	p.StartPmcd()
	return p
}

// engines runs a test with each of the engines.
func engines(t *testing.T, test func(t *testing.T, o pcptest.Options)) {
	for _, engine := range []string{"linux", "pro-bing"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, options(t, "--engine", engine))
		})
	}
}

// answered waits until hosts have answered.
func answered(p *pcptest.PCP, t *testing.T, hosts ...string) {
	t.Helper()
	pcptest.Eventually(t, "all hosts have answered", func() error {
		values := p.Values("rtime.lan.responses")
		for _, h := range hosts {
			if v, ok := values[h]; !ok || v.Text == "0" {
				return fmt.Errorf("%s: %v", h, values)
			}
		}
		return nil
	})
}

// present waits until exactly these hosts are there.
func present(p *pcptest.PCP, t *testing.T, hosts ...string) {
	t.Helper()
	pcptest.Eventually(t, fmt.Sprintf("the hosts are %v", hosts), func() error {
		values, err := p.TryValues("rtime.lan.requests")
		if err != nil {
			return err
		}
		for _, h := range hosts {
			if _, ok := values[h]; !ok {
				return fmt.Errorf("no %s in %v", h, values)
			}
		}
		if len(values) != len(hosts) {
			return fmt.Errorf("%v", values)
		}
		return nil
	})
}

// logged waits until the agent's log has all of the texts in one line.
func logged(p *pcptest.PCP, t *testing.T, texts ...string) {
	t.Helper()
	pcptest.Eventually(t, fmt.Sprintf("a line of the log has %q", texts), func() error {
		log := p.Log(name)
	lines:
		for _, line := range strings.Split(log, "\n") {
			for _, text := range texts {
				if !strings.Contains(line, text) {
					continue lines
				}
			}
			return nil
		}
		return fmt.Errorf("%s", log)
	})
}

// signal sends a signal to the agent.
func signal(p *pcptest.PCP, t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.AgentPID(program(t)), s); err != nil {
		t.Fatal(err)
	}
}

// contains fails the test unless a text has all the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}
