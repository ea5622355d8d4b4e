package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// TestTypes: every data type has its own PCP type, as a fixed value and in instances.
func TestTypes(t *testing.T) {
	cases := []struct {
		typ, size uint32
		value     uint64 // stored in two words, of which the second is 5
		want      pcp.Type
		text      string
	}{
		{layout.ULong, 8, 1 << 63, pcp.TypeU64, "9223372036854775808"}, {layout.ULong, 4, 1 << 31, pcp.TypeU32, "2147483648"},
		{layout.Long, 8, 1 << 63, pcp.Type64, "-9223372036854775808"}, {layout.Long, 4, 1 << 31, pcp.Type32, "-2147483648"},
		{layout.UInt, 4, 1 << 31, pcp.TypeU32, "2147483648"}, {layout.Int, 4, 1 << 31, pcp.Type32, "-2147483648"},
		{layout.UShort, 2, 0xffff, pcp.TypeU32, "65535"}, {layout.Short, 2, 0xffff, pcp.Type32, "-1"},
		{layout.Char, 1, 0xff, pcp.TypeU32, "255"}, {layout.Char, 8, 0x6f6c6c6568, pcp.TypeString, "hello"},
		{layout.Addr, 8, 1 << 63, pcp.TypeU64, "9223372036854775808"}, {layout.Addr, 4, 0x7f000001, pcp.TypeU32, "2130706433"},
		{layout.Timeval, 16, 3, pcp.Type64, "3000005"}, {layout.Timeval, 8, 5<<32 | 3, pcp.Type64, "3000005"},
		{layout.Float, 4, 0x3fc00000, pcp.TypeFloat, "1.5"}, {layout.Double, 8, 0x3ff8000000000000, pcp.TypeDouble, "1.5"},
		{layout.Ptr, 8, 1 << 63, pcp.TypeU64, "9223372036854775808"}, {layout.Unsign, 4, 1 << 31, pcp.TypeU32, "2147483648"},
	}
	var stats []readertest.Stat
	for i, c := range cases {
		stats = append(stats, readertest.Stat{Name: fmt.Sprintf("s%d", i), Type: c.typ, Size: c.size, Offset: uint32(i) * 16})
	}
	l := newLab(t)
	s := readertest.New(t, "types", 0, readertest.Context{Path: "DDS/v/types", Stats: stats},
		readertest.Context{Path: "DDS/v/types/T", Template: true, Stats: stats})
	inst := s.Add(0, 1, "DDS/v/types/i", "")
	for i, c := range cases {
		for _, data := range []uint64{s.Data[0], inst} {
			s.Put64(data+uint64(i)*16, c.value)
			if c.size == 16 {
				s.Put64(data+uint64(i)*16+8, 5)
			}
		}
	}
	s.Publish(l.dir, -1)
	for i, c := range cases {
		plain := fmt.Sprintf("dds.v.types.s%d", i)
		for _, m := range []string{plain, fmt.Sprintf("dds.v.types.inst.s%d", i)} {
			d, err := l.Desc(m)
			if err != nil {
				t.Fatal(m, err)
			}
			wantSem := pcp.SemCounter
			if c.want == pcp.TypeString {
				wantSem = pcp.SemInstant
			}
			if d.Type != c.want || d.Sem != wantSem || (d.Units == pcp.Microseconds) != (c.typ == layout.Timeval) {
				t.Errorf("type %d of %d bytes: %+v, want %v", c.typ, c.size, d, c.want)
			}
			if m == plain {
				l.is(m, "="+c.text)
			} else {
				l.is(m, "i="+c.text)
			}
		}
	}
}

// TestNested: volatile contexts below volatile ones are instances, too; a slash joins
// their names.
func TestNested(t *testing.T) {
	l := newLab(t)
	s := readertest.New(t, "nested", 0, readertest.Context{Path: "DDS/v"}, readertest.Context{Path: "DDS/v/hosts"},
		readertest.Context{Path: "DDS/v/hosts/T", Template: true, Stats: []readertest.Stat{stat("sent", 0)}},
		readertest.Context{Path: "DDS/v/hosts/T/U", Template: true, Stats: []readertest.Stat{stat("load", 0), stat("sent", 1)}})
	s.Put64(s.Add(0, 2, "DDS/v/hosts/a", ""), 1)
	data := s.Add(1, 3, "DDS/v/hosts/a/cpu 0", "first cpu")
	s.Put64(data, 2)
	s.Put64(data+8, 3)
	s.Publish(l.dir, -1)
	l.is("dds.v.hosts.T.sent", "a=1") // both kinds have it
	l.is("dds.v.hosts.T.U.sent", "a/cpu_0=3")
	l.is("dds.v.hosts.T.U.load", "a/cpu_0=2")
	s.Add(2, 3, "DDS/v/hosts/a/cpu_0", "") // its name comes out like an earlier one
	l.is("dds.v.hosts.T.U.load", "a/cpu_0=2 a/cpu_0"+naming.Suffix("a/cpu_0")+"=0")
	d, _ := l.Desc("dds.v.hosts.T.U.load")
	labels := l.Labels(uint32(d.InDom), pcp.LabelInstances)
	id, err := l.Lookup(d.InDom, "a/cpu_0")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(labels[id])
	for _, want := range []string{"path DDS/v/hosts/a/cpu 0", "description first cpu", "supplier nested", "user root"} {
		if !strings.Contains(got, want) {
			t.Errorf("labels %v: no %q", got, want)
		}
	}
}

// TestNames: names that PCP does not allow are rewritten. Names that come out alike
// are told apart in the same way, however often and in whatever order suppliers come.
func TestNames(t *testing.T) {
	l := newLab(t)
	one := func(path string, stats ...string) *readertest.Segment {
		c := readertest.Context{Path: path}
		for i, s := range stats {
			c.Stats = append(c.Stats, stat(s, uint32(i)))
		}
		return readertest.New(t, "x", 0, c)
	}
	for round := range 2 {
		list := []*readertest.Segment{one("DDS/v/Mem", "%free", "pct_free", "1st"), one("DDS/v/a b", "x"), one("DDS/v/a_b", "x", "y"), one("DDS/v/Mem/1st", "z")}
		if round == 1 {
			slices.Reverse(list)
		}
		for _, s := range list {
			s.Publish(l.dir, -1)
			l.Names("")
		}
		l.names("dds.v.Mem.pct_free", "dds.v.Mem.pct_free"+naming.Suffix("DDS/v/Mem/pct_free"), "dds.v.Mem.x1st",
			"dds.v.Mem.x1st"+naming.Suffix("DDS/v/Mem/1st")+".z",
			"dds.v.a_b.x", "dds.v.a_b.x"+naming.Suffix("DDS/v/a_b/x"), "dds.v.a_b.y")
		for _, s := range list {
			s.End()
		}
		l.second()
		l.end()
		l.start()
	}
}

// TestLabels: a supplier's own labels are added, and those of the agent stay.
func TestLabels(t *testing.T) {
	l := newLab(t)
	s := readertest.New(t, "a supplier", 0, readertest.Context{Path: "DDS/acme/x", Labels: `{"role":"db","user":"root2","bad name":1,"n":3}`,
		Stats: []readertest.Stat{stat("a", 0), stat("b", 1, quantity, func(s *readertest.Stat) {
			s.Labels, s.Min, s.Max = `{"role":"cache","asn":7,"kind":"x","type":"y"}`, -1000, 100000
		}),
			stat("c", 2, func(s *readertest.Stat) { s.Labels, s.Help = "[", "at\x01length" })}})
	s.Publish(l.dir, -1)
	for m, want := range map[string]string{
		"a": "asn=1 max=100 min=0 n=3 path=DDS/acme/x/a role=db supplier=a_supplier type=SiLong user=root valuetype=SiCounter vendor=acme",
		"b": "asn=2 max=100000 min=-1000 path=DDS/acme/x/b role=cache supplier=a_supplier type=SiLong " +
			"user=root valuetype=SiQuantity vendor=acme",
		"c": "asn=3 max=100 min=0 path=DDS/acme/x/c supplier=a_supplier type=SiLong user=root valuetype=SiCounter vendor=acme",
	} {
		d, err := l.Desc("dds.acme.x." + m)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, label := range l.Labels(uint32(d.PMID), pcp.LabelItem)[pcp.InstNull] {
			got += fmt.Sprintf(" %s=%v", label.Name, label.Value)
		}
		if got[1:] != want {
			t.Errorf("%s:%s, want %s", m, got, want)
		}
	}
	if _, long := l.Text("dds.acme.x.c"); !strings.HasPrefix(long, "at?length\n") {
		t.Errorf("%q", long)
	}
}
