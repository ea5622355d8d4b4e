package agent

import (
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// loads is a supplier of volatile contexts; each of them has a load.
func loads(t *testing.T, fixed []string, volatile ...string) *readertest.Segment {
	var list []readertest.Context
	for _, path := range fixed {
		list = append(list, readertest.Context{Path: path})
	}
	list = append(list, readertest.Context{Path: "DDS/v/T", Template: true, Stats: []readertest.Stat{stat("load", 0)}})
	s := readertest.New(t, "loads", 0, list...)
	for i, path := range volatile {
		s.Put64(s.Add(uint32(i), len(fixed), path, ""), uint64(i+1))
	}
	return s
}

// TestHome: the context below which a volatile one is an instance is decided when the
// volatile one is seen for the first time. It stays the same over restarts of the agent,
// whoever goes and comes after that.
func TestHome(t *testing.T) {
	l := newLab(t)
	parent := loads(t, []string{"DDS/v", "DDS/v/hosts"})
	parent.Publish(l.dir, -1)
	l.Names("")
	s := loads(t, nil, "DDS/v/hosts/a/b c", "DDS/v/nets/a")
	s.Publish(l.dir, -1)
	hosts, nets := "dds.v.hosts.load", "dds.v.load"
	check := func() {
		t.Helper()
		l.is(hosts, "a/b_c=1")
		l.is(nets, "nets/a=2")
		l.names(hosts, nets)
	}
	check()
	was := l.described(hosts, nets)
	id := l.inst(hosts, "a/b_c")

	parent.Die() // now nobody has its context
	l.second()
	s.Delete(0)
	l.Names("")
	l.end()
	l.start(func(a *Agent) { a.conf.Keep = 0 })
	s.Put64(s.Add(0, 0, "DDS/v/hosts/a/b c", ""), 1)
	check()

	nearer := loads(t, []string{"DDS/v", "DDS/v/hosts", "DDS/v/hosts/a", "DDS/v/nets"})
	nearer.Publish(l.dir, 65534)
	for range 2 {
		l.Names("")
		s.Delete(0)
		s.Delete(1)
		l.Names("")
		s.Put64(s.Add(0, 0, "DDS/v/hosts/a/b c", ""), 1)
		s.Put64(s.Add(1, 0, "DDS/v/nets/a", ""), 2)
		check()
		if got := l.described(hosts, nets); got != was {
			t.Errorf("%s, before %s", got, was)
		}
		if n := l.inst(hosts, "a/b_c"); n != id {
			t.Errorf("instance %d, before %d", n, id)
		}
		l.end()
		l.start()
	}
}

// inst returns the number of an instance.
func (l *lab) inst(metric, name string) int32 {
	l.t.Helper()
	d, err := l.Desc(metric)
	must(l.t, err)
	id, err := l.Lookup(d.InDom, name)
	must(l.t, err)
	return int32(id)
}

// TestInstancesAlike: of two instances that come out alike, the same one has the plain
// name after a restart, whichever is there first.
func TestInstancesAlike(t *testing.T) {
	for _, order := range [][2]string{{"x y", "x_y"}, {"x_y", "x y"}, {"x y", "x\u00a0y"}} {
		l := newLab(t)
		first, second := order[0], order[1]
		suffixed := "x_y" + naming.Suffix(second)
		s := loads(t, []string{"DDS/v"}, "DDS/v/"+first, "DDS/v/"+second)
		s.Publish(l.dir, -1)
		l.is("dds.v.load", "x_y=1 "+suffixed+"=2")
		s.End()
		l.second()
		l.end()
		l.start()
		s = loads(t, []string{"DDS/v"}, "DDS/v/"+second, "DDS/v/"+first)
		s.Publish(l.dir, -1)
		l.is("dds.v.load", "x_y=2 "+suffixed+"=1")
	}
}
