package agent

import (
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// TestTwoTemplates: two templates of one supplier have a statistic of the same name and
// another type or unit. Whichever is there has its metric as it is, and never the one's
// values in the other's.
func TestTwoTemplates(t *testing.T) {
	for name, change := range map[string]func(*readertest.Stat){
		"type":      func(s *readertest.Stat) { s.Type = layout.Float },
		"semantics": quantity,
		"units":     func(s *readertest.Stat) { s.Units = pcp.Bytes.Word() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			s := readertest.New(t, "two", 0, readertest.Context{Path: "DDS/v"}, readertest.Context{Path: "DDS/v/c"},
				readertest.Context{Path: "DDS/v/c/S", Template: true, Stats: []readertest.Stat{stat("n", 0)}},
				readertest.Context{Path: "DDS/v/c/T", Template: true, Stats: []readertest.Stat{stat("n", 0, change)}})
			put := func() { s.Put64(s.Add(0, 2, "DDS/v/c/one", ""), 4711) }
			put()
			s.Publish(l.dir, -1)
			l.is("dds.v.c.n", "one=4711")
			first := l.described("dds.v.c.n")
			s.Delete(0)
			l.is("dds.v.c.n", "")
			s.Add(1, 3, "DDS/v/c/two", "")
			l.is("dds.v.c.n", "two=0")
			if l.described("dds.v.c.n") == first {
				t.Error("the second has the first one's metric")
			}
			put() // while the second is there
			l.is("dds.v.c.n", "two=0")
			l.is("rtime.dds.supplier.errors", "two@root=1")
			s.Delete(0)
			s.Delete(1)
			l.is("dds.v.c.n", "")
			put()
			l.is("dds.v.c.n", "one=4711")
			if got := l.described("dds.v.c.n"); got != first {
				t.Errorf("%s, at first %s", got, first)
			}
		})
	}
}

// TestTypeOfAnother: a metric whose supplier is away is not given another type by another
// user: when its own is back it is as it was.
func TestTypeOfAnother(t *testing.T) {
	l := newLab(t)
	supplier := func(name string, mend ...func(*readertest.Stat)) *readertest.Segment {
		return readertest.New(t, name, 0, readertest.Context{Path: "DDS/v"}, readertest.Context{Path: "DDS/v/c"},
			readertest.Context{Path: "DDS/v/c/S", Template: true, Stats: []readertest.Stat{stat("n", 0, mend...)}})
	}
	a, b := supplier("a"), supplier("b", func(s *readertest.Stat) { s.Type = layout.Float })
	a.Put64(a.Add(0, 2, "DDS/v/c/one", ""), 4711)
	a.Publish(l.dir, -1)
	l.is("dds.v.c.n", "one=4711")
	a.Delete(0)
	l.is("dds.v.c.n", "")
	b.Add(0, 2, "DDS/v/c/two", "")
	b.Publish(l.dir, 65534)
	l.is("dds.v.c.n", "")
	l.is("rtime.dds.supplier.errors", "a@root=0 b@"+account.NameOf(65534)+"=1")
	a.Put64(a.Add(0, 2, "DDS/v/c/one", ""), 4712)
	l.is("dds.v.c.n", "one=4712")
}
