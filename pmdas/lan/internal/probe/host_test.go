package probe

import (
	"math"
	"testing"
	"time"
)

// observed returns a host that has seen rtts, in milliseconds.
func observed(weight float64, rtts ...float64) *host {
	h := &host{id: 1}
	s := Settings{Weight: weight}.normal()
	for _, rtt := range rtts {
		h.advance(0, s.Window)
		h.sent()
		h.answer(&Event{Token: token(1, h.seq-1), RTT: time.Duration(rtt * 1e6)}, 0, 0, &s)
	}
	return h
}

func TestWeightedAverage(t *testing.T) {
	tests := []struct {
		weight float64
		rtts   []float64
		want   float64
	}{
		{75, []float64{8}, 8},              // the first observation starts it
		{75, []float64{8, 16}, 10},         // 6 + 4
		{75, []float64{8, 16, 2}, 8},       // 7.5 + 0.5
		{75, []float64{0.5, 0.25}, 0.4375}, // unrounded
		{0, []float64{8, 16, 2}, 2},
		{100, []float64{8, 16, 2}, 8},
		{50, []float64{0, 16, 2}, 5},
	}
	for _, tt := range tests {
		if h := observed(tt.weight, tt.rtts...); math.Abs(h.average-tt.want) > 1e-12 {
			t.Errorf("weight %g of %v: %g, want %g", tt.weight, tt.rtts, h.average, tt.want)
		}
	}
}

func TestBands(t *testing.T) {
	h := observed(75, 0, 9.999999, 10, 19.999999, 20, 99.999999, 100, 2999)
	if want := [NumBands]uint64{2, 2, 2, 2}; h.bands != want {
		t.Errorf("bands %v, want %v", h.bands, want)
	}
	s := Snapshot{Counters: h.Counters, Bands: h.bands}
	if p, ok := s.Percent(); !ok || p != [NumBands]float64{25, 25, 25, 25} {
		t.Errorf("percent %v, %v", p, ok)
	}
	if _, ok := new(Snapshot).Percent(); ok {
		t.Error("percentages of nothing")
	}
	s = Snapshot{Counters: Counters{Responses: 7}, Bands: [NumBands]uint64{1, 1, 2, 3}}
	p, _ := s.Percent()
	if sum := p[0] + p[1] + p[2] + p[3]; math.Abs(sum-100) > 1e-9 {
		t.Errorf("percentages sum to %v", sum)
	}
}

func TestNumbersOutOfRange(t *testing.T) {
	h := observed(75, 1, 2, 3) // requests 0, 1, 2
	s := Settings{}.normal()
	for _, seq := range []uint32{3, 4, 1 << 31, math.MaxUint32} {
		if _, ours := h.answer(&Event{Token: token(1, seq)}, 0, 0, &s); ours {
			t.Errorf("answer to request %d, which was never made, accepted", seq)
		}
		if _, ours := h.fail(&Event{Kind: ICMPError, Type: 3, Token: token(1, seq)}, 0, &s); ours {
			t.Errorf("error for request %d, which was never made, accepted", seq)
		}
	}
	for range tracked {
		h.advance(0, s.Window)
	}
	if _, ours := h.answer(&Event{Token: token(1, 2)}, 0, 0, &s); ours {
		t.Error("answer to a request too long ago accepted")
	}
	if h.Duplicates != 0 || h.Late != 0 || h.Errors != [NumErrorClasses]uint64{} {
		t.Errorf("counted: %+v", h.Counters)
	}
}

func TestNumbersWrap(t *testing.T) {
	s := Settings{}.normal()
	h := &host{id: 1, first: math.MaxUint32 - 1, seq: math.MaxUint32 - 1}
	for range 4 {
		h.advance(0, s.Window)
		h.sent()
		h.answer(&Event{Token: token(1, h.seq-1), RTT: ms}, 0, 0, &s)
	}
	if h.Responses != 4 || h.seq != 2 || !h.up || h.latest != 1 {
		t.Errorf("%+v, next %d, latest %d", h.Counters, h.seq, h.latest)
	}
}

func TestClassify(t *testing.T) {
	tests := []struct {
		v6        bool
		typ, code uint8
		want      ErrorClass
		final     bool
	}{
		{false, 3, 0, NetUnreachable, true},
		{false, 3, 1, HostUnreachable, true},
		{false, 3, 2, ProtocolUnreachable, true},
		{false, 3, 3, PortUnreachable, true},
		{false, 3, 4, PacketTooBig, true},
		{false, 3, 13, AdminProhibited, true},
		{false, 3, 200, OtherError, true},
		{false, 4, 0, OtherError, false},
		{false, 5, 1, OtherError, false},
		{false, 11, 0, TTLExceeded, true},
		{false, 11, 1, TTLExceeded, true},
		{false, 12, 0, ParameterProblem, true},
		{false, 99, 0, OtherError, true},
		{true, 1, 0, NetUnreachable, true},
		{true, 1, 1, AdminProhibited, true},
		{true, 1, 3, HostUnreachable, true},
		{true, 1, 4, PortUnreachable, true},
		{true, 1, 200, OtherError, true},
		{true, 2, 0, PacketTooBig, true},
		{true, 3, 0, TTLExceeded, true},
		{true, 4, 1, ParameterProblem, true},
		{true, 137, 0, OtherError, false},
		{true, 99, 0, OtherError, true},
	}
	for _, tt := range tests {
		got, final := classify(tt.v6, tt.typ, tt.code)
		if got != tt.want || final != tt.final {
			t.Errorf("v6 %v type %d code %d: %v, %v; want %v, %v", tt.v6, tt.typ, tt.code, got, final, tt.want, tt.final)
		}
	}
	seen := map[string]bool{}
	for c := range NumErrorClasses {
		if n := c.String(); n == "" || seen[n] {
			t.Errorf("class %d has name %q", c, n)
		} else {
			seen[n] = true
		}
	}
}

// errorCount is Counters.Errors with n errors of one class.
func errorCount(c ErrorClass, n uint64) (e [NumErrorClasses]uint64) {
	e[c] = n
	return e
}

// TestUntimed: a reply without a known time is a reply, and no observation.
func TestUntimed(t *testing.T) {
	h := observed(75, -1e-6, 8, -1e-6, 16)
	if h.Responses != 4 || h.bands != [NumBands]uint64{1, 1, 0, 0} || h.average != 10 || h.win.count != 2 {
		t.Errorf("%d responses, bands %v, average %v, %d in the window", h.Responses, h.bands, h.average, h.win.count)
	}
	h = observed(75, 8, -1e-6)
	s := Snapshot{Up: h.up, RTT: h.rtt}
	if !s.Up || s.Timed() {
		t.Errorf("up %v, timed %v after a reply without a time", s.Up, s.Timed())
	}
}
