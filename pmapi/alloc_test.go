package pmapi

import (
	"context"
	"fmt"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// echo is a pmcd that sends the same answer to each fetch, without allocating.
func echo(answer []byte) step {
	return func(m *mockConn) error {
		for {
			b, err := m.r.Next()
			if err != nil {
				return nil // the client has closed
			}
			if h, err := pdu.ParseHeader(b); err != nil || h.Type != pdu.TypeHighresFetch {
				continue
			}
			if _, err := m.Write(answer); err != nil {
				return err
			}
		}
	}
}

// TestAllocs: in the steady state a fetch of numbers does not allocate, however many values it
// brings. Neither do rates, a profile, or a Client.
func TestAllocs(t *testing.T) {
	for _, values := range []int{1, 10000} {
		for name, profile := range map[string]*Profile{"all": nil, "listed": Only(7, 1, 2, 3)} {
			t.Run(fmt.Sprintf("%d values, %s", values, name), func(t *testing.T) {
				fetchAllocs(t, values, profile)
			})
		}
	}
}

func fetchAllocs(t *testing.T, values int, profile *Profile) {
	answer := pdu.HighresResult{Sec: 1000, Sets: []pdu.ValueSet{{PMID: 100}, {PMID: 101}}}
	for i := range int32(values) {
		inst := int32(values) - i // so that Find has to sort them
		answer.Sets[0].Values = append(answer.Sets[0].Values, pdu.InstValue{Inst: inst, Value: pcp.Num(uint32(i))})
		answer.Sets[1].Values = append(answer.Sets[1].Values, pdu.InstValue{Inst: inst, Value: pcp.Num(uint64(i))})
	}
	c := clientMock(t, after(features, echo(answer.Append(nil, 0))))
	metrics := []*Metric{load, reads}
	var s, before Sample
	fetch := func() {
		if err := c.Fetch(context.Background(), &s, profile, metrics...); err != nil {
			t.Fatal(err)
		}
		if v, ok := s.Find(1, 1); !ok || v.Bits() != uint64(values-1) || len(s.Sets[0].Values) != values {
			t.Fatalf("%v, %v of %d", v, ok, len(s.Sets[0].Values))
		}
		for j := range s.Sets[1].Values {
			if _, err := s.Rate(&before, 1, j); err == nil {
				t.Fatal("a rate of two samples of the same time")
			}
		}
		s, before = before, s
	}
	for range 3 {
		fetch() // allocates memory that is kept
	}
	if n := testing.AllocsPerRun(100, fetch); n != 0 {
		t.Errorf("%v allocations for a fetch", n)
	}
}

// TestAllocsContext: a context that can end costs a few allocations for each request, and none
// for each value.
func TestAllocsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var allocs [2]float64
	for i, values := range []int{1, 10000} {
		answer := pdu.HighresResult{Sets: []pdu.ValueSet{{PMID: 101}}}
		for j := range int32(values) {
			answer.Sets[0].Values = append(answer.Sets[0].Values, pdu.InstValue{Inst: j, Value: pcp.Num(uint64(j))})
		}
		c := clientMock(t, after(features, echo(answer.Append(nil, 0))))
		metrics := []*Metric{reads}
		var s Sample
		fetch := func() {
			if err := c.Fetch(ctx, &s, nil, metrics...); err != nil {
				t.Fatal(err)
			}
		}
		fetch()
		allocs[i] = testing.AllocsPerRun(100, fetch)
	}
	if allocs[0] != allocs[1] || allocs[0] > 10 {
		t.Errorf("%v allocations for 1 value, %v for 10000", allocs[0], allocs[1])
	}
}
