//go:build linux

package writer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// described returns a transaction with one metric of each of the types.
func described(t *testing.T, w *Writer, types ...uint32) (*Tran, []*Metric) {
	t.Helper()
	var metrics []*Metric
	for i, kind := range types {
		metrics = append(metrics, &Metric{kind, fmt.Sprint("m", i)})
	}
	return active(t, w, "a", fmt.Sprint(types), metrics...), metrics
}

// lastDelta returns what was counted in the only cell.
func lastDelta(t *testing.T, w *Writer) (delta reader.CellDelta) {
	t.Helper()
	n := 0
	err := procReader(t, w).Changed(true, 0, func(d *reader.CellDelta) {
		n++
		delta = *d
		delta.Metrics = slices.Clone(d.Metrics)
	})
	if n != 1 || err != nil {
		t.Fatalf("%d cells, %v", n, err)
	}
	return delta
}

// TestValues: each type of metric, given to start, update and stop.
func TestValues(t *testing.T) {
	minus := func(n int64) uint64 { return uint64(-n) }
	d := Divided
	for _, c := range []struct {
		kind  uint32
		given []uint64 // the first to start, the last to stop
		sum   float64
		want  reader.MetricLatest
	}{
		{layout.TypeCounter32, []uint64{d(1<<32-10, 0), d(5, 0), d(7, 0)}, 17, reader.MetricLatest{Last: 7}},
		{layout.TypeCounter64, []uint64{100, 1 << 40}, 1<<40 - 100, reader.MetricLatest{Last: 1 << 40}},
		{layout.TypeCounter64, []uint64{1<<64 - 1, 4}, 5, reader.MetricLatest{Last: 4}},
		{layout.TypeCntrDivr32, []uint64{d(10, 4), d(30, 4), d(36, 4)}, 6.5, reader.MetricLatest{Last: 9}},
		{layout.TypeCntrDivr32, []uint64{d(1<<32-4, 4), d(4, 4)}, 2, reader.MetricLatest{Last: 1}},
		{layout.TypeGauge32, []uint64{d(1<<32-3, 9), d(5, 9)}, 2, reader.MetricLatest{Last: 5, Min: -3, Max: 5}},
		{layout.TypeGauge64, []uint64{7, minus(1 << 40), 3}, 10 - 1<<40, reader.MetricLatest{Last: 3, Min: -1 << 40, Max: 7}},
		{layout.TypeGaugeDivr32, []uint64{d(1<<32-3, 2), d(1, 2), d(0, 1)}, -1, reader.MetricLatest{Last: 0, Min: -1.5, Max: 0.5}},
		{layout.TypeNumericID32, []uint64{d(404, 1), d(500, 1)}, 0, reader.MetricLatest{ID: 500}},
		{layout.TypeNumericID64, []uint64{1 << 50}, 0, reader.MetricLatest{ID: 1 << 50}},
		{layout.TypeString8, []uint64{Text8("part 17 and more"), Text8("p 18")}, 0, reader.MetricLatest{Text: "p 18"}},
	} {
		w := attachTo(t, t.TempDir())
		tran, metrics := described(t, w, c.kind)
		r, _ := tran.StartWith(Begin{Values: []Value{{Metric: metrics[0], Field: c.given[0]}}}, nil)
		for i, g := range c.given[1:] {
			v := []Value{{Metric: metrics[0], Field: g}}
			if i < len(c.given)-2 {
				r.Update(v, "")
			} else {
				r.Stop(Good, v)
			}
		}
		got := lastDelta(t, w)
		if len(got.Metrics) != 1 {
			t.Errorf("type %d: %+v", c.kind, got)
			continue
		}
		m := got.Metrics[0]
		if m.Type != c.kind || m.Count != uint64(len(c.given)) || m.Sum != c.sum || !m.Whole || m.MetricLatest != c.want {
			t.Errorf("type %d: %+v", c.kind, m)
		}
	}
}

// TestAllFields: each of seven metrics has its place, and the file of names says which.
func TestAllFields(t *testing.T) {
	dir := t.TempDir()
	w := attachTo(t, dir)
	tran, metrics := described(t, w, layout.TypeGauge64, layout.TypeString32, layout.TypeGauge64, layout.TypeGauge64, layout.TypeGauge64, layout.TypeGauge64, layout.TypeGauge64)
	var values []Value
	for i, m := range metrics {
		values = append(values, Value{Metric: m, Field: uint64(i), Text: "a text that is longer than 32 bytes"})
	}
	r := tran.Start()
	r.Update(values, "")
	r.Stop(Good, nil)
	got := lastDelta(t, w)
	if len(got.Metrics) != 7 || got.Metrics[1].Last != 2 || got.Metrics[5].Last != 6 || got.Metrics[6].Text != "a text that is longer than 32 by" {
		t.Errorf("%+v", got.Metrics)
	}
	descs, ok, err := namesReader(t, dir).Descs(tran.ID)
	want := [layout.Metrics + 1]reader.MetricDesc{
		{Type: 5, Name: "m0"}, {Type: 5, Name: "m2"}, {Type: 5, Name: "m3"}, {Type: 5, Name: "m4"},
		{Type: 5, Name: "m5"}, {Type: 5, Name: "m6"}, {Type: 10, Name: "m1"},
	}
	if !ok || err != nil || descs != want {
		t.Errorf("%+v, %v", descs, err)
	}
}

// TestBadValues: values of metrics that the transaction does not have, or with divisor 0, count
// as bad data, once for each call. The execution is measured all the same.
func TestBadValues(t *testing.T) {
	w := attachTo(t, t.TempDir())
	tran, metrics := described(t, w, layout.TypeGaugeDivr32, layout.TypeGauge64)
	other := &Metric{layout.TypeGauge32, "m1"}
	r, _ := tran.StartWith(Begin{Values: []Value{{Metric: other}, {Metric: other}, {}}}, nil)
	r.Update([]Value{{Metric: metrics[0], Field: Divided(1, 0)}, {Metric: metrics[1], Field: 8}}, "")
	r.Stop(Good, []Value{{Metric: metrics[1], Field: 9}})
	got := lastDelta(t, w)
	if got.Count != 1 || got.Updates != 1 || got.BadData != 2 || len(got.Metrics) != 1 || got.Metrics[0].Sum != 17 {
		t.Errorf("%+v", got)
	}
}

// TestOtherMetrics: a name with other metrics is another transaction, for all processes. Its
// values go nowhere else.
func TestOtherMetrics(t *testing.T) {
	dir := t.TempDir()
	tran, m := described(t, attachTo(t, dir), layout.TypeGauge64, layout.TypeCounter64)
	w := attachTo(t, dir)
	if same := active(t, w, "a", "[5 2]", m...); same.ID != tran.ID {
		t.Error("the same metrics are another transaction")
	}
	seen := map[uint32]bool{tran.ID: true}
	for _, other := range [][]*Metric{
		nil,
		m[:1],
		{m[1], m[0]},
		{m[0], {layout.TypeGauge64, "m1"}},
		{m[0], {layout.TypeCounter64, "other"}},
		{m[0], m[1], {layout.TypeString32, "text"}},
	} {
		tran := active(t, w, "a", "[5 2]", other...)
		if seen[tran.ID] {
			t.Errorf("%v is not another transaction", other)
		}
		seen[tran.ID] = true
		if again := active(t, attachTo(t, dir), "a", "[5 2]", other...); again.ID != tran.ID {
			t.Errorf("%v is another transaction each time", other)
		}
	}
	r, _ := tran.StartWith(Begin{Values: []Value{{Metric: m[1], Field: 3}}}, nil)
	r.Stop(Good, []Value{{Metric: m[1], Field: 500000}, {Metric: &Metric{layout.TypeCounter64, "other"}, Field: 7}})
	if got := lastDelta(t, tran.w); got.BadData != 1 || len(got.Metrics) != 1 || got.Metrics[0].Sum != 499997 {
		t.Errorf("%+v", got)
	}
}

// TestCountersOfSlots: a counter's value is not compared with one from an earlier execution in
// the same slot.
func TestCountersOfSlots(t *testing.T) {
	w := attachTo(t, t.TempDir())
	w.blocks = w.blocks[:1]
	tran, m := described(t, w, layout.TypeCounter64)
	v := func(n uint64) []Value { return []Value{{Metric: m[0], Field: n}} }
	r, _ := tran.StartWith(Begin{Values: v(1000)}, nil)
	r.Stop(Good, v(1001))
	again := tran.Start()
	if again.slot != r.slot {
		t.Fatal("another slot")
	}
	again.Update(v(5), "")
	again.Stop(Good, v(7))
	if got := lastDelta(t, w); got.Metrics[0].Sum != 3 {
		t.Errorf("%+v", got.Metrics)
	}
}
