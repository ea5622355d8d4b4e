package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// numbersOf returns the numbers that must never change: those of metrics, instance
// domains and instances.
func (l *lab) numbersOf(metrics ...string) string {
	l.t.Helper()
	var b strings.Builder
	for _, m := range metrics {
		d, err := l.Desc(m)
		if err != nil {
			l.t.Fatalf("%s: %v", m, err)
		}
		fmt.Fprintf(&b, "%s %v %v", m, d.PMID, d.InDom)
		if d.InDom != pcp.InDomNull {
			list := l.Instances(d.InDom)
			slices.SortFunc(list, func(a, b pcp.Instance) int { return int(a.ID - b.ID) })
			fmt.Fprintf(&b, " %v", list)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestNumbersStay: numbers are the same after restarts of supplier and agent, in
// whatever order suppliers come.
func TestNumbersStay(t *testing.T) {
	l := newLab(t)
	other := func() *readertest.Segment {
		return readertest.New(t, "other", 0, readertest.Context{Path: "DDS/IBM"},
			readertest.Context{Path: "DDS/IBM/Other", Stats: []readertest.Stat{stat("x", 0), stat("y", 1)}},
			readertest.Context{Path: "DDS/IBM/Other/T", Template: true, Stats: []readertest.Stat{stat("z", 0)}})
	}
	metrics := []string{"dds.IBM.Test.gadgets", "dds.IBM.Moretest.SubTest.queue", "dds.IBM.Moretest.problems", "dds.IBM.Other.y", "dds.IBM.Other.inst.z"}
	s, o := supl(t), other()
	s.Add(0, bingo, "DDS/IBM/Moretest/Bango", "")
	s.Add(1, bingo, "DDS/IBM/Moretest/Bingo", "")
	o.Add(0, 2, "DDS/IBM/Other/a", "")
	s.Publish(l.dir, -1)
	o.Publish(l.dir, -1)
	want := l.numbersOf(metrics...)
	s.Die()
	o.Die()
	l.second()
	l.is("rtime.dds.agent.suppliers", "=0")
	l.is("dds.IBM.Test.gadgets", pcp.ErrValue.Error())
	l.is("dds.IBM.Moretest.problems", "")
	if d, err := l.Desc("dds.IBM.Test.gadgets"); err != nil || d.Type != pcp.TypeU64 {
		t.Errorf("without supplier: %+v %v", d, err)
	}
	again := func() {
		t.Helper()
		s, o = supl(t), other()
		o.Add(3, 2, "DDS/IBM/Other/a", "")
		o.Publish(l.dir, -1)
		l.second()
		s.Add(5, bingo, "DDS/IBM/Moretest/Bango", "")
		s.Publish(l.dir, -1)
		s.Add(0, bingo, "DDS/IBM/Moretest/Bingo", "")
		if got := l.numbersOf(metrics...); got != want {
			t.Errorf("numbers are\n%swant\n%s", got, want)
		}
	}
	again()
	l.end()
	s.End()
	o.End()
	l.start()
	if got := l.numbersOf("dds.IBM.Test.gadgets"); !strings.HasPrefix(want, got) {
		t.Errorf("without supplier %s, want\n%s", got, want)
	}
	again()
}

// TestKeep: a metric without a supplier goes when its time is over.
func TestKeep(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Publish(l.dir, -1)
	l.names(suplNames...)
	s.End()
	l.second()
	l.is("rtime.dds.supplier.state", title(t)+"=ended")
	l.is("rtime.dds.supplier.up", title(t)+"=0")
	l.ahead = 23 * time.Hour
	l.second()
	l.names(suplNames...)
	l.is("dds.IBM.Test.gadgets", pcp.ErrValue.Error())
	l.ahead = 25 * time.Hour
	l.second()
	l.names()
	l.is("rtime.dds.supplier.state", "")
	l.is("rtime.dds.agent.users", "=0")
	s = supl(t)
	s.Publish(l.dir, -1)
	l.names(suplNames...)
	l.is("dds.IBM.Test.gadgets", "=0")
}

// TestStale: a supplier that does not renew its time stamp is told to go away, and its
// contexts vanish. When it sets time stamps again it is back.
func TestStale(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Add(0, bingo, "DDS/IBM/Moretest/Bingo", "")
	s.Publish(l.dir, -1)
	l.is("dds.IBM.Moretest.problems", "Bingo=0")
	l.ahead = 25 * time.Second
	s.Stamp(time.Now().Add(-time.Hour)) // a new stamp, though an old time: the supplier's clock is its own
	l.second()
	l.ahead = 50 * time.Second
	l.second()
	l.is("dds.IBM.Test.gadgets", "=0")
	l.ahead = 60 * time.Second
	l.second()
	l.is("dds.IBM.Test.gadgets", pcp.ErrValue.Error())
	l.is("dds.IBM.Moretest.problems", "")
	l.is("rtime.dds.supplier.state", title(t)+"=stale")
	l.is("rtime.dds.supplier.contexts", title(t)+"=0")
	l.is("rtime.dds.agent.stale", "=1")
	if s.Notice().GoAway == 0 {
		t.Error("not told to go away")
	}
	l.second()
	l.is("rtime.dds.supplier.state", title(t)+"=stale")
	s.Stamp(time.Now().Add(time.Second))
	l.second()
	if n := s.Notice(); n.GoAway != 0 {
		t.Errorf("still told to go away: %+v", n)
	}
	l.is("rtime.dds.supplier.state", title(t)+"=ready")
	l.is("dds.IBM.Moretest.problems", "Bingo=0")
	l.is("dds.IBM.Test.gadgets", "=0")
	l.a.conf.Timeout = 0
	l.ahead = time.Hour
	l.second()
	l.is("rtime.dds.supplier.state", title(t)+"=ready")
}

// TestStaleAtFirst: an agent that starts finds a supplier that was stuck long before.
func TestStaleAtFirst(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Stamp(time.Now().Add(-time.Minute))
	s.Publish(l.dir, -1)
	l.is("rtime.dds.supplier.state", title(t)+"=stale")
	l.is("dds.IBM.Test.gadgets", pcp.ErrValue.Error())
}

// TestDied: a supplier whose process is gone is gone at the next request, and its file is
// removed. The next supplier gets a notice of its own.
func TestDied(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	path := s.Publish(l.dir, -1)
	l.is("dds.IBM.Test.gadgets", "=0")
	s.Die()
	l.is("dds.IBM.Test.gadgets", pcp.ErrValue.Error())
	l.is("rtime.dds.supplier.state", title(t)+"=died")
	l.is("rtime.dds.supplier.statistics", "")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	s = supl(t)
	s.Publish(l.dir, -1)
	l.is("dds.IBM.Test.gadgets", "=0")
	l.is("rtime.dds.supplier.state", title(t)+"=ready")
	// A supplier that died while nobody looked is removed and not shown.
	dead := supl(t)
	path = dead.Publish(l.t.TempDir(), -1)
	dead.Die()
	left := filepath.Join(l.dir, filepath.Base(path))
	if err := os.Rename(path, left); err != nil {
		t.Fatal(err)
	}
	l.is("rtime.dds.agent.suppliers", "=1")
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a dead one left is still there: %v", err)
	}
}

// TestTaken: the first supplier has a name; the next one gets it when it is free, whoever
// its user is.
func TestTaken(t *testing.T) {
	l := newLab(t, letIn("DDS/IBM/Moretest", 65534))
	first := supl(t)
	first.Put64(first.Data[1], 1)
	first.Publish(l.dir, -1)
	l.is("dds.IBM.Test.gadgets", "=1")
	second := supl(t)
	second.Put64(second.Data[1], 2)
	second.Publish(l.dir, 65534)
	second.Add(0, bingo, "DDS/IBM/Moretest/Bingo", "")
	l.is("dds.IBM.Test.gadgets", "=1")
	l.is("dds.IBM.Moretest.problems", "Bingo=0") // this instance is its own
	other := "SpmiSupl@" + account.NameOf(65534)
	l.is("rtime.dds.supplier.contexts", other+"=1 "+title(t)+"=2")
	l.is("rtime.dds.supplier.errors", other+"=2 "+title(t)+"=0")
	l.is("rtime.dds.agent.waiting", "=2")
	third := supl(t)
	third.Put64(third.Data[1], 3)
	third.Publish(l.dir, 65534)
	l.second()
	second.Die() // one that waits goes first
	first.Die()
	l.second()
	l.is("dds.IBM.Test.gadgets", "=3")
	d, _ := l.Desc("dds.IBM.Test.gadgets")
	if got := fmt.Sprint(l.Labels(uint32(d.PMID), pcp.LabelItem)); !strings.Contains(got, account.NameOf(65534)) {
		t.Errorf("labels %v", got)
	}
	l.is("rtime.dds.agent.waiting", "=0")
	l.is("rtime.dds.supplier.contexts", other+"#2=2")
}

// TestDamaged: a supplier whose file is cut off while it is mapped loses its values in
// the same fetch that finds the damage.
func TestDamaged(t *testing.T) {
	l := newLab(t)
	good := readertest.New(t, "good", 0, readertest.Context{Path: "DDS/v/good", Stats: []readertest.Stat{stat("x", 0)}},
		readertest.Context{Path: "DDS/v/shared"}, readertest.Context{Path: "DDS/v/shared/T", Template: true, Stats: []readertest.Stat{stat("n", 0)}})
	good.Add(0, 2, "DDS/v/shared/g", "")
	good.Publish(l.dir, -1)
	s := readertest.New(t, "bad", 0, readertest.Context{Path: "DDS/v/bad", Stats: []readertest.Stat{stat("x", 0)}},
		readertest.Context{Path: "DDS/v/T", Template: true, Stats: []readertest.Stat{stat("n", 0)}})
	s.Add(0, 1, "DDS/v/shared/b", "")
	s.Publish(l.dir, -1)
	l.is("dds.v.shared.n", "b=0 g=0")
	var ids []pcp.PMID
	for _, m := range []string{"dds.v.good.x", "dds.v.bad.x", "dds.v.shared.n"} {
		d, err := l.Desc(m)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.PMID)
	}
	s.Truncate(0)
	sets := l.Fetch(ids...)
	if len(sets[0].Values) != 1 || sets[1].Err != pcp.ErrValue || len(sets[2].Values) != 1 {
		t.Errorf("%+v", sets)
	}
	l.is("rtime.dds.supplier.state", "bad@root=damaged good@root=ready")
	l.is("rtime.dds.agent.damaged", "=1")
}

// TestDamagedInFetch: as before, but the file is cut off after the agent has looked and
// before it reads values.
func TestDamagedInFetch(t *testing.T) {
	l := newLab(t)
	s := supl(t)
	s.Publish(l.dir, -1)
	l.is("dds.IBM.Test.gadgets", "=0")
	done := make(chan struct{})
	l.srv.Do(func() {
		defer close(done)
		l.a.refresh(l.a.requestFor(l.srv, "dds.IBM.Test.gadgets"))
		s.Truncate(0)
		g := l.a.tree.groups["DDS/IBM/Test"]
		g.collect(l.a.tree, []place{g.live.at})
		if v, ok := g.columns[0].value(l.a.tree, g.live.at); ok {
			t.Errorf("value %d of a file without content", v)
		}
	})
	<-done
	l.is("rtime.dds.supplier.state", title(t)+"=damaged")
}
