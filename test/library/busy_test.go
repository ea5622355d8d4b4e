package library

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestBusyAgent: ten thousand clients come and go while the agent is busy. pmcd tells the
// agent of each, in 70 bytes and more; a pipe holds 64 KiB. If the agent left them unread,
// pmcd would wait for it and serve nobody.
func TestBusyAgent(t *testing.T) {
	t.Parallel()
	const clients = 10000
	p := start(t)
	gate := p.WriteFile("gate", "")
	pcptest.Eventually(t, "the agent is busy", func() error {
		if !strings.Contains(p.Log(name), "busy until") {
			return fmt.Errorf("log: %s", p.Log(name))
		}
		return nil
	})
	for i := range clients {
		if err := visit(p.Socket()); err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		if i%2500 == 0 && p.Value("pmcd.version") == "" {
			t.Fatal("pmcd has no version")
		}
	}
	for range 3 { // after all that was for the agent to read
		if p.Value("pmcd.version") == "" {
			t.Fatal("pmcd has no version")
		}
	}
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	if got := p.Value("test.busy"); got != "1" {
		t.Errorf("test.busy is %s: the agent was not busy, or has been started again", got)
	}
	if s := p.Values("pmcd.agent.status")[name].Text; s != "0" {
		t.Errorf("pmcd.agent.status is %s", s)
	}
	// The agent still tells its clients apart.
	if got := p.IDs("test.color"); got["red"] != 0 || got["green"] != 1 {
		t.Errorf("ids are %v", got)
	}
}

// visit connects to pmcd until pmcd takes it for a client, and leaves.
func visit(socket string) error {
	c, err := dial(socket)
	if err != nil {
		return err
	}
	defer c.Close()
	// A request shows that pmcd has taken the credentials in, and told the agents.
	if err := c.write(pduDescReq, 2<<22|7); err != nil { // pmcd.version
		return err
	}
	kind, body, err := c.read()
	if err == nil && kind != pduDesc {
		err = fmt.Errorf("answer of type %x: %x", kind, body)
	}
	return err
}

// TestPanic: when a function panics, only its request fails.
func TestPanic(t *testing.T) {
	t.Parallel()
	p := start(t)
	pid := p.AgentPID(program(t))
	for range 3 {
		r := p.Try("pmstore", "-h", "local:", "-F", "test.control.panic", "boom")
		if r.Code == 0 {
			t.Errorf("a store that panics succeeds: %v", r)
		}
		contains(t, r.Out+r.Err, "Generic error")
	}
	if p.AgentPID(program(t)) != pid {
		t.Error("the agent is another process")
	}
	contains(t, p.Log(name), "panic: boom")
	if p.Value("test.busy") != "0" {
		t.Error("the agent does not answer any more")
	}
}
