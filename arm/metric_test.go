//go:build linux

package arm_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
)

// TestMetrics: values of every type get to their places.
func TestMetrics(t *testing.T) {
	dir := segments(t)
	app := open(t, dir, "app")
	counter, counter32, ratio := arm.NewCounter("c"), arm.NewCounter32("c32"), arm.NewCounterRatio("cr")
	gauge, gauge32, level := arm.NewGauge("g"), arm.NewGauge32("g32"), arm.NewGaugeRatio("gr")
	id, id32, text, text8 := arm.NewNumericID("i"), arm.NewNumericID32("i32"), arm.NewString("s"), arm.NewString8("s8")

	first := app.Transaction("first", arm.Metrics(counter, counter32, ratio, gauge, gauge32, level, text))
	r := first.Start(ctx, counter.Value(10), counter32.Value(math.MaxUint32), ratio.Value(1, 2))
	r.Stop(arm.Good, counter.Value(1<<40), counter32.Value(4), ratio.Value(4, 2),
		gauge.Value(-5), gauge32.Value(-6), level.Value(-7, 2), text.Value("a part"))
	second := app.Transaction("second", arm.Metrics(id, id32, text8, gauge))
	second.Start(ctx).Stop(arm.Failed, id.Value(1<<63), id32.Value(404), text8.Value("12"), gauge.Value(1))
	if err := errors.Join(first.Err(), second.Err()); err != nil {
		t.Fatal(err)
	}

	m := read(t, dir, 1).metrics
	f := math.Float64bits
	minus := func(n int64) uint64 { return uint64(-n) }
	for i, want := range []metric{
		{kind: 2, count: 2, sum: 1<<40 - 10, last: 1 << 40},
		{kind: 1, count: 2, sum: 5, last: 4},
		{kind: 3, count: 2, sum: f(1.5), last: f(2)},
		{kind: 5, count: 1, sum: minus(5), last: minus(5), min: minus(5), max: minus(5)},
		{kind: 4, count: 1, sum: minus(6), last: minus(6), min: minus(6), max: minus(6)},
		{kind: 6, count: 1, sum: f(-3.5), last: f(-3.5), min: f(-3.5), max: f(-3.5)},
	} {
		m[i].text = ""
		if m[i] != want {
			t.Errorf("metric %d: %+v, want %+v", i, m[i], want)
		}
	}
	if m[6].kind != 10 || m[6].text != "a part"+strings.Repeat(" ", 26) {
		t.Errorf("%+v", m[6])
	}
	m = read(t, dir, 2).metrics
	if m[0].kind != 8 || m[0].last != 1<<63 || m[1].kind != 7 || m[1].last != 404 || m[2].kind != 9 || m[2].text[8:16] != "12      " || m[3].last != 1 {
		t.Errorf("%+v", m)
	}
}

// TestMetricsRefused: Err tells of metrics that one transaction cannot have together. The
// transaction is measured, and values of these metrics are bad data.
func TestMetricsRefused(t *testing.T) {
	dir := segments(t)
	app := open(t, dir, "app")
	g := arm.NewGauge("g")
	for what, metrics := range map[string][]arm.Metric{
		"seven numbers": {arm.NewGauge("1"), arm.NewGauge("2"), arm.NewGauge("3"), arm.NewGauge("4"), arm.NewGauge("5"), arm.NewGauge("6"), g},
		"two texts":     {g, arm.NewString("1"), arm.NewString("2")},
		"one twice":     {g, g},
		"a long name":   {g, arm.NewGauge(strings.Repeat("x", 44))},
		"a NUL":         {g, arm.NewGauge("\x00")},
		"a zero value":  {g, arm.Gauge{}},
	} {
		tr := app.Transaction(what, arm.Metrics(metrics...))
		if !errors.Is(tr.Err(), arm.ErrMetric) {
			t.Errorf("%s: %v", what, tr.Err())
		}
		if !tr.Start(ctx).Stop(arm.Good, g.Value(1)) {
			t.Errorf("%s: not measured", what)
		}
	}
	for tran := range uint32(6) {
		if got := read(t, dir, tran+1); got.badData != 1 || got.good != 1 || got.metrics != nil {
			t.Errorf("%+v", got)
		}
	}
	// None of these belongs to a metric of the transaction.
	app.Transaction("x").Start(ctx).Stop(arm.Good, arm.Gauge{}.Value(1), arm.Counter{}.Value(1), arm.String{}.Value("x"), arm.Value{})
}

// TestOtherMetrics: a name with other metrics is another transaction, within one program and
// between two. Values go only where their metrics are declared.
func TestOtherMetrics(t *testing.T) {
	dir := segments(t)
	app := open(t, dir, "app")
	gauge, counter := arm.NewGauge("level"), arm.NewCounter("bytes sent")
	first := app.Transaction("t", arm.Metrics(gauge))
	second := app.Transaction("t", arm.Metrics(counter))
	if first == second || app.Transaction("t") != first || app.Transaction("t", arm.Detail("more")) != first ||
		app.Transaction("t", arm.Metrics(counter)) != second || app.Transaction("t", arm.Metrics(gauge)) != first {
		t.Error("a transaction is not the one that its metrics say")
	}
	for _, tr := range []*arm.Transaction{first, second} {
		r := tr.Start(ctx, gauge.Value(3), counter.Value(3))
		if !r.Stop(arm.Good, gauge.Value(500000), counter.Value(10)) {
			t.Error("not measured")
		}
	}
	one, two := read(t, dir, 1), read(t, dir, 2)
	if one.good != 1 || one.badData != 2 || one.metrics[0].sum != 500003 || two.good != 1 || two.badData != 2 || two.metrics[0].sum != 7 {
		t.Errorf("%+v\n%+v", one, two)
	}
}
