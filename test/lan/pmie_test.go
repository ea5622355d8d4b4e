package lan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestPmie has a rule fire for a host that does not answer any more, and for no other.
func TestPmie(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, o pcptest.Options) {
		o.Namespace = true
		p := start(t, o, "interval 0.2\nmaxrate 200\ntimeout 5\nhost 127.0.0.1 ::1\n")
		answered(p, t, "127.0.0.1", "::1")
		rules := p.WriteFile("rules", "some_inst (rtime.lan.up == 0) -> print \" %i: down\";\n"+
			"some_inst (rtime.lan.up == 1) -> print \" %i: up\";\n")
		pmie := p.Spawn("pmie", "-f", "-h", "local:", "-t", "0.5", "-c", rules)
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
		said("127.0.0.1: up")
		p.Silence(true)
		said("127.0.0.1: down")
		values := p.Values("rtime.lan.rtt")
		if _, there := values["127.0.0.1"]; there {
			t.Errorf("a host that does not answer has a response time: %v", values)
		}
		if _, there := values["::1"]; !there {
			t.Errorf("a host that answers has no response time: %v", values)
		}
		if p.Number("rtime.lan.timeouts", "127.0.0.1") == 0 {
			t.Error("no timeouts of a host that is down")
		}
		sums(t, p, []string{"127.0.0.1", "::1"})
		p.Silence(false)
		pcptest.Eventually(t, "the host is up again", func() error {
			if v := p.Values("rtime.lan.up")["127.0.0.1"].Text; v != "1" {
				return fmt.Errorf("up is %q", v)
			}
			return nil
		})
		if out := pmie.Output(); strings.Contains(out, "::1: down") {
			t.Errorf("pmie reports a host that was up all the time:\n%s", out)
		}
	})
}
