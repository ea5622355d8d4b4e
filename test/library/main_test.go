// Package library tests the agent library in a private pmcd, by means of the agent
// in test/testagent, and of the example in examples/hello.
package library

import (
	"os"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

func TestMain(m *testing.M) { os.Exit(pcptest.Main(m)) }

const name, domain = "testagent", 490

func program(t *testing.T) string { return pcptest.Build(t, name, "test/testagent") }

// start starts a private PCP with the test agent.
func start(t *testing.T, args ...string) *pcptest.PCP {
	t.Helper()
	return pcptest.Start(t, options(t, args...))
}

func options(t *testing.T, args ...string) pcptest.Options {
	args = append([]string{"--gate", "../gate"}, args...) // agents run in the folder of the logs
	return pcptest.Options{Agents: []pcptest.Agent{{Name: name, Domain: domain, Program: program(t), Args: args}}}
}

// store stores a value into a metric of the agent.
func store(p *pcptest.PCP, metric, value string) {
	p.Run("pmstore", "-h", "local:", "-F", metric, value)
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
