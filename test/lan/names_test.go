package lan

import (
	"fmt"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// named starts the agent beside a name server.
func named(t *testing.T, o pcptest.Options, conf string, prepare func(*pcptest.NameServer)) (*pcptest.PCP, *pcptest.NameServer) {
	t.Helper()
	o.Namespace = true
	o.Agents[0].Args = append(o.Agents[0].Args, "--config", "../rtlan.conf")
	p := pcptest.New(t, o)
	p.WriteFile("rtlan.conf", conf)
	n := p.NameServer()
	prepare(n)
	p.StartPmcd()
	return p, n
}

// TestNames follows names whose addresses change, come and go.
func TestNames(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		p, n := named(t, o, "interval 0.2\nmaxrate 200\nresolve 1\nhost moves.test late.test six.test\n", func(n *pcptest.NameServer) {
			n.Set("moves.test", "127.0.3.1")
			n.Set("six.test", "::1")
		})
		at := func(host, address string) {
			t.Helper()
			pcptest.Eventually(t, host+" is at "+address, func() error {
				if v := p.Values("rtime.lan.address")[host].Text; v != address {
					return fmt.Errorf("at %q", v)
				}
				return nil
			})
		}
		at("moves.test", "127.0.3.1")
		at("six.test", "::1")
		answered(p, t, "moves.test", "six.test")
		if v, there := p.Values("rtime.lan.address")["late.test"]; there {
			t.Errorf("late.test has the address %v", v)
		}
		before := p.Number("rtime.lan.requests", "moves.test")
		n.Set("moves.test", "127.0.3.2")
		n.Set("late.test", "127.0.3.3")
		at("moves.test", "127.0.3.2")
		if got := labelsOf(t, p)["moves.test"]; got["address"] != "127.0.3.2" || got["host"] != "moves.test" {
			t.Errorf("labels of a host that moved: %v", got)
		}
		if now := p.Number("rtime.lan.requests", "moves.test"); now < before {
			t.Errorf("requests went from %v to %v when the address changed", before, now)
		}
		// A look-up that failed at the start is repeated later. When the configuration is
		// read again, names that are not known are looked up at once.
		at("late.test", "127.0.3.3")
		answered(p, t, "late.test")
		// When the name server is gone, hosts keep their addresses.
		n.Mute(true)
		requests := p.Number("rtime.lan.responses", "moves.test")
		pcptest.Eventually(t, "moves.test goes on answering", func() error {
			if now := p.Number("rtime.lan.responses", "moves.test"); now < requests+10 {
				return fmt.Errorf("%v responses", now)
			}
			return nil
		})
		at("moves.test", "127.0.3.2")
	})
}

// TestSlowNameServer: while the name server is silent, a client that asks for a new host is
// told to ask again. pmcd and the agent's other clients do not wait.
func TestSlowNameServer(t *testing.T) {
	t.Parallel()
	p, n := named(t, options(t), basic+"resolve 1\n", func(n *pcptest.NameServer) { n.Mute(true) })
	answered(p, t, "127.0.0.1", "::1", "127.0.0.2")
	for range 3 {
		if got := lookup(p, t, true, "local:", "slow.test"); got != errAgain && got != errInst {
			t.Errorf("look-up while the name server is silent: %d", got)
		}
	}
	if got := lookup(p, t, false, "local:", "other.test"); got != errPermission {
		t.Errorf("look-up by somebody who may not: %d, want %d", got, errPermission)
	}
	present(p, t, "127.0.0.1", "::1", "127.0.0.2")
	if s := p.Values("pmcd.agent.status")[name].Text; s != "0" {
		t.Errorf("pmcd.agent.status is %s", s)
	}
	n.Set("slow.test", "127.0.3.9")
	n.Mute(false)
	pcptest.Eventually(t, "the host can be added", func() error {
		if got := lookup(p, t, true, "local:", "slow.test"); got < 0 {
			return fmt.Errorf("error %d", got)
		}
		return nil
	})
	answered(p, t, "slow.test")
	if got := settled(p, t, "unknown.test"); got != errInst {
		t.Errorf("look-up of an unknown name: %d, want %d", got, errInst)
	}
}
