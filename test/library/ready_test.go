package library

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// again is the answer that clients get from an agent that is not ready.
const again = "Try again. Information not currently available"

// both runs a test with agents that pmcd starts and with agents that pmdaroot starts.
func both(t *testing.T, test func(t *testing.T, root bool)) {
	for kind, root := range map[string]bool{"started by pmcd": false, "started by pmdaroot": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, root)
		})
	}
}

// TestWarm: while an agent starts slowly, its clients are told to try again, and the
// clients of other agents are served.
func TestWarm(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, root bool) {
		o := options(t, "--warm")
		o.Root = root
		p := pcptest.New(t, o)
		gate := p.WriteFile("gate", "")
		p.StartPmcd()
		notReady(t, p, "0")
		r := p.Try("pmstore", "-h", "local:", "-F", "test.control.add", "x")
		if r.Code == 0 {
			t.Errorf("a store into an agent that is not ready: %v", r)
		}
		ready(t, p, gate)
		store(p, "test.control.add", "x")
	})
}

// TestNotReady is the same with an agent that pmcd knows to be not ready.
func TestNotReady(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, root bool) {
		o := options(t, "--warm", "--anonymous")
		o.Root = root
		o.Agents[0].NotReady = true
		p := pcptest.New(t, o)
		gate := p.WriteFile("gate", "")
		p.StartPmcd()
		notReady(t, p, "1")
		ready(t, p, gate)
		// It may be not ready again later, and then goes on with what it knows.
		store(p, "test.control.add", "x")
		p.WriteFile("gate", "")
		r := p.Try("pmstore", "-h", "local:", "-F", "test.control.rest", "")
		if r.Code == 0 || !strings.Contains(r.Out+r.Err, again) {
			t.Errorf("sent to rest: %v", r)
		}
		notReady(t, p, "1")
		ready(t, p, gate)
		if got := p.Value("test.dynamic.x"); got != "0" {
			t.Errorf("test.dynamic.x is %s after the rest, want 0", got)
		}
	})
}

// notReady checks what clients see of an agent that is not ready, and of others.
func notReady(t *testing.T, p *pcptest.PCP, status string) {
	t.Helper()
	for range 3 {
		for _, host := range []string{"local:", "localhost"} {
			r := p.Try("pminfo", "-h", host, "-f", "test.busy")
			if !strings.Contains(r.Out+r.Err, again) {
				t.Errorf("while the agent is not ready: %v", r)
			}
			contains(t, p.Run("pminfo", "-h", host, "-f", "pmcd.agent.status"), `"testagent"] value `+status)
		}
	}
}

// ready opens the gate and waits for the agent.
func ready(t *testing.T, p *pcptest.PCP, gate string) {
	t.Helper()
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	pcptest.Eventually(t, "the agent is ready", func() error {
		v, err := p.TryValues("test.busy")
		if err == nil && v[""].Text != "0" {
			err = fmt.Errorf("%v", v)
		}
		return err
	})
	if s := p.Values("pmcd.agent.status")[name].Text; s != "0" {
		t.Errorf("pmcd.agent.status is %s, want 0", s)
	}
}
