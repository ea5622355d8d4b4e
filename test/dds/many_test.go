package dds

import (
	"fmt"
	"testing"

	"github.com/pcp-rtime/rtime/spmi"
)

// TestMany: a hundred thousand volatile contexts in one supplier, and then one more, and
// a thousand suppliers beside it.
func TestMany(t *testing.T) {
	p := start(t, "maxmemory 1000000000\n", false)
	dir := p.Path("run/dds")
	const contexts, suppliers = 100000, 1000
	s, err := spmi.Open(spmi.Options{Dir: dir, Name: "many", Volatile: []*spmi.Context{{Path: "DDS/v/many/I", Values: (*bingo)(nil)}}},
		&spmi.Context{Path: "DDS/v"}, &spmi.Context{Path: "DDS/v/many"})
	if err != nil || s.Err() != nil {
		t.Fatal(err, s.Err())
	}
	defer s.Close()
	add := func(i int) *spmi.Context {
		b := new(bingo)
		c := &spmi.Context{Path: fmt.Sprintf("DDS/v/many/i%d", i), Values: b}
		if err := s.Add(c); err != nil {
			t.Fatal(err)
		}
		b.Problems.Add(uint64(i))
		return c
	}
	for i := range contexts {
		add(i)
	}
	is(t, p, "rtime.dds.agent.contexts", "", fmt.Sprint(contexts))
	one := add(contexts)
	if v := p.Number("dds.v.many.problems", fmt.Sprintf("i%d", contexts)); v != contexts {
		t.Errorf("%v, want %d", v, contexts)
	}
	if err := s.Remove(one); err != nil {
		t.Fatal(err)
	}
	is(t, p, "rtime.dds.agent.contexts", "", fmt.Sprint(contexts))
	if v := p.Values("dds.v.many.problems"); len(v) != contexts {
		t.Errorf("%d instances", len(v))
	}
	for i := range suppliers - 1 {
		c := &spmi.Context{Path: fmt.Sprintf("DDS/v/s%d", i), Values: new(bingo)}
		s, err := spmi.Open(spmi.Options{Dir: dir, Name: fmt.Sprintf("s%d", i)}, &spmi.Context{Path: "DDS/v"}, c)
		if err != nil || s.Err() != nil {
			t.Fatal(i, err, s.Err())
		}
		defer s.Close()
	}
	is(t, p, "rtime.dds.agent.suppliers", "", fmt.Sprint(suppliers))
	if v := p.Values("rtime.dds.supplier.up"); len(v) != suppliers {
		t.Errorf("%d suppliers", len(v))
	}
	is(t, p, fmt.Sprintf("dds.v.s%d.problems", suppliers-2), "", "0")
}
