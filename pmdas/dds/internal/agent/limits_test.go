package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/readertest"
)

// TestLimits: what is beyond a user's limits is not exported, and the rest is; it shows,
// and another user has limits of his own.
func TestLimits(t *testing.T) {
	fixed := func(name string, stats int) *readertest.Segment {
		c := readertest.Context{Path: "DDS/v/" + name}
		for i := range stats {
			c.Stats = append(c.Stats, stat(fmt.Sprintf("s%d", i), uint32(i)))
		}
		return readertest.New(t, name, 0, c, readertest.Context{Path: "DDS/v/" + name + "/T", Template: true, Stats: c.Stats[:1]})
	}
	for name, c := range map[string]struct {
		mend func(*Agent)
		want string
	}{
		"suppliers":  {func(a *Agent) { a.conf.Suppliers = 1 }, "a.s0 a.s1 a.s0[x] a.s0[y]"},
		"contexts":   {func(a *Agent) { a.conf.Contexts = 3 }, "a.s0 a.s1 a.s0[x] a.s0[y]"},
		"statistics": {func(a *Agent) { a.conf.Statistics = 3 }, "a.s0 a.s1 a.s0[x]"},
		"metrics":    {func(a *Agent) { a.conf.Metrics = 2 }, "a.s0 a.s1"},
		"bytes":      {func(a *Agent) { a.conf.Bytes = readertest.DefaultSize * 3 / 2 }, "a.s0 a.s1 a.s0[x] a.s0[y]"},
		"names":      {func(a *Agent) { a.conf.Names = 5 }, "a.s0 a.s1 a.s0[x]"},
		"domains":    {func(a *Agent) { a.conf.Domains = 0 }, "a.s0 a.s1 b.s0 b.s1"},
		"none":       {func(a *Agent) {}, "a.s0 a.s1 a.s0[x] a.s0[y] b.s0 b.s1"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, c.mend)
			s := fixed("a", 2)
			s.Add(0, 1, "DDS/v/a/x", "")
			s.Add(1, 1, "DDS/v/a/y", "")
			s.Publish(l.dir, -1)
			l.Names("")
			fixed("b", 2).Publish(l.dir, -1)
			l.Names("")
			fixed("c", 2).Publish(l.dir, 65534)
			var got []string
			for _, m := range l.Names("dds") {
				values, err := l.Values(m)
				if err != nil {
					t.Fatal(m, err)
				}
				for inst := range values {
					short := strings.TrimPrefix(m, "dds.v.")
					if i := strings.Index(short, "_"); i > 0 {
						short = short[:i]
					}
					if inst != "" {
						short += "[" + inst + "]"
					}
					got = append(got, short)
				}
			}
			alikeSet(t, got, append(strings.Fields(c.want), "c.s0", "c.s1"))
			errors, reasons := l.sum("rtime.dds.supplier.errors"), l.sum("rtime.dds.supplier.reason")
			refused := l.sum("rtime.dds.agent.refused")
			if shows := errors > 0 && reasons > 0 || refused == 1; shows == (name == "none") {
				t.Errorf("%d errors, %d reasons, %d refused", errors, reasons, refused)
			}
		})
	}
}
