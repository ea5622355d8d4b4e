package collect

import (
	"fmt"
	"math"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// set writes a metric as a library does that was given count values in all.
func set(p *readertest.Proc, off, count, sum, last, lo, hi uint64) {
	p.Put64(off+layout.MetricCount, count)
	p.Put64(off+layout.MetricSum, sum)
	p.Put64(off+layout.MetricLast, last)
	p.Put64(off+layout.MetricMin, lo)
	p.Put64(off+layout.MetricMax, hi)
}

func (w *world) metric(name string) Metric {
	w.t.Helper()
	for _, m := range w.c.Snapshot().Metrics {
		if m.Name == name {
			return *m
		}
	}
	w.t.Fatalf("no metric %s", name)
	return Metric{}
}

// TestMetrics: all kinds of metrics are right, of two processes of which one ends, and
// after a new start.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	descs := []struct {
		typ  uint32
		name string
	}{{layout.TypeCounter64, "bytes read"}, {layout.TypeGauge32, "queue/length"}, {layout.TypeGaugeDivr32, "load"},
		{layout.TypeNumericID32, "code"}, {layout.TypeString8, "mode"}, {layout.TypeCntrDivr32, ""}, {layout.TypeString32, "part"}}
	for i, d := range descs {
		n.Describe(1, i, d.typ, d.name)
	}
	f := math.Float64bits
	minus := func(v int64) uint64 { return uint64(-v) }
	var procs [2]*readertest.Proc
	for k := range procs {
		p := readertest.NewProc(t, w.dir, n, 100+uint32(k))
		procs[k] = p
		p.Good(0, 1, 5, w.mono)
		at := func(i int) uint64 { return p.Metric(0, 1, i, descs[i].typ) }
		set(p, at(0), 3, 100, 40, 10, 90)
		set(p, at(1), 2, minus(6), minus(4), minus(4), minus(2))
		set(p, at(2), 4, f(10), f(2.5), f(1), f(4))
		set(p, at(3), 1, 0, 404, 0, 0)
		set(p, at(4), 1, 0, 0, 0, 0)
		copy(p.B[at(4)+layout.MetricLast:], "fast    ")
		set(p, at(5), 2, f(1.5), f(1.5), f(0), f(1.5))
		copy(p.B[at(6)+layout.MetricText:], "wheel"+"                           ")
		p.Put64(at(6)+layout.MetricCount, 9)
	}
	check := func() {
		t.Helper()
		w.look()
		if got := len(w.c.Snapshot().Metrics); got != 7 {
			t.Errorf("%d metrics", got)
		}
		for _, want := range []Metric{
			{Name: "bytesread", Label: "bytes read", Type: layout.TypeCounter64, Kind: reader.KindCounter, Count: 6, Sum: 200, Last: 40},
			{Name: "queue_length", Label: "queue/length", Type: layout.TypeGauge32, Kind: reader.KindGauge, Count: 4, Last: -4, Mean: -3, Min: -4, Max: -2},
			{Name: "load", Label: "load", Type: layout.TypeGaugeDivr32, Kind: reader.KindGauge, Count: 8, Last: 2.5, Mean: 2.5, Min: 1, Max: 4},
			{Name: "code", Label: "code", Type: layout.TypeNumericID32, Kind: reader.KindID, Count: 2, LastID: 404},
			{Name: "mode", Label: "mode", Type: layout.TypeString8, Kind: reader.KindString, Count: 2, Text: "fast"},
			{Name: "metric6", Label: "metric6", Type: layout.TypeCntrDivr32, Kind: reader.KindCounter, Count: 4, Sum: 3, Last: 1.5},
			{Name: "part", Label: "part", Type: layout.TypeString32, Kind: reader.KindString, Count: 18, Text: "wheel"},
		} {
			want.Name = "Bank/Deposit/" + want.Name
			if got := w.metric(want.Name); got != want {
				t.Errorf("%+v\nwant %+v", got, want)
			}
		}
	}
	w.start()
	check()
	check()
	procs[0].Die()
	check()
	w.start()
	check()
	procs[1].Die()
	check()
	w.start()
	check()
}

// TestMetricBeingWritten: of a metric that is being written only the count is taken.
func TestMetricBeingWritten(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	n.Describe(1, 0, layout.TypeGauge64, "g")
	p := readertest.NewProc(t, w.dir, n, 100)
	off := p.Metric(0, 1, 0, layout.TypeGauge64)
	set(p, off, 1, 5, 5, 5, 5)
	w.start()
	w.look()
	p.Put32(off+layout.MetricSeq, 1)
	set(p, off, 2, 12, 7, 1, 9)
	w.look()
	if m := w.metric("Bank/Deposit/g"); m.Count != 2 || m.Mean != 6 || m.Last != 5 || m.Min != 5 || m.Max != 5 {
		t.Errorf("%+v", m)
	}
	p.Put32(off+layout.MetricSeq, 2)
	set(p, off, 3, 19, 7, 1, 9)
	w.look()
	if m := w.metric("Bank/Deposit/g"); m.Count != 3 || m.Last != 7 || m.Min != 1 || m.Max != 9 {
		t.Errorf("%+v", m)
	}
}

// TestMetricNames: the same name with another kind is another row. There are no more rows
// than a transaction can have metrics.
func TestMetricNames(t *testing.T) {
	var r rows
	r.init(false)
	tr := r.addTran(r.addApp("A"), "T")
	a := r.metricOf(tr, "x y", layout.TypeCounter32)
	b := r.metricOf(tr, "x y", layout.TypeGauge32)
	if a.Name != "A/T/xy" || b.Name != "A/T/xy.gauge" || r.metricOf(tr, "x y", layout.TypeGauge64) != b || r.metricOf(tr, "xy", layout.TypeCounter64) != a {
		t.Errorf("%v %v", a, b)
	}
	for i := range 10 {
		r.metricOf(tr, fmt.Sprint(i), layout.TypeCounter32)
	}
	if len(r.mets) != MaxMetrics {
		t.Errorf("%d metrics", len(r.mets))
	}
}

// TestPairs: parents on this host are shown by name, and others by what the correlator
// says.
func TestPairs(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	own := reader.PairKey{Tran: 2, Vendor: vendor, Version: 2, Instance: uint16(w.uid), AddrFormat: 2, Class: 1, Address: "\xc0\x00\x02\x01\xac\xbc"}
	far, six, odd := own, own, own
	far.Address = "\xc0\x00\x02\x02\xac\xbc"
	six.AddrFormat, six.Address, six.Vendor = 3, string(append(make([]byte, 15), 1)), 5
	odd.AddrFormat, odd.Address = 41377, "\x01\x02"
	for i, k := range []reader.PairKey{own, far, six, odd} {
		off := p.Pair(i, k)
		p.Put64(off+layout.PairCount, 10)
		p.Put64(off+layout.PairSum, 1000)
		p.Put64(off+layout.PairAborted, 2)
		p.Put64(off+layout.PairFailed, 3)
	}
	w.start()
	check := func(times uint64) {
		t.Helper()
		w.look()
		want := []Pair{
			{Name: "Bank/Deposit>Bank/Withdraw", Parent: 0}, {Name: "41377:192.0.2.2:44220:1>Bank/Withdraw", Parent: -1},
			{Name: "5:::1:1>Bank/Withdraw", Parent: -1}, {Name: "41377:0102:1>Bank/Withdraw", Parent: -1},
		}
		got := w.c.Snapshot().Pairs
		if len(got) != len(want) {
			t.Fatalf("%d pairs", len(got))
		}
		for i, p := range want {
			p.Child, p.Count, p.GoodNS, p.Aborted, p.Failed = 1, 10, 1000, 2, 3
			if i == 0 {
				p.Count *= times
			}
			if *got[i] != p {
				t.Errorf("%+v, want %+v", *got[i], p)
			}
		}
	}
	check(1)
	check(1)
	p.Add64(p.Pair(0, own)+layout.PairCount, 10)
	check(2)
	p.Die()
	check(2)
	w.start()
	check(2)
}
