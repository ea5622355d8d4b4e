//go:build linux

package armseg

import (
	"fmt"
	"slices"
	"testing"
)

// described returns a transaction that has one metric of each type that fits.
func described(t *testing.T, w *Writer, types ...uint32) (*Tran, []*Metric) {
	t.Helper()
	tran := active(t, w, "a", fmt.Sprint(types))
	var metrics []*Metric
	for i, kind := range types {
		metrics = append(metrics, &Metric{kind, fmt.Sprint("m", i)})
	}
	tran.Describe(metrics)
	return tran, metrics
}

// lastDelta reads the one cell that has changed.
func lastDelta(t *testing.T, w *Writer) (delta CellDelta) {
	t.Helper()
	n := 0
	err := procReader(t, w).Changed(true, 0, func(d *CellDelta) {
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
		want  MetricLatest
	}{
		{TypeCounter32, []uint64{d(1<<32-10, 0), d(5, 0), d(7, 0)}, 17, MetricLatest{Last: 7}},
		{TypeCounter64, []uint64{100, 1 << 40}, 1<<40 - 100, MetricLatest{Last: 1 << 40}},
		{TypeCounter64, []uint64{1<<64 - 1, 4}, 5, MetricLatest{Last: 4}},
		{TypeCntrDivr32, []uint64{d(10, 4), d(30, 4), d(36, 4)}, 6.5, MetricLatest{Last: 9}},
		{TypeCntrDivr32, []uint64{d(1<<32-4, 4), d(4, 4)}, 2, MetricLatest{Last: 1}},
		{TypeGauge32, []uint64{d(1<<32-3, 9), d(5, 9)}, 2, MetricLatest{Last: 5, Min: -3, Max: 5}},
		{TypeGauge64, []uint64{7, minus(1 << 40), 3}, 10 - 1<<40, MetricLatest{Last: 3, Min: -1 << 40, Max: 7}},
		{TypeGaugeDivr32, []uint64{d(1<<32-3, 2), d(1, 2), d(0, 1)}, -1, MetricLatest{Last: 0, Min: -1.5, Max: 0.5}},
		{TypeNumericID32, []uint64{d(404, 1), d(500, 1)}, 0, MetricLatest{ID: 500}},
		{TypeNumericID64, []uint64{1 << 50}, 0, MetricLatest{ID: 1 << 50}},
		{TypeString8, []uint64{Text8("part 17 and more"), Text8("p 18")}, 0, MetricLatest{Text: "p 18"}},
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
		if m.Type != c.kind || m.Count != uint64(len(c.given)) || m.Sum != c.sum || !m.Settled || m.MetricLatest != c.want {
			t.Errorf("type %d: %+v", c.kind, m)
		}
	}
}

// TestAllFields: seven metrics have a place each, and the names file says which.
func TestAllFields(t *testing.T) {
	dir := t.TempDir()
	w := attachTo(t, dir)
	tran, metrics := described(t, w, TypeGauge64, TypeString32, TypeGauge64, TypeGauge64, TypeGauge64, TypeGauge64, TypeGauge64)
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
	want := [Metrics + 1]MetricDesc{{5, "m0"}, {5, "m2"}, {5, "m3"}, {5, "m4"}, {5, "m5"}, {5, "m6"}, {10, "m1"}}
	if !ok || err != nil || descs != want {
		t.Errorf("%+v, %v", descs, err)
	}
}

// TestBadValues: values of metrics that are not the transaction's, or divided by 0, are
// counted as bad data, once for each call; the transaction is measured.
func TestBadValues(t *testing.T) {
	w := attachTo(t, t.TempDir())
	tran, metrics := described(t, w, TypeGaugeDivr32, TypeGauge64)
	again, err := attachTo(t, t.TempDir()).Tran(1, "x", "", "")
	if err != nil {
		t.Fatal(err)
	}
	again.Describe(nil)
	other := &Metric{TypeGauge32, "m1"}
	r, _ := tran.StartWith(Begin{Values: []Value{{Metric: other}, {Metric: other}, {}}}, nil)
	r.Update([]Value{{Metric: metrics[0], Field: Divided(1, 0)}, {Metric: metrics[1], Field: 8}}, "")
	r.Stop(Good, []Value{{Metric: metrics[1], Field: 9}})
	got := lastDelta(t, w)
	if got.Count != 1 || got.Updates != 1 || got.BadData != 2 || len(got.Metrics) != 1 || got.Metrics[0].Sum != 17 {
		t.Errorf("%+v", got)
	}
}

// TestFirstDescription: what was declared first stays, for other processes too.
func TestFirstDescription(t *testing.T) {
	dir := t.TempDir()
	tran, _ := described(t, attachTo(t, dir), TypeGauge64, TypeCounter64)
	w := attachTo(t, dir)
	same := active(t, w, "a", "[5 2]")
	m := []*Metric{{TypeCounter64, "m1"}, {TypeCounter64, "m0"}}
	same.Describe(m)
	if same.ID != tran.ID {
		t.Fatal("another transaction")
	}
	r, _ := same.StartWith(Begin{Values: []Value{{Metric: m[0], Field: 1}, {Metric: m[1], Field: 2}}}, nil)
	r.Stop(Good, []Value{{Metric: m[0], Field: 5}})
	got := lastDelta(t, w)
	if got.BadData != 1 || len(got.Metrics) != 1 || got.Metrics[0].Index != 1 || got.Metrics[0].Sum != 4 {
		t.Errorf("%+v", got)
	}
}

// TestCountersOfSlots: what a counter was in an earlier execution in the same slot is not
// compared with.
func TestCountersOfSlots(t *testing.T) {
	w := attachTo(t, t.TempDir())
	w.blocks = w.blocks[:1]
	tran, m := described(t, w, TypeCounter64)
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
