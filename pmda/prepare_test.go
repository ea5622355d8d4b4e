package pmda_test

import (
	"slices"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
)

// TestPrepare: it is called once in a fetch, however many metrics are over the domain,
// before their values are asked for, and with the instances that the client wants;
// never where no metric over the domain is asked for.
func TestPrepare(t *testing.T) {
	z := newZoo()
	var calls [][]string
	z.beasts.Prepare = func(list []*beast) {
		var kinds []string
		for _, b := range list {
			kinds = append(kinds, b.kind)
			b.legs++ // which the values show
		}
		slices.Sort(kinds)
		calls = append(calls, kinds)
	}
	z.fetch = func(v *pmda.Values) {}
	c, _ := visit(t, z)
	leo, _ := c.Lookup(beastDom, "leo")
	tweety, _ := c.Lookup(beastDom, "tweety")
	check := func(what string, want []string, legs map[int32]int64, ids ...int) {
		t.Helper()
		calls = nil
		var all []pcp.PMID
		for _, id := range ids {
			all = append(all, zooID(id))
		}
		sets := c.Fetch(all...)
		z.do(t, func() {
			if want == nil && len(calls) > 0 || want != nil && (len(calls) != 1 || !slices.Equal(calls[0], want)) {
				t.Errorf("%s: called with %q, want once with %q", what, calls, want)
			}
		})
		for _, s := range sets {
			for _, v := range s.Values {
				if n, err := v.Value.Int64(); legs != nil && (err != nil || n != legs[v.Inst]) {
					t.Errorf("%s: instance %d has %v legs, want %d", what, v.Inst, v.Value, legs[v.Inst])
				}
			}
		}
	}
	check("other metrics", nil, nil, itemCount, itemCage)
	check("one metric", []string{"bird", "lion"}, map[int32]int64{leo: 5, tweety: 3}, itemLegs)
	check("the same twice", []string{"bird", "lion"}, map[int32]int64{leo: 6, tweety: 4}, itemLegs, itemLegs)
	check("three metrics", []string{"bird", "lion"}, nil, itemWeight, itemCustom, itemKind)
	c.Profile(pdu.InDomProfile{InDom: beastDom, State: pdu.Exclude, List: []int32{leo}})
	check("of one instance", []string{"lion"}, map[int32]int64{leo: 8}, itemLegs)
	check("again, from what was kept", []string{"lion"}, map[int32]int64{leo: 9}, itemLegs)
}
