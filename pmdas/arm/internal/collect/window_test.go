package collect

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/reader/readertest"
)

// TestWindow: the figures of what ended within the window are those computed from all times.
func TestWindow(t *testing.T) {
	w := newWorld(t)
	w.conf.Window, w.conf.Buffers = 10*time.Second, 5
	w.mono = 1000*sec + 1 // so that looks are not at the edges of parts
	n := w.names(7)
	w.start()
	w.look()
	p := readertest.NewProc(t, w.dir, n, 100)
	w.look()
	r := rand.New(rand.NewPCG(1, 2))
	type done struct {
		ns uint64
		at int64
	}
	var all []done
	for range 60 {
		for range r.IntN(100) {
			d := done{uint64(math.Exp(r.Float64()*20) * 1000), w.mono}
			p.Good(r.IntN(2), 1, d.ns, d.at)
			all = append(all, d)
		}
		w.look()
		// What was counted between two looks belongs to the part in which the
		// earlier look was.
		end := w.mono / (2 * sec) * 2 * sec
		var in []uint64
		var sum uint64
		for _, d := range all {
			if d.at < end && d.at >= end-10*sec {
				in, sum = append(in, d.ns), sum+d.ns
			}
		}
		checkWindow(t, w.tran("Bank/Deposit").Window, in, sum)
		if t.Failed() {
			return
		}
	}
	for range 12 {
		w.look()
	}
	if got := w.tran("Bank/Deposit").Window; got != (Window{}) {
		t.Errorf("after its length: %+v", got)
	}
	if len(w.c.counts.windows.rows) != 0 || w.c.counts.rows.tran["Bank/Deposit"].win.parts != nil {
		t.Error("an empty window takes room")
	}
}

func checkWindow(t *testing.T, got Window, in []uint64, sum uint64) {
	t.Helper()
	if got.Count != uint64(len(in)) {
		t.Errorf("%d in the window, want %d", got.Count, len(in))
	}
	if len(in) == 0 || t.Failed() {
		return
	}
	slices.Sort(in)
	near := func(what string, got, want uint64) {
		t.Helper()
		if diff := math.Abs(float64(got) - float64(want)); diff > max(float64(want)/16, 32)+1 {
			t.Errorf("%s %d, want %d", what, got, want)
		}
	}
	rank := func(p int) uint64 { return in[(len(in)*p+99)/100-1] }
	near("min", got.Min, in[0])
	near("max", got.Max, in[len(in)-1])
	near("median", got.Median, rank(50))
	near("80 %", got.P80, rank(80))
	near("95 %", got.P95, rank(95))
	near("99 %", got.P99, rank(99))
	if mean := float64(sum) / float64(len(in)); math.Abs(got.Mean-mean) > mean*1e-9 {
		t.Errorf("mean %v, want %v", got.Mean, mean)
	}
}

// TestWindowRate: the rate is that of the parts of the window that are complete.
func TestWindowRate(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	p := readertest.NewProc(t, w.dir, n, 100)
	w.start()
	p.Good(0, 1, 5, w.mono) // was there before
	w.look()
	for range 100 {
		p.Good(0, 1, 1000, w.mono)
		p.Good(0, 1, 3000, w.mono)
		w.look()
	}
	d := w.tran("Bank/Deposit")
	want := Window{Count: 120, Rate: 2, Mean: 2000, Min: 1000, Max: 3000, Median: 1000, P80: 3000, P95: 3000, P99: 3000}
	got := d.Window
	if got.Median < 940 || got.Median > 1060 || got.P99 < 2820 {
		t.Errorf("%+v", got)
	}
	got.Median, got.P80, got.P95, got.P99 = 1000, 3000, 3000, 3000
	if got != want || d.Count != 201 {
		t.Errorf("%+v, want %+v; count %d", got, want, d.Count)
	}
}

// TestWindowFirst: before the window is full, the rate is that of the time since the start.
func TestWindowFirst(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.look()
	p := readertest.NewProc(t, w.dir, n, 100)
	for range 10 {
		p.Good(0, 1, 1000, w.mono)
		w.look()
	}
	if got := w.tran("Bank/Deposit").Window; got.Count == 0 || math.Abs(got.Rate-1) > 0.25 {
		t.Errorf("%+v", got)
	}
}

// TestPercentiles: percentiles go by rank, also with counts near the greatest.
func TestPercentiles(t *testing.T) {
	var hist [256]uint64
	hist[0], hist[100] = math.MaxUint64/2, math.MaxUint64/2
	w := Window{Count: math.MaxUint64 - 1, Max: math.MaxUint64}
	w.percentiles(&hist)
	if w.Median != 31 || w.P80 == 31 || w.P99 != w.P80 {
		t.Errorf("%+v", w)
	}
}

// TestConfigureWindow: a new length begins a new window and leaves counts alone.
func TestConfigureWindow(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.look()
	p := readertest.NewProc(t, w.dir, n, 100)
	for range 12 {
		p.Good(0, 1, 1000, w.mono)
		w.look()
	}
	if w.tran("Bank/Deposit").Window.Count == 0 {
		t.Fatal("nothing in the window")
	}
	conf := w.conf
	conf.Buffers = 6
	w.c.Configure(conf)
	w.look()
	if d := w.tran("Bank/Deposit"); d.Window != (Window{}) || d.Count != 12 {
		t.Errorf("%+v", d)
	}
}

// TestAverage: the average follows SpmiArmd's rule, in the order in which executions of
// several threads and processes end.
func TestAverage(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.look()
	p := readertest.NewProc(t, w.dir, n, 100)
	q := readertest.NewProc(t, w.dir, n, 101)
	want, r := -1.0, rand.New(rand.NewPCG(3, 4))
	for range 20 {
		for i := range int64(10) {
			ns := r.Uint64N(1e9)
			at := w.mono + i*sec/16
			if r.IntN(2) == 0 {
				p.Good(r.IntN(2), 1, ns, at)
			} else {
				q.Good(0, 1, ns, at)
			}
			if want < 0 {
				want = float64(ns)
			} else {
				want = 0.75*want + 0.25*float64(ns)
			}
		}
		w.look()
		if got := w.tran("Bank/Deposit").AvgNS; math.Abs(got-want) > 1e-6*want {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// TestAverageBound: executions older than the rings may be taken in the wrong order. That
// changes the average by at most weight^16 of the whole.
func TestAverageBound(t *testing.T) {
	w := newWorld(t)
	n := w.names(7)
	w.start()
	w.look()
	p := readertest.NewProc(t, w.dir, n, 100)
	want, r := -1.0, rand.New(rand.NewPCG(3, 4))
	var top float64
	for range 20 {
		for i := range int64(200) {
			ns := r.Uint64N(1e9)
			top = max(top, float64(ns))
			p.Good(0, 1, ns, w.mono+i*sec/256)
			if want < 0 {
				want = float64(ns)
			} else {
				want = 0.75*want + 0.25*float64(ns)
			}
		}
		w.look()
		if got := w.tran("Bank/Deposit").AvgNS; math.Abs(got-want) > math.Pow(0.75, 16)*top {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// TestWindowShort: what came between two looks is in the window, even if the window is
// shorter than the time between them or looks are late.
func TestWindowShort(t *testing.T) {
	w := newWorld(t)
	w.conf.Interval, w.conf.Window, w.conf.Buffers = 10*time.Second, 6*time.Second, 2
	n := w.names(7)
	w.start()
	p := readertest.NewProc(t, w.dir, n, 100)
	look := func(after time.Duration) {
		w.pass(after - time.Second)
		w.look()
	}
	look(time.Second)
	for i := range 20 {
		for range 50 {
			p.Good(0, 1, 1000, w.mono)
		}
		look(10*time.Second + time.Duration(i)*time.Millisecond)
		if got := w.tran("Bank/Deposit").Window; got.Count != 50 || got.Rate != 5 {
			t.Fatalf("look %d: %+v", i, got)
		}
	}
	p.Good(0, 1, 1000, w.mono)
	look(time.Hour)
	if got := w.tran("Bank/Deposit").Window; got.Count != 1 {
		t.Errorf("after a long time: %+v", got)
	}
	look(20 * time.Second)
	if got := w.tran("Bank/Deposit").Window; got.Count != 0 {
		t.Errorf("after its length: %+v", got)
	}
}
