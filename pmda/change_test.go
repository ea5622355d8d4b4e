package pmda_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// TestAddAndRemove adds and removes metrics while the agent runs; clients are told once
// each time.
func TestAddAndRemove(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	state := func(what string, want ...uint32) {
		t.Helper()
		for i, w := range want {
			if c.Fetch(zooID(itemCount)); c.State != w {
				t.Errorf("%s: state %d in fetch %d, want %d", what, c.State, i, w)
			}
		}
	}
	state("at first", 0, 0)
	trees := &pmda.InDom[int]{Serial: 20, Name: "trees", OneLine: "trees"}
	tree := pmda.Metric{Name: "zoo2.tree.height", Cluster: 9, Item: 1, Sem: pcp.SemInstant, OneLine: "height",
		Get: pmda.Per(trees, func(n int) (int64, bool) { return int64(n), true })}
	z.do(t, func() {
		if err := z.server.Add(tree); err != nil {
			t.Error(err)
		}
		trees.Add("oak", 30)
		trees.Add("elm", 20)
	})
	state("after Add", pcp.StateNames, 0)
	if v, err := c.Value("zoo2.tree.height", "elm"); err != nil || v.Bits() != 20 {
		t.Errorf("elm: %v, %v", v, err)
	}
	id := pcp.MakeInDom(zooDomain, 20)
	if d, err := c.Desc("zoo2.tree.height"); err != nil || d.InDom != id || trees.ID() != id {
		t.Errorf("desc %+v, %v, domain %v, want %v", d, err, trees.ID(), id)
	}
	elm, _ := c.Lookup(id, "elm")
	c.Profile(pdu.InDomProfile{InDom: id, State: pdu.Exclude, List: []int32{elm}})
	if v := c.Fetch(z.server.PMID(9, 1))[0].Values; len(v) != 1 || v[0].Inst != elm {
		t.Errorf("a profile over a domain that came at run time: %+v", v)
	}
	c.Send(&pdu.Profile{})
	if one, _ := c.InDomText(id); one != "trees" {
		t.Errorf("text %q", one)
	}

	z.do(t, func() {
		if !z.server.Remove("zoo2.tree.height") || z.server.Remove("zoo2.tree.height") || z.server.Remove("zoo2") {
			t.Error("Remove does not say what was there")
		}
		z.server.LabelsChanged()
	})
	state("after Remove and LabelsChanged", pcp.StateNames|pcp.StateLabels, 0)
	if _, err := c.PMID("zoo2.tree.height"); err != pcp.ErrName {
		t.Errorf("a removed name: %v", err)
	}
	if s := c.Fetch(z.server.PMID(9, 1)); s[0].Err != pcp.ErrPMID {
		t.Errorf("a removed metric: %+v", s)
	}
	if kids, _ := c.Children("zoo2"); len(kids) != 0 {
		t.Errorf("children of what is empty again: %v", kids)
	}
	z.do(t, func() {
		if err := z.server.Add(tree); err != nil {
			t.Error(err)
		}
	})
	state("after Add again", pcp.StateNames, 0)
	if v, err := c.Value("zoo2.tree.height", "oak"); err != nil || v.Bits() != 30 {
		t.Errorf("oak: %v, %v", v, err)
	}
}

// TestAddFromCallbacks: a fetch tells clients what its own Refresh has added.
func TestAddFromCallbacks(t *testing.T) {
	z := newZoo()
	n := 0
	z.refresh = func(r *pmda.Request) {
		if r.Fetch && n < 3 {
			n++
			if err := z.server.Add(pmda.Metric{Name: fmt.Sprintf("zoo2.m%d", n), Cluster: 9, Item: n, Sem: pcp.SemInstant,
				OneLine: "m", Get: pmda.Value(func() (int32, error) { return 1, nil })}); err != nil {
				t.Error(err)
			}
		}
	}
	c, _ := visit(t, z)
	for i, want := range []uint32{pcp.StateNames, pcp.StateNames, pcp.StateNames, 0} {
		if c.Fetch(zooID(itemCount)); c.State != want {
			t.Errorf("state %d in fetch %d, want %d", c.State, i, want)
		}
	}
}

// TestAddRefused leaves nothing behind, and tells nobody.
func TestAddRefused(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	trees := &pmda.InDom[int]{Serial: 20, Name: "trees", OneLine: "trees"}
	get := pmda.Per(trees, func(n int) (int64, bool) { return int64(n), true })
	good := pmda.Metric{Name: "zoo2.tree", Cluster: 9, Item: 1, Sem: pcp.SemInstant, OneLine: "t", Get: get}
	for what, spoil := range map[string]func(*pmda.Metric){
		"no one-line help": func(m *pmda.Metric) { m.OneLine = "" },
		"number 3.0":       func(m *pmda.Metric) { m.Cluster, m.Item = 3, 0 },
		"zoo.count":        func(m *pmda.Metric) { m.Name = "zoo.count" },
		"below":            func(m *pmda.Metric) { m.Name = "zoo.count.x" },
		"node":             func(m *pmda.Metric) { m.Name = "zoo.beast" },
		"semantics Sem(0)": func(m *pmda.Metric) { m.Sem = 0 },
	} {
		m := good
		spoil(&m)
		z.do(t, func() {
			if err := z.server.Add(m); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		})
		if _, err := c.Ask(&pdu.InstanceReq{InDom: pcp.MakeInDom(zooDomain, 20), Inst: pcp.InstNull}); err != pcp.ErrInDom {
			t.Errorf("%s: the domain of a metric that was refused: %v", what, err)
		}
	}
	if c.Fetch(zooID(itemCount)); c.State != 0 {
		t.Errorf("state %d though nothing changed", c.State)
	}
	z.do(t, func() {
		if err := z.server.Add(good); err != nil {
			t.Error(err)
		}
	})
	if trees.ID() != pcp.MakeInDom(zooDomain, 20) {
		t.Errorf("the domain of a metric that was refused first has number %v", trees.ID())
	}
}

func TestWarm(t *testing.T) {
	z := newZoo()
	warm := make(chan error)
	z.agent.Warm = func() error { return <-warm }
	c, j := visit(t, z)
	c.Client(3, 0, 0, 1)
	if _, err := c.Ask(&pdu.Fetch{PMIDs: []pcp.PMID{zooID(itemCount)}}); !errors.Is(err, pcp.ErrAgain) {
		t.Errorf("fetch before Warm has ended: %v", err)
	}
	warm <- errors.New("a cold")
	for { // nothing tells when Warm has ended
		if _, err := c.Ask(&pdu.Fetch{PMIDs: []pcp.PMID{zooID(itemCount)}}); err == nil {
			break
		}
	}
	if err := c.Store("zoo.count", "", pcp.Num(uint32(1))); err != nil || z.stores[0].Client.UID != 0 {
		t.Errorf("who came during Warm is not known: %v, %+v", err, z.stores)
	}
	if j.count("starting: a cold") != 1 {
		t.Errorf("the log does not tell of Warm's error:\n%s", j)
	}
}

// TestWarmAnonymous: pmcd is told when the agent is ready.
func TestWarmAnonymous(t *testing.T) {
	z := newZoo()
	warm := make(chan error)
	z.agent.Anonymous, z.agent.NamesNotReady = true, true
	z.agent.Warm = func() error { return <-warm }
	c, _ := visit(t, z)
	if c.Creds.Flags != 0 {
		t.Errorf("an anonymous agent asks for %#x", c.Creds.Flags)
	}
	warm <- nil
	if e, ok := c.Read().(*pdu.Error); !ok || e.Code != pcp.ErrPMDAReady {
		t.Fatalf("after Warm the agent says %+v", e)
	}
	z.server.Ready() // again, and nothing must be sent
	z.do(t, func() {})
	c.Fetch(zooID(itemCount))
}

// TestNotReadyKnown: an agent that knows its clients does not tell pmcd that it is not
// ready.
func TestNotReadyKnown(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	exchange{what: "look-up", ask: &pdu.InstanceReq{InDom: beastDom, Inst: pcp.InstNull, Name: "later"},
		code: pcp.ErrAgain}.run(t, c)
	c.Fetch(zooID(itemCount))
}

// TestNotReady: the agent answers that it is not ready, forgets its clients, because it
// will not be told when they leave, and says once that it is ready again.
func TestNotReady(t *testing.T) {
	z := newZoo()
	z.agent.Anonymous, z.agent.NamesNotReady = true, true
	c, _ := visit(t, z)
	c.Client(3, 0, 0, 1)
	z.server.Ready()
	exchange{what: "look-up", ask: &pdu.InstanceReq{InDom: beastDom, Inst: pcp.InstNull, Name: "later"},
		code: pcp.ErrPMDANotReady}.run(t, c)
	if len(z.gone) != 1 || z.gone[0].UID != 0 {
		t.Errorf("gone: %+v", z.gone)
	}
	z.server.Ready()
	z.server.Ready()
	if e, ok := c.Read().(*pdu.Error); !ok || e.Code != pcp.ErrPMDAReady {
		t.Fatalf("the agent says %+v", e)
	}
	if err := c.Store("zoo.count", "", pcp.Num(uint32(1))); err != nil || z.stores[0].Client.Known() {
		t.Errorf("a client is still known: %v, %+v", err, z.stores)
	}
}

// TestNotReadyOfOneMetric: if one metric is not ready, the agent as a whole does not say
// that it is not.
func TestNotReadyOfOneMetric(t *testing.T) {
	z := newZoo()
	z.fetch = func(v *pmda.Values) { v.Fail(pcp.ErrPMDANotReady) }
	c, _ := visit(t, z)
	if s := c.Fetch(zooID(itemCustom)); s[0].Err != pcp.ErrPMDANotReady {
		t.Errorf("%+v", s)
	}
	z.server.Ready()
	z.do(t, func() {})
	c.Fetch(zooID(itemCount)) // and not READY
}

func TestDo(t *testing.T) {
	z := newZoo()
	c, _ := visit(t, z)
	var order []int
	for i := range 1000 {
		z.server.Do(func() { order = append(order, i) })
		if i == 500 {
			z.server.Do(func() { z.server.Do(func() { order = append(order, 1000) }) })
		}
	}
	c.Fetch(zooID(itemCount))
	z.do(t, func() {})
	seen := make(map[int]bool)
	last := -1
	for _, n := range order {
		if seen[n] {
			t.Fatalf("%d has run twice", n)
		}
		seen[n] = true
		if n < 1000 && n != last+1 {
			t.Fatalf("%d has run after %d", n, last)
		}
		if n < 1000 {
			last = n
		}
	}
	if len(order) != 1001 {
		t.Errorf("%d of 1001 functions have run", len(order))
	}
}

// TestStop ends Serve from any goroutine, also from a callback, and is harmless twice.
func TestStop(t *testing.T) {
	for _, from := range []string{"outside", "inside", "before"} {
		z := newZoo()
		s, err := pmda.New(z.agent, pmda.Options{Log: logTo(t)})
		if err != nil {
			t.Fatal(err)
		}
		z.refresh = func(*pmda.Request) { s.Stop() }
		near, far := pmdatest.Pipe(t)
		served := make(chan error, 1)
		if from == "before" {
			s.Stop()
		}
		go func() { served <- s.Serve(far) }()
		switch from {
		case "outside":
			c := pmdatest.Connect(t, near)
			c.Send(&pdu.Profile{})
			s.Stop()
			s.Stop()
		case "inside":
			pmdatest.Connect(t, near).Fetch(zooID(itemCount)) // is still answered
		}
		if err := receive(t, "the end of Serve", served); err != nil {
			t.Errorf("%s: Serve: %v", from, err)
		}
		if from != "before" {
			if _, err := io.Copy(io.Discard, near); err != nil { // ends when it is closed
				t.Errorf("%s: %v", from, err)
			}
		}
		near.Close()
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close: %v", from, err)
		}
	}
}

// TestBrokenStream: the connection ends, because after such bytes the next PDU cannot be
// found.
func TestBrokenStream(t *testing.T) {
	for what, bytes := range map[string][]byte{
		"a length below that of a header": {0, 0, 0, 11, 0, 0, 0x70, 3, 0, 0, 0, 0},
		"a negative length":               {0xff, 0xff, 0xff, 0xff, 0, 0, 0x70, 3, 0, 0, 0, 0},
		"an unknown type":                 {0, 0, 0, 12, 0, 0, 0x70, 0x99, 0, 0, 0, 0},
		"an end in the middle":            {0, 0, 0, 16, 0, 0, 0x70, 4},
	} {
		z := newZoo()
		s, err := pmda.New(z.agent, pmda.Options{Log: logTo(t)})
		if err != nil {
			t.Fatal(err)
		}
		near, far := pmdatest.Pipe(t)
		served := make(chan error, 1)
		go func() { served <- s.Serve(far) }()
		pmdatest.Connect(t, near)
		if _, err := near.Write(bytes); err != nil {
			t.Fatal(err)
		}
		if what == "an end in the middle" {
			near.Close()
		}
		if err := receive(t, "the end of Serve", served); err == nil {
			t.Errorf("%s: Serve returns no error", what)
		}
		near.Close()
	}
}
