package pmda_test

import (
	"log"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// TestIndexed: values of all numeric types by index, those of some instances, those that
// are not there, and an array that is too short.
func TestIndexed(t *testing.T) {
	values, has := []uint64(nil), func(uint32) bool { return true }
	some := false
	d := &pmda.InDom[uint32]{Serial: 1, OneLine: "indices"}
	a := &pmda.Agent{Name: "indexed", Domain: 400, Start: func(*pmda.Server) error {
		for i, name := range []string{"c", "b", "a"} { // ids ascend, indices descend
			if _, err := d.Add(name, uint32(2-i)); err != nil {
				return err
			}
		}
		return nil
	}}
	types := []pcp.Type{pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble}
	var ids []pcp.PMID
	for i, typ := range types {
		ids = append(ids, pcp.MakePMID(400, 0, i))
		a.Metrics = append(a.Metrics, pmda.Metric{Name: "indexed.t" + typ.String(), Item: i, Sem: pcp.SemInstant, OneLine: "by index",
			Get: pmda.Indexed(typ, d, func() ([]uint64, func(uint32) bool) {
				if some {
					return values, has
				}
				return values, nil
			})})
	}
	c := pmdatest.StartOptions(t, a, pmda.Options{Log: log.New(os.Stderr, "", 0)})
	check := func(what string, want map[int32]uint64) {
		t.Helper()
		for i, set := range c.Fetch(ids...) {
			if set.Err != 0 || len(set.Values) != len(want) {
				t.Errorf("%s, %v: error %v, %d values, want %d", what, types[i], set.Err, len(set.Values), len(want))
			}
			for _, v := range set.Values {
				got, err := v.As(types[i])
				if bits, ok := want[v.Inst]; err != nil || !ok || got.Bits() != bits {
					t.Errorf("%s, %v, instance %d: %v %v, want bits %d", what, types[i], v.Inst, got, err, bits)
				}
			}
		}
	}
	check("no values", nil)
	values = []uint64{10, 11, 12}
	check("all", map[int32]uint64{0: 12, 1: 11, 2: 10})
	values = values[:2]
	check("too few", map[int32]uint64{1: 11, 2: 10})
	some, has = true, func(i uint32) bool { return i != 0 }
	check("one missing", map[int32]uint64{1: 11})
	some = false
	c.Profile(pdu.InDomProfile{InDom: pcp.MakeInDom(400, 1), State: pdu.Exclude, List: []int32{2}})
	check("one wanted", map[int32]uint64{2: 10})
	for typ, want := range map[pcp.Type]struct {
		bits uint64
		text string
	}{
		pcp.Type32: {math.MaxUint64, "-1"}, pcp.Type64: {math.MaxUint64, "-1"}, pcp.TypeU64: {1 << 63, "9223372036854775808"},
		pcp.TypeFloat: {uint64(math.Float32bits(0.5)), "0.5"}, pcp.TypeDouble: {math.Float64bits(-0.25), "-0.25"},
	} {
		values = []uint64{want.bits}
		set := c.Fetch(ids[slices.Index(types, typ)])[0]
		if len(set.Values) != 1 {
			t.Fatalf("%v: %+v", typ, set)
		}
		if v, err := set.Values[0].As(typ); err != nil || v.String() != want.text {
			t.Errorf("%v: %v %v, want %s", typ, v, err, want.text)
		}
	}
	_, err := pmda.New(&pmda.Agent{Name: "bad", Domain: 400, Metrics: []pmda.Metric{{Name: "bad.text", Sem: pcp.SemInstant, OneLine: "x",
		Get: pmda.Indexed(pcp.TypeString, d, func() ([]uint64, func(uint32) bool) { return nil, nil })}}}, pmda.Options{})
	if err == nil || !strings.Contains(err.Error(), "no Get") {
		t.Errorf("a text by index: %v", err)
	}
}
