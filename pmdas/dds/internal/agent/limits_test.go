package agent

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// TestLimits: what exceeds a user's limits is not exported, the rest is, and metrics say so.
// Another user has limits of his own.
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

// TestBudget: what one request takes in is bounded. Users have equal shares of it, and root
// comes first. Everything is there soon after, whether or not a client asks. What one request
// gives up is bounded, too.
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
	big := volatiles(t, "big", many)
	later(t, big.Publish(l.dir, 65534))
	later(t, volatiles(t, "small", 10).Publish(l.dir, 1))
	volatiles(t, "root", 10).Publish(l.dir, 0)
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

// TestOlderFirst: several suppliers have a path and are taken in little by little. The one
// with the oldest file has the path and everything below it, whichever is taken in first.
func TestOlderFirst(t *testing.T) {
	l := newLab(t)
	nested := func(name string, value uint64) *readertest.Segment {
		s := readertest.New(t, name, 0, readertest.Context{Path: "DDS/v"}, readertest.Context{Path: "DDS/v/c", Stats: []readertest.Stat{stat("n", 0)}},
			readertest.Context{Path: "DDS/v/c/d", Stats: []readertest.Stat{stat("m", 0)}})
		s.Put64(s.Data[1], value)
		s.Put64(s.Data[2], value)
		return s
	}
	older, younger := nested("older", 1), nested("younger", 2)
	later(t, older.Publish(l.dir, 65534))
	younger.Publish(l.dir, 1)
	for range 10 { // users take turns; each time another one is first
		l.is("dds.v.c.n", "=1")
		l.is("dds.v.c.d.m", "=1")
		l.end()
		l.start()
	}
}

// volatiles is a supplier of volatile contexts.
func volatiles(t *testing.T, name string, n int, mend ...func(off uint64)) *readertest.Segment {
	s := readertest.New(t, name, 32<<20, readertest.Context{Path: "DDS/v"}, readertest.Context{Path: "DDS/v/" + name},
		readertest.Context{Path: "DDS/v/" + name + "/T", Template: true, Stats: []readertest.Stat{stat("n", 0)}})
	for i := range uint32(n) {
		s.Add(i, 2, fmt.Sprintf("DDS/v/%s/i%d", name, i), "", mend...)
	}
	return s
}

// TestMemory: the memory that the agent holds for a user is bounded. What exceeds the bound is
// not exported, and the supplier's metrics say so. All of another user's is there. Nothing is
// left when the suppliers are gone.
func TestMemory(t *testing.T) {
	const limit = 128 << 10
	l := newLab(t, func(a *Agent) { a.conf.Memory, a.conf.Keep = limit, 0 })
	greedy := volatiles(t, "greedy", 1000)
	greedy.Publish(l.dir, 65534)
	modest := volatiles(t, "modest", 50)
	modest.Publish(l.dir, 1)
	l.Names("")
	state := func() (held, named map[uint32]int64, exports int) {
		held, named = make(map[uint32]int64), make(map[uint32]int64)
		l.do(func() {
			for _, uid := range []uint32{65534, 1} {
				u := l.a.users.Of(uid)
				held[uid], named[uid] = u.Memory, u.Named
				l.a.users.Forget(u)
			}
			exports = l.a.tree.exports
		})
		return held, named, exports
	}
	held, named, exports := state()
	if all := held[65534] + named[65534]; all > limit || all < limit-1000 || held[1]+named[1] >= limit || exports <= 50+50 || exports >= 50+200 {
		t.Errorf("%v bytes, %v for names, %d contexts", held, named, exports)
	}
	l.is("rtime.dds.supplier.contexts", fmt.Sprintf("greedy@%s=%d modest@%s=50", account.NameOf(65534), exports-50, account.NameOf(1)))
	if why, err := l.Values("rtime.dds.supplier.reason"); err != nil || !strings.Contains(fmt.Sprint(why), "maxmemory") {
		t.Errorf("reason %v %v", why, err)
	}
	greedy.End()
	modest.End()
	l.second()
	l.second()
	if held, _, exports = state(); held[65534] != 0 || held[1] != 0 || exports != 0 {
		t.Errorf("afterwards %v bytes, %d contexts", held, exports)
	}
}

// TestNamesBounded: all names that a user's suppliers have ever had take at most half of that
// user's memory, over restarts and kills of the agent. Earlier names can be used again, and
// another user gets new ones.
func TestNamesBounded(t *testing.T) {
	const limit = 32 << 10
	mend := func(a *Agent) { a.conf.Memory, a.conf.Keep = limit, 0 }
	l := newLab(t, mend)
	greedy := volatiles(t, "greedy", 0)
	greedy.Publish(l.dir, 65534)
	named := func() (n int64) {
		l.do(func() { n = l.a.users.Of(65534).Named })
		return n
	}
	name := func(i int) string { return fmt.Sprintf("DDS/v/greedy/i%d", i) }
	// One context at a time, so that only its name stays.
	shown := func(i int) bool {
		greedy.Add(0, 2, name(i), "")
		values, err := l.Values("dds.v.greedy.n")
		must(t, err)
		greedy.Delete(0)
		l.Names("")
		return len(values) == 1
	}
	last := 0
	for ; last < limit && shown(last); last++ {
	}
	if n := named(); last < 100 || n < limit/2 || n > limit/2+200 {
		t.Errorf("%d contexts were shown; their names take %d bytes, want half of %d", last, n, limit)
	}
	if why, err := l.Values("rtime.dds.supplier.reason"); err != nil || !strings.Contains(fmt.Sprint(why), "half of maxmemory") {
		t.Errorf("reason %v %v", why, err)
	}
	check := func(when string, before int64) {
		t.Helper()
		if !shown(0) || !shown(last-1) || shown(last+1) || named() != before {
			t.Errorf("%s: the first %v, the last %v, a new one %v, %d bytes, before %d", when, shown(0), shown(last-1), shown(last+1), named(), before)
		}
	}
	before := named()
	check("at the limit", before)
	l.second() // a kill loses at most the names of one second
	l.end()
	l.start(mend)
	l.Names("")
	check("after a restart", before)
	modest := volatiles(t, "modest", 1)
	modest.Publish(l.dir, 1)
	l.is("dds.v.modest.n", "i0=0")
}

// heap returns how many bytes are in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second run frees what has a finalizer
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestHeld: a volatile context with one value takes at most twice as many bytes in the agent
// as in its supplier's file, and no more than its user's account is charged with. This holds
// however full the agent's tables are. When the contexts are gone, the agent gives back their
// memory, except for the names, which are kept for ever.
func TestHeld(t *testing.T) {
	const most = 30000
	l := newLab(t)
	s := volatiles(t, "big", 0)
	s.Publish(l.dir, -1)
	l.Names("")
	charged := func() (held, named int) {
		l.do(func() {
			u := l.a.users.Of(uint32(os.Getuid()))
			held, named = int(u.Memory), int(u.Named)
		})
		return held, named
	}
	before := heap()
	heldBefore, namedBefore := charged()
	const inFile = layout.SlotLen + 64 // both libraries give at least 64 bytes to values
	n := 0
	for _, many := range []int{5000, 8000, 15000, 20000, most} { // some of these have just outgrown a table
		for ; n < many; n++ {
			s.Add(uint32(n), 2, fmt.Sprintf("DDS/v/big/i%05d", n), "")
		}
		l.is("rtime.dds.agent.contexts", fmt.Sprint("=", many))
		bytes := heap() - before
		held, named := charged()
		if got := bytes / many; got > 2*inFile {
			t.Errorf("%d contexts: %d bytes for each, and %d in the file", many, got, inFile)
		}
		if held, named = held-heldBefore, named-namedBefore; held+named < bytes {
			t.Errorf("%d contexts: %d bytes, and %d are charged", many, bytes, held+named)
		}
	}
	for i := range uint32(most) {
		s.Delete(i)
	}
	l.is("rtime.dds.agent.contexts", "=0")
	_, named := charged()
	// Besides the names, a supplier's slots take some bytes each.
	if left := heap() - before; left > named-namedBefore+most*40 {
		t.Errorf("%d bytes are left for %d names, %d of them charged", left, 2*most, named-namedBefore)
	}
}

// TestLabelsBounded: the labels in one answer are bounded, whatever labels suppliers give.
func TestLabelsBounded(t *testing.T) {
	const many = 5000
	l := newLab(t)
	var labels uint64
	s := volatiles(t, "big", 0)
	text := `{"long":"` + strings.Repeat("x", 1000) + `"}`
	for i := range uint32(many) {
		s.Add(i, 2, fmt.Sprintf("DDS/v/big/i%d", i), "", func(off uint64) {
			labels = s.Room(uint64(len(text)))
			copy(s.B[labels:], text)
			s.Put64(off+layout.CtxLabelsOff, labels)
			s.Put32(off+layout.CtxLabelsLen, uint32(len(text)))
		})
	}
	s.Publish(l.dir, -1)
	d, err := l.Desc("dds.v.big.n")
	must(t, err)
	with := 0
	for _, set := range l.Labels(uint32(d.InDom), pcp.LabelInstances) {
		if strings.Contains(fmt.Sprint(set), "xxxx") {
			with++
		}
	}
	if with < many/2 || with*len(text) > maxTold {
		t.Errorf("%d of %d instances have labels of %d bytes each", with, many, len(text))
	}
}

// TestManyLabels: many labels count, however short they are.
func TestManyLabels(t *testing.T) {
	s := &live{src: &source{user: &account.User{}}, c: &reader.Context{Path: "DDS/v/i"}}
	given := make([]string, maxGiven)
	for i := range given {
		given[i] = fmt.Sprintf(`"l%02d":1`, i)
	}
	s.c.Labels = "{" + strings.Join(given, ",") + "}"
	tr, with := &tree{}, 0
	for tr.bounded(s) != nil {
		with++
	}
	if least, most := maxTold/(maxGiven*(perGiven+20)+100), maxTold/(maxGiven*perGiven); with < least || with > most {
		t.Errorf("%d instances have labels, expected %d to %d", with, least, most)
	}
}

// TestLabelsCost: the cost of labels is linear in their number. The labels of instances that
// have no room in the answer cost nothing.
func TestLabelsCost(t *testing.T) {
	given := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"l%02d":"v"`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	cost := func(n int) float64 {
		text := given(n)
		return testing.AllocsPerRun(100, func() {
			if got := len(withGiven(nil, text)); got != n {
				t.Errorf("%d labels of %d", got, n)
			}
		})
	}
	if few, many := cost(5), cost(20); many > 5*few {
		t.Errorf("%.0f allocations for 5 labels, %.0f for 20", few, many)
	}
	full := &tree{told: told{bytes: maxTold + 1}}
	if got := full.bounded(nil); got != nil { // looking at a context would panic
		t.Errorf("labels where there is no room: %v", got)
	}
}
