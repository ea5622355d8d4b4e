package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
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
		"newmetrics": {func(a *Agent) { a.conf.NewMetrics = 2 }, "a.s0 a.s1"},
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
					short := strings.Replace(strings.TrimPrefix(m, "dds.v."), ".inst", "", 1)
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

// TestManyAtOnce: of many suppliers that come at once, or are there when the agent starts,
// the oldest are taken in first, and the others soon after. What changes or dies before its
// turn comes is as it should be.
func TestManyAtOnce(t *testing.T) {
	const each, half = 20, 200
	few := func(a *Agent) { a.atOnce, a.conf.Timeout = 2*half, 0 }
	l := newLab(t, few)
	var stats []readertest.Stat
	for i := range uint32(each) {
		stats = append(stats, stat(fmt.Sprintf("s%d", i), i))
	}
	var sups []*readertest.Segment
	for i := range 3 {
		contexts := []readertest.Context{{Path: "DDS/v"}}
		for j := range half / each {
			contexts = append(contexts, readertest.Context{Path: fmt.Sprintf("DDS/v/c%dx%d", i, j), Stats: stats})
		}
		contexts = append(contexts, readertest.Context{Path: "DDS/v/t", Template: true, Stats: []readertest.Stat{stat("vol", 0)}})
		s := readertest.New(t, fmt.Sprint("many", i), 1<<20, contexts...)
		later(t, s.Publish(l.dir, -1))
		sups = append(sups, s)
	}
	look := func() (metrics int) {
		t.Helper()
		done := make(chan struct{})
		l.srv.Do(func() { l.a.look(); metrics = len(l.a.tree.used); close(done) })
		<-done
		return metrics
	}
	if n := look(); n != 2*half {
		t.Errorf("at first %d metrics", n)
	}
	s := sups[2]
	s.Put64(s.Add(0, half/each+1, "DDS/v/c2x0/one", ""), 7)
	if n := look(); n != 3*half+1 {
		t.Errorf("then %d metrics", n)
	}
	l.is("dds.v.c2x0.inst.vol", "one=7")
	l.is("rtime.dds.agent.contexts", fmt.Sprint("=", 3*half/each+1))

	l.end()
	l.start(few)
	s.Die()
	name := func(i int) string { return fmt.Sprintf("many%d@%s", i, account.NameOf(uint32(os.Getuid()))) }
	l.second()
	l.is("rtime.dds.supplier.state", name(0)+"=ready "+name(1)+"=ready "+name(2)+"=died")
	l.is("rtime.dds.agent.contexts", fmt.Sprint("=", 2*half/each))
	l.is("rtime.dds.agent.metrics", fmt.Sprint("=", 3*half+1))
}
