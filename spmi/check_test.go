package spmi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/spmi"
)

var n, m spmi.Counter

func stat(name string) spmi.Stat { return spmi.Stat{Name: name, To: &n} }

func context(path string, stats ...spmi.Stat) *spmi.Context {
	return &spmi.Context{Path: path, Stats: stats}
}

// TestDeclarations: what the guide forbids is refused with the guide's number, and
// what it allows is accepted. A refused supplier leaves nothing behind.
func TestDeclarations(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	with := func(s spmi.Stat, change func(*spmi.Stat)) spmi.Stat { change(&s); return s }
	numbered := func(path string, asn uint32, stats ...spmi.Stat) *spmi.Context {
		return &spmi.Context{Path: path, ASN: asn, Stats: stats}
	}
	for _, c := range []struct {
		name string
		want error
		cx   []*spmi.Context
	}{
		{"one", nil, []*spmi.Context{context("DDS/V/a", stat("s"))}},
		{"vendor below options", nil, []*spmi.Context{context("a", stat("s"))}},
		{"vendor twice", nil, []*spmi.Context{context("DDS/V"), context("DDS/V"), context("DDS/V/a")}},
		{"DDS itself", nil, []*spmi.Context{context("DDS"), context("DDS/V/a")}},
		{"same name at other level", nil, []*spmi.Context{context("DDS/V/a", stat("a")), context("DDS/V/b", stat("a"))}},
		{"context twice", spmi.ErrDuplicate, []*spmi.Context{context("DDS/V/a"), context("DDS/V/a")}},
		{"statistic twice", spmi.ErrDuplicate, []*spmi.Context{context("DDS/V/a", stat("s"), stat("s"))}},
		{"context named as statistic", spmi.ErrDuplicate, []*spmi.Context{context("DDS/V/a", stat("s")), context("DDS/V/a/s")}},
		{"number twice, contexts", spmi.ErrDuplicate, []*spmi.Context{numbered("DDS/V/a", 7), numbered("DDS/V/b", 7)}},
		{"no numbers", nil, []*spmi.Context{context("DDS/V/a", stat("s"), stat("t")), context("DDS/V/b"), context("DDS/V/a/b")}},
		{"number twice, levels apart", nil, []*spmi.Context{numbered("DDS/V/a", 7), numbered("DDS/V/a/b", 7)}},
		{"number twice, statistics", spmi.ErrDuplicate, []*spmi.Context{context("DDS/V/a",
			spmi.Stat{Name: "s", To: &n, ASN: 1}, spmi.Stat{Name: "t", To: &m, ASN: 1})}},
		{"number twice, context and statistic", spmi.ErrDuplicate, []*spmi.Context{
			context("DDS/V/a", spmi.Stat{Name: "s", To: &n, ASN: 1}), numbered("DDS/V/a/b", 1)}},
		{"number twice, vendors", spmi.ErrDuplicate, []*spmi.Context{numbered("DDS/V", 2), numbered("DDS/W", 2)}},
		{"largest numbers", nil, []*spmi.Context{numbered("DDS/V/a", 65535, spmi.Stat{Name: "s", To: &n, ASN: 65535})}},
		{"larger number", spmi.ErrBadArgument, []*spmi.Context{numbered("DDS/V/a", 65536)}},
		{"larger number of a statistic", spmi.ErrBadArgument, []*spmi.Context{context("DDS/V/a", spmi.Stat{Name: "s", To: &n, ASN: 65536})}},
		{"statistics in vendor", spmi.ErrBadArgument, []*spmi.Context{context("DDS/V", stat("s"))}},
		{"statistics in DDS", spmi.ErrBadArgument, []*spmi.Context{context("DDS", stat("s"))}},
		{"no parent", spmi.ErrInvalidCx, []*spmi.Context{context("DDS/V/a/b", stat("s"))}},
		{"parent later", spmi.ErrInvalidCx, []*spmi.Context{context("DDS/V/a/b"), context("DDS/V/a")}},
		{"not below DDS", spmi.ErrBadArgument, []*spmi.Context{context("/Mem/Real")}},
		{"empty path", spmi.ErrBadArgument, []*spmi.Context{context("")}},
		{"longest path", nil, []*spmi.Context{context("DDS/" + x(31) + "/" + x(27))}},
		{"longer path", spmi.ErrBadArgument, []*spmi.Context{context("DDS/" + x(31) + "/" + x(28))}},
		{"longest name", nil, []*spmi.Context{context("a", stat(x(31)))}},
		{"longer name", spmi.ErrBadArgument, []*spmi.Context{context("a", stat(x(32)))}},
		{"longer element", spmi.ErrBadArgument, []*spmi.Context{context(x(32))}},
		{"slash in a name", spmi.ErrBadArgument, []*spmi.Context{context("a", stat("b/c"))}},
		{"longest description", nil, []*spmi.Context{{Path: "a", Descr: x(63)}}},
		{"longer description", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Descr: x(64)}}},
		{"two lines of description", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Descr: "b\nc"}}},
		{"longer description of statistic", spmi.ErrBadArgument,
			[]*spmi.Context{context("a", with(stat("s"), func(s *spmi.Stat) { s.Descr = x(64) }))}},
		{"longest help", nil, []*spmi.Context{{Path: "a", Help: x(4095)}}},
		{"longer help", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Help: x(4096)}}},
		{"long labels", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Labels: map[string]string{"k": x(4090)}}}},
		{"label name", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Labels: map[string]string{"1k": ""}}}},
		{"label name of statistic", spmi.ErrBadArgument,
			[]*spmi.Context{context("a", with(stat("s"), func(s *spmi.Stat) { s.Labels = map[string]string{"a-b": ""} }))}},
		{"min above max", spmi.ErrBadArgument, []*spmi.Context{context("a", with(stat("s"), func(s *spmi.Stat) { s.Min = 1 }))}},
		{"units", spmi.ErrBadArgument, []*spmi.Context{context("a", with(stat("s"), func(s *spmi.Stat) { s.Units = spmi.MakeUnits(0, 0, 0, 9, 0, 0) }))}},
		{"data type", spmi.ErrBadArgument, []*spmi.Context{context("a", with(stat("s"), func(s *spmi.Stat) { s.As = 14 }))}},
		{"no handle", spmi.ErrBadArgument, []*spmi.Context{context("a", spmi.Stat{Name: "s"})}},
		{"no struct", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Values: 5}}},
		{"nil struct", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Values: (*struct{ N spmi.Counter })(nil)}}},
		{"unexported field", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Values: &struct{ n spmi.Counter }{}}}},
		{"tag on something else", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Values: &struct {
			N int `spmi:"n"`
		}{}}}},
		{"bad number in tag", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Values: &struct {
			N spmi.Counter `min:"many"`
		}{}}}},
		{"bad type in tag", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Values: &struct {
			N spmi.Counter `as:"string"`
		}{}}}},
		{"bad units in tag", spmi.ErrBadArgument, []*spmi.Context{{Path: "a", Values: &struct {
			N spmi.Counter `units:"furlong"`
		}{}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := segments(t)
			s, err := spmi.Open(spmi.Options{Dir: dir, Vendor: "DDS/V"}, c.cx...)
			if err == nil {
				defer s.Close()
			}
			if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil && len(files(t, dir)) > 0 {
				t.Error("a refused supplier left a segment")
			}
			if _, ok := errors.AsType[*spmi.Error](err); err != nil && !ok {
				t.Errorf("%T is no *spmi.Error", err)
			}
		})
	}
}

func TestLongName(t *testing.T) {
	if _, err := spmi.Open(spmi.Options{Dir: segments(t), Name: strings.Repeat("x", 64)}); !errors.Is(err, spmi.ErrBadArgument) {
		t.Error(err)
	}
}
