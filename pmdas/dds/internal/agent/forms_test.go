package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// The forms that a statistic can change to from a counter of 64 bits without sign.
var otherForms = map[string]func(*readertest.Stat){
	"type":      func(s *readertest.Stat) { s.Type, s.Size = layout.Float, 4 },
	"semantics": quantity,
	"units":     func(s *readertest.Stat) { s.Units = pcp.Bytes.Word() },
}

// one is a supplier with one statistic, DDS/v/c/n, which has a value.
func one(t *testing.T, name string, mend ...func(*readertest.Stat)) *readertest.Segment {
	s := readertest.New(t, name, 0, readertest.Context{Path: "DDS/v"},
		readertest.Context{Path: "DDS/v/c", Stats: []readertest.Stat{stat("n", 0, mend...)}})
	s.Put64(s.Data[1], 0x40000000)
	return s
}

// pmid returns a metric's number.
func (l *lab) pmid(metric string) pcp.PMID {
	l.t.Helper()
	d, err := l.Desc(metric)
	if err != nil {
		l.t.Errorf("%s: %v", metric, err)
	}
	return d.PMID
}

// TestEndedDecidesNothing: after a supplier has ended, any user may supply its statistic in
// another form, under the same name and with a new number.
func TestEndedDecidesNothing(t *testing.T) {
	for what, change := range otherForms {
		t.Run(what, func(t *testing.T) {
			l := newLab(t)
			squat := one(t, "squat", change)
			squat.Publish(l.dir, 65534)
			old := l.pmid("dds.v.c.n")
			squat.End()
			one(t, "root").Publish(l.dir, -1)
			l.is("dds.v.c.n", "=1073741824")
			l.is("rtime.dds.supplier.reason", "")
			l.is("rtime.dds.supplier.errors", "root@root=0 squat@"+account.NameOf(65534)+"=0")
			if l.pmid("dds.v.c.n") == old {
				t.Errorf("two forms have the number %v", old)
			}
			l.names("dds.v.c.n")
		})
	}
}

// TestNumberOfOneForm: once a statistic has changed its form, the old number is never used
// again, not even for the old form, and not after restarts of the agent. Without a change
// the number stays.
func TestNumberOfOneForm(t *testing.T) {
	l := newLab(t)
	seen := make(map[pcp.PMID]string)
	var forms []string
	for what := range otherForms {
		forms = append(forms, what, "plain")
	}
	for range 2 {
		for _, what := range forms {
			var mend []func(*readertest.Stat)
			if f := otherForms[what]; f != nil {
				mend = append(mend, f)
			}
			first := pcp.PMID(0)
			for i := range 2 {
				s := one(t, "x", mend...)
				s.Publish(l.dir, -1)
				id := l.pmid("dds.v.c.n")
				if i == 0 {
					first = id
					if was, there := seen[id]; there {
						t.Errorf("%s has the number %v, which was that of %s", what, id, was)
					}
					seen[id] = what
				} else if id != first {
					t.Errorf("%s had the number %v and has %v", what, first, id)
				}
				s.End()
				l.second()
				if i == 0 {
					l.end()
					l.start()
				}
			}
		}
	}
}

// kinds is a supplier of two kinds of contexts below one: sockets and connections, as in
// the SPMI's guide. Both kinds have the statistic bytes.
func kinds(t *testing.T, mend func(*readertest.Stat)) *readertest.Segment {
	conn := func(s *readertest.Stat) { s.Descr, s.Min, s.Max = "about connections", -1, 1000; mend(s) }
	return readertest.New(t, "kinds", 0, readertest.Context{Path: "DDS/v"}, readertest.Context{Path: "DDS/v/net"},
		readertest.Context{Path: "DDS/v/net/socket", Template: true, Stats: []readertest.Stat{stat("bytes", 0)}},
		readertest.Context{Path: "DDS/v/net/connection", Template: true, Stats: []readertest.Stat{stat("bytes", 0, conn), stat("peers", 1)}})
}

// TestTwoKinds: two kinds of contexts below one parent keep all they have: values,
// descriptions and scales. This holds for the same type and for different ones, whichever
// kind comes first.
func TestTwoKinds(t *testing.T) {
	forms := map[string]func(*readertest.Stat){"same": func(*readertest.Stat) {}}
	for what, f := range otherForms {
		forms[what] = f
	}
	for what, mend := range forms {
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			t.Run(fmt.Sprint(what, order), func(t *testing.T) {
				l := newLab(t)
				s := kinds(t, mend)
				s.Publish(l.dir, -1)
				l.Names("")
				for _, i := range order {
					data := s.Add(uint32(i), 2+i, fmt.Sprintf("DDS/v/net/%c", 'a'+i), "")
					s.Put64(data, 0x40000000) // 2 as a float
					l.Names("")
				}
				l.names("dds.v.net.socket.bytes", "dds.v.net.connection.bytes", "dds.v.net.connection.peers")
				l.is("dds.v.net.socket.bytes", "a=1073741824")
				want := "b=1073741824"
				if what == "type" {
					want = "b=2"
				}
				l.is("dds.v.net.connection.bytes", want)
				l.is("dds.v.net.connection.peers", "b=0")
				l.is("rtime.dds.supplier.errors", "kinds@root=0")
				for kind, texts := range map[string][2]string{
					"socket": {"about bytes", "scale from 0 to 100."}, "connection": {"about connections", "scale from -1 to 1000."},
				} {
					one, long := l.Text("dds.v.net." + kind + ".bytes")
					if one != texts[0] || !strings.Contains(long, texts[1]) {
						t.Errorf("%s: %q %q", kind, one, long)
					}
				}
			})
		}
	}
}

// TestOtherSupplier: two suppliers are there and have different statistics of one name
// below one context. The first keeps the name; the other gets the documented second one,
// and its reason says so. This holds for the same form and for different ones.
func TestOtherSupplier(t *testing.T) {
	supplier := func(name, kind string, uid int, mend ...func(*readertest.Stat)) *readertest.Segment {
		s := readertest.New(t, name, 0, readertest.Context{Path: "DDS/v"}, readertest.Context{Path: "DDS/v/" + name},
			readertest.Context{Path: "DDS/v/c/" + kind, Template: true, Stats: []readertest.Stat{stat("n", 0, mend...)}})
		return s
	}
	described := func(s *readertest.Stat) { s.Descr = "something else" }
	l := newLab(t)
	readertest.New(t, "home", 0, readertest.Context{Path: "DDS/v/c"}).Publish(l.dir, -1)
	for _, c := range []struct {
		name, kind string
		mend       func(*readertest.Stat)
		metric     string
	}{
		{"a", "S", func(*readertest.Stat) {}, "dds.v.c.n"},
		{"b", "T", func(*readertest.Stat) {}, "dds.v.c.n"}, // another kind, declared the same
		{"d", "S", described, "dds.v.c.n"},                 // the same kind
		{"e", "T", described, "dds.v.c.T.n"},
		{"f", "S", quantity, "dds.v.c.S.n"},
		{"g", "S", func(s *readertest.Stat) { s.Units = pcp.Bytes.Word() }, "dds.v.c.S.n_u64_counter_byte"},
		{"h", "S", otherForms["type"], "dds.v.c.S.n_float_counter"},
	} {
		s := supplier(c.name, c.kind, -1, c.mend)
		s.Put64(s.Add(0, 2, "DDS/v/c/"+c.name, ""), 0x40000000)
		s.Publish(l.dir, -1)
		values, err := l.Values(c.metric)
		if _, there := values[c.name]; err != nil || !there {
			t.Errorf("%s: %v %v", c.metric, values, err)
		}
		reasons, err := l.Values("rtime.dds.supplier.reason")
		must(t, err)
		if got := fmt.Sprint(reasons[c.name+"@root"]); strings.Contains(got, c.metric) != (c.metric != "dds.v.c.n") {
			t.Errorf("%s: reason %q", c.name, got)
		}
	}
	if n := l.sum("rtime.dds.supplier.errors"); n != 0 {
		t.Errorf("%d errors", n)
	}
	l.is("dds.v.c.n", "a=1073741824 b=1073741824 d=1073741824")
}

// TestWithoutContexts: while a supplier is there it keeps its names, even while it has no
// context of the kind.
func TestWithoutContexts(t *testing.T) {
	l := newLab(t, letIn("DDS/v/c", 65534))
	supplier := func(name string, mend ...func(*readertest.Stat)) *readertest.Segment {
		return readertest.New(t, name, 0, readertest.Context{Path: "DDS/v"}, readertest.Context{Path: "DDS/v/c"},
			readertest.Context{Path: "DDS/v/c/S", Template: true, Stats: []readertest.Stat{stat("n", 0, mend...)}})
	}
	a, b := supplier("a"), supplier("b", quantity)
	a.Put64(a.Add(0, 2, "DDS/v/c/one", ""), 4711)
	a.Publish(l.dir, -1)
	l.is("dds.v.c.n", "one=4711")
	was := l.pmid("dds.v.c.n")
	a.Delete(0)
	l.is("dds.v.c.n", "")
	b.Add(0, 2, "DDS/v/c/two", "")
	b.Publish(l.dir, 65534)
	l.is("dds.v.c.n", "")
	l.is("dds.v.c.S.n", "two=0")
	a.Put64(a.Add(0, 2, "DDS/v/c/one", ""), 4712)
	l.is("dds.v.c.n", "one=4712")
	if l.pmid("dds.v.c.n") != was {
		t.Error("it has another number")
	}
	// Once it has ended, the other supplier gets the name with its next context.
	a.End()
	b.Delete(0)
	l.Names("")
	b.Put64(b.Add(0, 2, "DDS/v/c/two", ""), 5)
	l.is("dds.v.c.n", "two=5")
	if l.pmid("dds.v.c.n") == was {
		t.Error("two forms have one number")
	}
}

// TestTotalAndParts: a context and the volatile contexts below it have statistics of the
// same name. Their names follow from the shape of the tree, whoever supplies them and
// whoever comes first. Names and numbers stay over restarts.
func TestTotalAndParts(t *testing.T) {
	total := readertest.Context{Path: "DDS/v/PagSp", Descr: "Paging space statistics",
		Stats: []readertest.Stat{stat("size", 0), stat("free", 1)}}
	part := readertest.Context{Path: "DDS/v/PagSp/hd", Template: true, Stats: []readertest.Stat{stat("size", 0), stat("%free", 1)}}
	names := []string{"dds.v.PagSp.size", "dds.v.PagSp.free", "dds.v.PagSp.inst.size", "dds.v.PagSp.inst.pct_free"}
	programs := map[string]func() []*readertest.Segment{
		"one program": func() []*readertest.Segment {
			s := readertest.New(t, "all", 0, total, part)
			s.Put64(s.Data[0], 20)
			s.Put64(s.Add(0, 1, "DDS/v/PagSp/hd6", ""), 10)
			return []*readertest.Segment{s}
		},
		"two programs": func() []*readertest.Segment {
			a, b := readertest.New(t, "total", 0, total), readertest.New(t, "parts", 0, part)
			a.Put64(a.Data[0], 20)
			b.Put64(b.Add(0, 0, "DDS/v/PagSp/hd6", ""), 10)
			return []*readertest.Segment{a, b}
		},
	}
	for what, start := range programs {
		t.Run(what, func(t *testing.T) {
			l := newLab(t)
			numbers := ""
			for round := range 4 {
				list := start()
				if round%2 == 1 {
					slices.Reverse(list)
				}
				for _, s := range list {
					s.Publish(l.dir, -1)
					if round > 0 { // a volatile context needs the fixed one above it first
						l.Names("")
					}
				}
				l.is("dds.v.PagSp.size", "=20")
				l.is("dds.v.PagSp.inst.size", "hd6=10")
				l.names(names...)
				if got := l.numbersOf(names...); round > 0 && got != numbers {
					t.Errorf("round %d: numbers are\n%swant\n%s", round, got, numbers)
				} else {
					numbers = got
				}
				for _, s := range list {
					s.End()
				}
				l.second()
				if round == 1 {
					l.end()
					l.start()
				}
			}
		})
	}
}

// TestAsterisk: a context whose name is an asterisk is not mistaken for the volatile ones
// below its parent.
func TestAsterisk(t *testing.T) {
	l := newLab(t)
	s := readertest.New(t, "x", 0, readertest.Context{Path: "DDS/v/c"},
		readertest.Context{Path: "DDS/v/c/*", Stats: []readertest.Stat{stat("n", 0)}},
		readertest.Context{Path: "DDS/v/c/T", Template: true, Stats: []readertest.Stat{stat("n", 0)}})
	s.Put64(s.Data[1], 1)
	s.Put64(s.Add(0, 2, "DDS/v/c/i", ""), 2)
	s.Publish(l.dir, -1)
	l.is("dds.v.c.x_.n", "=1")
	l.is("dds.v.c.n", "i=2")
}
