package library

import (
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// TestHello runs the example of the documentation.
func TestHello(t *testing.T) {
	t.Parallel()
	p := pcptest.Start(t, pcptest.Options{Agents: []pcptest.Agent{{
		Name: "hello", Domain: 500, Program: pcptest.Build(t, "hello", "examples/hello"),
	}}})
	if up := p.Number("hello.uptime", ""); up < 0 || up > 1000 {
		t.Errorf("hello.uptime is %v", up)
	}
	p.Run("pmstore", "-h", "local:", "-i", "bert", "hello.mood", "7")
	mood := p.Values("hello.mood")
	if mood["anna"] != (pcptest.Value{ID: 0, Text: "0"}) || mood["bert"] != (pcptest.Value{ID: 1, Text: "7"}) {
		t.Errorf("hello.mood is %v", mood)
	}
	contains(t, p.Run("pminfo", "-h", "local:", "-dt", "hello"), "time since the agent was started", "Units: sec", "Semantics: discrete")
}
