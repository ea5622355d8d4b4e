package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
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
		"names":      {func(a *Agent) { a.conf.Names = 8 }, "a.s0 a.s1 a.s0[x]"},
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

// TestBudget: what one request takes in is bounded, users have equal shares of it, root's
// come first, and all is there soon after, whether or not somebody asks. So is what one
// request gives up.
func TestBudget(t *testing.T) {
	const many = 5000
	l := newLab(t, func(a *Agent) {
		a.budget, a.conf.Timeout = 10*time.Millisecond, 0
		var at time.Duration
		a.clock = func() time.Duration { // each look at the clock takes a millisecond
			at += time.Millisecond
			return at
		}
	})
	l.Names("") // the first look may take longer
	supplier := func(name string, n int) *readertest.Segment {
		s := readertest.New(t, name, 8<<20, readertest.Context{Path: "DDS/v"}, readertest.Context{Path: "DDS/v/" + name},
			readertest.Context{Path: "DDS/v/" + name + "/T", Template: true, Stats: []readertest.Stat{stat("n", 0)}})
		for i := range uint32(n) {
			s.Add(i, 2, fmt.Sprintf("DDS/v/%s/i%d", name, i), "")
		}
		return s
	}
	big := supplier("big", many)
	later(t, big.Publish(l.dir, 65534))
	later(t, supplier("small", 10).Publish(l.dir, 1))
	supplier("root", 10).Publish(l.dir, 0)
	exports := func(f func()) (had map[string]int) {
		t.Helper()
		had = make(map[string]int)
		done := make(chan struct{})
		l.srv.Do(func() {
			f()
			for _, s := range l.a.tree.sources {
				had[s.name] = s.count
			}
			had["all"] = l.a.tree.exports
			close(done)
		})
		<-done
		return had
	}
	had := exports(func() { l.a.look() })
	if had["root"] != 10 || had["small"] != 10 || had["big"] == 0 || had["big"] == many {
		t.Errorf("after one look: %v", had)
	}
	wait := func(what string, all int) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if had = exports(func() {}); had["all"] == all {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %v", what, had)
			}
		}
	}
	wait("nobody asked", many+20)
	big.Die()
	had = exports(func() { l.a.second() })
	if had["all"] == many+20 || had["all"] == 20 {
		t.Errorf("after one look at its end: %v", had)
	}
	wait("it has ended", 20)
}

// TestOlderFirst: of several that have a path, and are taken in little by little, the one
// whose file is older has it, whichever is taken in first.
func TestOlderFirst(t *testing.T) {
	l := newLab(t)
	older, younger := one(t, "older"), one(t, "younger")
	older.Put64(older.Data[1], 1)
	younger.Put64(younger.Data[1], 2)
	later(t, older.Publish(l.dir, 65534))
	younger.Publish(l.dir, 1)
	for range 10 { // users take turns, another one is first each time
		l.is("dds.v.c.n", "=1")
		l.end()
		l.start()
	}
}
