package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// TestDemand: suppliers are told what clients ask for again and again, each at its own
// interval, and that they have stopped.
func TestDemand(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	for i := range uint32(3) {
		s.Add(i, bingo, fmt.Sprintf("DDS/IBM/Moretest/i%d", i), "")
	}
	s.Publish(l.dir, -1)
	told := func(values, ms uint32) {
		t.Helper()
		l.second()
		if n := s.Notice(); n.Values != values || n.Interval != ms {
			t.Errorf("told %+v, want %d values at %d ms", n, values, ms)
		}
	}
	id := func(m string) pcp.PMID {
		d, err := l.Desc(m)
		if err != nil {
			t.Fatal(err)
		}
		return d.PMID
	}
	gadgets, widgets, problems := id("dds.IBM.Test.gadgets"), id("dds.IBM.Test.widgets"), id("dds.IBM.Moretest.problems")
	base := time.Now()
	l.a.now = func() time.Time { return base.Add(l.ahead) }
	told(0, 0)
	fetch := func(slot int32, at time.Duration, ids ...pcp.PMID) {
		l.Slot, l.ahead = slot, at
		l.Fetch(ids...)
	}
	fetch(1, 0, gadgets, widgets)
	told(0, 0) // one request is not a subscription
	fetch(1, 2*time.Second, gadgets, widgets)
	told(2, 2000)
	fetch(2, 3*time.Second, problems)
	fetch(1, 4*time.Second, gadgets, widgets)
	fetch(2, 4*time.Second, problems)
	told(5, 1000)
	fetch(2, 5*time.Second, problems)
	fetch(1, 6*time.Second, gadgets, widgets)
	told(5, 1000)
	l.is("rtime.dds.supplier.subscribed", title(t)+"=5")
	l.Gone(2)
	l.Names("") // a request, so that the notice has been dealt with
	told(2, 2000)
	l.ahead += 7 * time.Second
	s.Stamp(base.Add(l.ahead))
	told(2, 2000)
	l.ahead += 2 * time.Second
	told(0, 0)
	// One instance of the three.
	d, _ := l.Desc("dds.IBM.Moretest.problems")
	inst, err := l.Lookup(d.InDom, "i1")
	if err != nil {
		t.Fatal(err)
	}
	l.Profile(pdu.InDomProfile{InDom: d.InDom, State: pdu.Exclude, List: []int32{inst}})
	fetch(3, 20*time.Second, problems)
	fetch(3, 20500*time.Millisecond, problems)
	told(1, 500)
}

// TestLabelsChanged: clients are told of changed labels, but not again and again.
func TestLabelsChanged(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Publish(l.dir, -1)
	told := func(want bool) {
		t.Helper()
		l.second()
		l.is("rtime.dds.agent.refused", "=0")
		if got := l.State&pcp.StateLabels != 0; got != want {
			t.Errorf("told of labels: %v", got)
		}
	}
	told(true)
	s.Add(0, bingo, "DDS/IBM/Moretest/Bingo", "")
	told(false)
	l.ahead = 11 * time.Second
	s.Stamp(time.Now())
	told(true)
	l.ahead = 22 * time.Second
	told(false)
}

// TestFastest: a client that asks fast does not make suppliers work faster than the
// configuration says.
func TestFastest(t *testing.T) {
	l := newLab(t, func(a *Agent) { a.conf.Fastest = 250 * time.Millisecond })
	s := supl(t)
	s.Publish(l.dir, -1)
	d, err := l.Desc("dds.IBM.Test.gadgets")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		l.ahead += time.Millisecond
		l.Fetch(d.PMID)
	}
	l.second()
	if ms := s.Notice().Interval; ms != 250 {
		t.Errorf("told %d ms", ms)
	}
}

// TestLogPerUser: a user who causes lines without end has only some of them in the
// log, and another user's line is still there.
func TestLogPerUser(t *testing.T) {
	l := newLab(t)
	for i := range 500 {
		l.srv.Do(func() { l.a.complain(65534, "nobody's line %d", i) })
	}
	done := make(chan struct{})
	l.srv.Do(func() { l.a.complain(1, "somebody's line"); close(done) })
	<-done
	if n := l.logged("nobody's line"); n == 0 || n > 100 {
		t.Errorf("%d lines of 500", n)
	}
	if n := l.logged("somebody's line"); n != 1 {
		t.Errorf("another user's line is there %d times", n)
	}
}
