package library

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestNotReady: while an agent that needs long to start gets ready, its clients are
// told to try again, and everybody else is served.
func TestNotReady(t *testing.T) {
	t.Parallel()
	for kind, root := range map[string]bool{"started by pmcd": false, "started by pmdaroot": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := options(t, "--warm")
			o.Root = root
			o.Agents[0].NotReady = true
			p := pcptest.New(t, o)
			gate := p.WriteFile("gate", "")
			p.StartPmcd()
			for range 3 {
				r := p.Try("pminfo", "-h", "localhost", "-f", "test.busy")
				if !strings.Contains(r.Out+r.Err, "Try again. Information not currently available") {
					t.Errorf("while the agent is not ready: %v", r)
				}
			}
			contains(t, p.Run("pminfo", "-h", "localhost", "-f", "pmcd.agent.status"), `"testagent"] value 1`)
			if _, err := p.TryValues("pmcd.version"); err != nil {
				t.Errorf("clients of another agent: %v", err)
			}
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
			// Clients are known, although pmcd told nobody while the agent got ready.
			store(p, "test.control.add", "x")
		})
	}
}
