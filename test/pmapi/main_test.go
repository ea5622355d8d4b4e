// Package pmapi tests the client library against a private pmcd, by means of the agent in
// test/testagent.
package pmapi

import (
	"context"
	"os"
	"testing"

	"github.com/pcp-rtime/rtime/pmapi"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

func TestMain(m *testing.M) { os.Exit(pcptest.Main(m)) }

const name, domain = "testagent", 490

// start starts a private PCP with the test agent.
func start(t *testing.T) *pcptest.PCP {
	t.Helper()
	return pcptest.Start(t, options(t))
}

func options(t *testing.T) pcptest.Options {
	args := []string{"--gate", "../gate"} // agents run in the folder of the logs
	return pcptest.Options{Agents: []pcptest.Agent{{Name: name, Domain: domain, Program: pcptest.Build(t, name, "test/testagent"), Args: args}}}
}

// limits are generous, because the machine may be busy.
var limits = pmapi.Options{ConnectTimeout: pcptest.Deadline, RequestTimeout: pcptest.Deadline}

// client returns a client of a private pmcd over its Unix socket.
func client(t *testing.T, p *pcptest.PCP) *pmapi.Client {
	t.Helper()
	return clientOf(t, "unix:"+p.Socket())
}

func clientOf(t *testing.T, host string) *pmapi.Client {
	t.Helper()
	c, err := pmapi.NewClient(host, &limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// metrics looks metrics up, which must be there.
func metrics(t *testing.T, c *pmapi.Client, names ...string) []*pmapi.Metric {
	t.Helper()
	list, err := c.Metrics(context.Background(), names...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
