package probe

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// windowOf returns a window of probes, each a second after the other, rtts in milliseconds; -1 is lost.
func windowOf(span time.Duration, rtts ...float64) (*window, time.Duration) {
	var w window
	var now time.Duration
	for i, rtt := range rtts {
		now = time.Duration(i) * time.Second
		if rtt < 0 {
			w.push(makeLost(now), now, span)
		} else {
			w.push(makeSample(now, time.Duration(rtt*1e6)), now, span)
		}
	}
	return &w, now
}

func TestWindowStats(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64((i*37)%100 + 1) // 1 to 100, each once
	}
	tests := []struct {
		name string
		rtts []float64
		want WindowStats
	}{
		{"none", nil, WindowStats{}},
		{"one lost", []float64{-1}, WindowStats{Completed: 1, Loss: 100}},
		{"one", []float64{7}, WindowStats{Completed: 1, Answered: 1,
			Min: 7 * ms, Mean: 7 * ms, Max: 7 * ms, Median: 7 * ms, P95: 7 * ms, P99: 7 * ms}},
		{"zero time is no loss", []float64{0}, WindowStats{Completed: 1, Answered: 1}},
		// Median: the lower of 2 and 4; jitter: (|4-8| + |2-4| + |1-2|) / 3.
		{"even", []float64{8, 4, 2, 1}, WindowStats{Completed: 4, Answered: 4,
			Min: 1 * ms, Mean: 3750 * time.Microsecond, Max: 8 * ms, Median: 2 * ms, P95: 8 * ms, P99: 8 * ms,
			Jitter: 7 * ms / 3}},
		// Jitter passes over the loss: (|5-1| + |3-5|) / 2.
		{"lost between", []float64{1, -1, 5, 3, -1}, WindowStats{Completed: 5, Answered: 3, Loss: 40,
			Min: 1 * ms, Mean: 3 * ms, Max: 5 * ms, Median: 3 * ms, P95: 5 * ms, P99: 5 * ms, Jitter: 3 * ms}},
		// Each value is 37 above the last or, 36 times in 99, 63 below it.
		{"hundred", hundred, WindowStats{Completed: 100, Answered: 100,
			Min: 1 * ms, Mean: 50500 * time.Microsecond, Max: 100 * ms, Median: 50 * ms, P95: 95 * ms, P99: 99 * ms,
			Jitter: (63*37 + 36*63) * ms / 99}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, _ := windowOf(time.Hour, tt.rtts...)
			if got := windowStats(w.appendTo(nil)); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestWindowForgets(t *testing.T) {
	w, now := windowOf(10*time.Second, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	w.prune(now, 10*time.Second)
	if st := windowStats(w.appendTo(nil)); st.Completed != 10 || st.Min != 6*ms {
		t.Errorf("10 s at one a second: %+v", st)
	}
	if len(w.ring) != 16 {
		t.Errorf("a ring of %d for 10 samples", len(w.ring))
	}
	w.prune(now+5*time.Second, 10*time.Second)
	if st := windowStats(w.appendTo(nil)); st.Completed != 5 || st.Min != 11*ms {
		t.Errorf("5 s later: %+v", st)
	}
	// After 2^24 ms the clock of the samples shows the same time again.
	w.prune(now+(1<<24)*ms, 10*time.Second)
	if w.count != 0 {
		t.Errorf("%d samples left from long ago", w.count)
	}
	late := (1<<24)*ms - 2*time.Second // the clock wraps between these two
	w.push(makeSample(late, ms), late, 10*time.Second)
	w.push(makeSample(late+4*time.Second, ms), late+4*time.Second, 10*time.Second)
	if w.count != 2 {
		t.Errorf("%d samples across the wrap, want 2", w.count)
	}
}

func TestWindowIsBounded(t *testing.T) {
	var w window
	for i := range 3 * MaxSamples {
		w.push(makeSample(0, time.Duration(i)), 0, time.Hour)
	}
	st := windowStats(w.appendTo(nil))
	if len(w.ring) != MaxSamples || st.Completed != MaxSamples || st.Min != 2*MaxSamples || st.Max != 3*MaxSamples-1 {
		t.Errorf("ring %d, %+v", len(w.ring), st)
	}
}

func TestSampleBounds(t *testing.T) {
	for _, d := range []time.Duration{-1, 0, 1, maxTimeout, maxRTT, maxRTT + 1, 1 << 62} {
		s := makeSample(time.Hour, d)
		if want := min(max(d, 0), maxRTT); s.lost() || s.rtt() != want || s.age(time.Hour) != 0 {
			t.Errorf("%v became %v, lost %v", d, s.rtt(), s.lost())
		}
	}
}
