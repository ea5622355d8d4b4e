package agent

import (
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
)

// TestTable: every metric has help, times have units, and names tell which metrics are
// counters.
func TestTable(t *testing.T) {
	a := newAgent()
	for _, m := range a.table() {
		if m.Help == "" && !strings.HasPrefix(m.Name, "rtime.arm.a") && !strings.HasPrefix(m.Name, "rtime.arm.parent.") {
			t.Errorf("%s has no help", m.Name)
		}
		if m.OneLine == "" || strings.HasSuffix(m.OneLine, ".") || strings.Contains(m.Help, "\n\n") || strings.HasSuffix(m.Help, "\n") {
			t.Errorf("%s: %q, %q", m.Name, m.OneLine, m.Help)
		}
		for _, line := range strings.Split(m.Help, "\n") {
			if len(line) > 84 {
				t.Errorf("%s: a line of the help has %d bytes: %s", m.Name, len(line), line)
			}
		}
		unitless := m.Units == pcp.None
		switch name := strings.TrimPrefix(m.Name, "rtime.arm."); {
		case strings.HasPrefix(name, "metric.") && name != "metric.values", strings.HasPrefix(name, "trace.param."),
			name == "trace.records", name == "app.active", name == "control.weight", name == "control.trace",
			strings.HasPrefix(name, "agent.last_"):
			unitless = !unitless && name != "trace.param.duration"
		}
		if unitless {
			t.Errorf("%s has units %v", m.Name, m.Units)
		}
	}
	for _, d := range []*pmda.InDom[uint32]{a.trans, a.apps, a.metrics, a.pairs} {
		if d.Help == "" || d.OneLine == "" || !d.Keep || d.Name == "" {
			t.Errorf("instance domain %d: %+v", d.Serial, d)
		}
	}
}
