package pmda_test

import (
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
)

// TestPanicInOneMetric: the metric loses its values, also those that it had given before,
// and no other metric does. If InDom.Prepare panics, all metrics over the domain lose
// theirs.
func TestPanicInOneMetric(t *testing.T) {
	z := newZoo()
	z.fetch = func(v *pmda.Values) {
		v.Set(0, pcp.Num(uint64(1)))
		panic("an elephant")
	}
	z.agent.Metrics[itemBroken].Get = pmda.Value(func() (int64, error) { panic("a mouse") })
	z.agent.Metrics[itemCage].Get = pmda.Per(z.cages, func(int32) (int32, bool) { panic("a hamster") })
	c, j := visit(t, z)
	z.do(t, func() { z.cages.Add("one", 1) })
	ids := []pcp.PMID{zooID(itemCount), zooID(itemCustom), zooID(itemCount), zooID(itemBroken), zooID(itemCage), zooID(itemMood)}
	const want = "-1=2 ; error -12345; -1=2 ; error -12345; error -12345; -1=0.5 "
	for range 50 {
		if got := show(t, z, c.Fetch(ids...)); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	for _, line := range []string{"fetch of zoo.custom: panic: an elephant", "fetch of zoo.broken: panic: a mouse",
		"fetch of zoo.cage: panic: a hamster"} {
		if n := j.count(line); n < 1 || n > 25 {
			t.Errorf("%d lines %q of 50 panics", n, line)
		}
	}
	if n := j.count("[running]"); n != 3 || j.count("panic_test.go") == 0 {
		t.Errorf("%d stacks, want one for each metric", n)
	}

	panics := true
	z.beasts.Prepare = func([]*beast) {
		if panics {
			panic("a moth")
		}
	}
	both := []pcp.PMID{zooID(itemLegs), zooID(itemWeight), zooID(itemCount)}
	if got := show(t, z, c.Fetch(both...)); got != "error -12345; error -12345; -1=2 " {
		t.Errorf("with Prepare that panics: %q", got)
	}
	z.do(t, func() { panics = false })
	for i, s := range c.Fetch(both...) {
		if s.Err != 0 {
			t.Errorf("set %d after the panics: %v", i, s.Err)
		}
	}
}

// TestPanics in every kind of function: the request fails, the next is answered, and
// the log says where.
func TestPanics(t *testing.T) {
	z := newZoo()
	z.agent.Anonymous, z.agent.NamesNotReady = true, true
	gone := true
	z.agent.Gone = func(*pmda.Client) {
		if gone {
			panic("a swan")
		}
	}
	z.agent.Metrics[itemMood].Store = func(*pmda.Store) error { panic("an ape") }
	c, j := visit(t, z)

	z.do(t, func() { z.server.LabelsChanged() })
	panics := true
	z.refresh = func(*pmda.Request) {
		if panics {
			panic("an elephant")
		}
	}
	for range 3 {
		exchange{what: "a fetch that panics", ask: &pdu.Fetch{PMIDs: []pcp.PMID{zooID(itemCustom)}}, code: pcp.ErrGeneric}.run(t, c)
	}
	z.do(t, func() { panics = false })
	if j.count("an elephant") != 3 || j.count("zoo_test.go") == 0 || j.count("[running]") != 1 {
		t.Errorf("want three lines and one stack that leads here:\n%s", j)
	}
	c.Fetch(zooID(itemCount))
	if c.State != pcp.StateLabels {
		t.Errorf("state %d of the first good fetch, want what the bad ones were to raise", c.State)
	}
	c.Fetch(zooID(itemCount))
	if c.State != 0 {
		t.Errorf("state %d is raised twice", c.State)
	}

	exchange{what: "a store that panics", ask: storeOf(itemMood, pcp.InstNull, pcp.Num(float32(1))), code: pcp.ErrGeneric}.run(t, c)
	c.Client(3, 1, 1, 1)
	c.Gone(3) // has no answer, and no panic changes that
	c.Slot = 0
	if n := c.Fetch(zooID(itemCount))[0].Values[0].Value.Bits(); n != 2 {
		t.Errorf("the answer after a notice that panicked: %d", n)
	}
	if !strings.Contains(j.String(), "ERROR: panic: a swan") {
		t.Errorf("the log does not name the notice:\n%s", j)
	}

	c.Client(3, 1, 1, 1)
	later := &pdu.InstanceReq{InDom: beastDom, Inst: pcp.InstNull, Name: "later"}
	exchange{what: "not ready, and Gone panics", ask: later, code: pcp.ErrGeneric}.run(t, c)
	z.server.Ready() // it is, as pmcd thinks: nothing must be sent
	z.do(t, func() { gone = false })
	c.Fetch(zooID(itemCount))

	z.refresh = func(*pmda.Request) { panic("a bat") }
	for _, p := range []pdu.PDU{&pdu.Fetch{PMIDs: []pcp.PMID{1}}, &pdu.InstanceReq{InDom: beastDom, Inst: pcp.InstNull},
		&pdu.LabelReq{}, &pdu.Names{}, &pdu.IDs{}, &pdu.Child{}, &pdu.Traverse{}, storeOf(0, 0, pcp.Value{})} {
		exchange{what: p.Type().String(), ask: p, code: pcp.ErrGeneric}.run(t, c)
	}
}
