package pmda_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// scalar declares one value, both alone and of each instance, of a Go type; even
// instances have none.
func scalar[V pcp.Scalar](a *pmda.Agent, d *pmda.InDom[int], v V) {
	n := len(a.Metrics)
	a.Metrics = append(a.Metrics,
		pmda.Metric{Name: fmt.Sprintf("s.one%d", n), Item: n, Sem: pcp.SemInstant, OneLine: "x",
			Get: pmda.Value(func() (V, error) { return v, nil })},
		pmda.Metric{Name: fmt.Sprintf("s.per%d", n), Item: n + 1, Sem: pcp.SemInstant, OneLine: "x",
			Get: pmda.Per(d, func(i int) (V, bool) { return v, i%2 == 1 })})
}

// TestScalars: every Go type becomes its type of PCP, and its extremes survive.
func TestScalars(t *testing.T) {
	d := &pmda.InDom[int]{Name: "d", OneLine: "d"}
	a := &pmda.Agent{Name: "s", Domain: 300, Start: func(*pmda.Server) error {
		for i := range 5 {
			if _, err := d.Add(fmt.Sprint("i", i), i); err != nil {
				return err
			}
		}
		return nil
	}}
	var want []pcp.Value
	number := func(v pcp.Value) { want = append(want, v) }
	scalar(a, d, int32(math.MinInt32))
	number(pcp.Num(int32(math.MinInt32)))
	scalar(a, d, uint32(math.MaxUint32))
	number(pcp.Num(uint32(math.MaxUint32)))
	scalar(a, d, int64(math.MinInt64))
	number(pcp.Num(int64(math.MinInt64)))
	scalar(a, d, uint64(math.MaxUint64))
	number(pcp.Num(uint64(math.MaxUint64)))
	scalar(a, d, float32(-0.1))
	number(pcp.Num(float32(-0.1)))
	scalar(a, d, -0.1)
	number(pcp.Num(-0.1))
	scalar(a, d, math.Inf(1))
	number(pcp.Num(math.Inf(1)))
	scalar(a, d, "grüß dich")
	number(pcp.Str("grüß dich"))
	scalar(a, d, "")
	number(pcp.Str(""))
	scalar(a, d, []byte{0, 1, 2, 3, 4})
	number(pcp.RawBytes(pcp.TypeAggregate, []byte{0, 1, 2, 3, 4}))
	scalar(a, d, []byte(nil))
	number(pcp.RawBytes(pcp.TypeAggregate, nil))

	c := pmdatest.Start(t, a)
	for i, w := range want {
		one, err := c.Values(fmt.Sprintf("s.one%d", 2*i))
		if err != nil || len(one) != 1 || one[""].Type() != w.Type() || one[""].String() != w.String() {
			t.Errorf("one %v %v: %v, %v", w.Type(), w, one, err)
		}
		per, err := c.Values(fmt.Sprintf("s.per%d", 2*i))
		if err != nil || len(per) != 2 {
			t.Errorf("per %v %v: %v, %v", w.Type(), w, per, err)
		}
		for _, inst := range []string{"i1", "i3"} {
			if v := per[inst]; v.Type() != w.Type() || v.String() != w.String() {
				t.Errorf("per %v %v: %s is %v %v", w.Type(), w, inst, v.Type(), v)
			}
		}
	}
}
