//go:build linux

package probe

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe/probetest"
)

// TestTruth probes hosts that play known parts, with each engine on the real clock.
// The accounts must be what was played, to the last request.
func TestTruth(t *testing.T) {
	const timeout = 5 * time.Second // no answer is that late by itself
	parts := []struct {
		name   string
		script []probetest.Behaviour
		want   func(n uint64) Counters // of n requests
		rtt    time.Duration           // at least
	}{
		{"answers", []probetest.Behaviour{{Delay: 12 * time.Millisecond}},
			func(n uint64) Counters { return Counters{Responses: n} }, 12 * time.Millisecond},
		{"silent", []probetest.Behaviour{{Lose: true}},
			func(n uint64) Counters { return Counters{Timeouts: n} }, 0},
		{"every second lost", []probetest.Behaviour{{}, {Lose: true}},
			func(n uint64) Counters { return Counters{Responses: (n + 1) / 2, Timeouts: n / 2} }, 0},
		{"duplicates", []probetest.Behaviour{{Duplicates: 2}},
			func(n uint64) Counters { return Counters{Responses: n, Duplicates: 2 * n} }, 0},
		{"late", []probetest.Behaviour{{Delay: timeout + time.Second}},
			func(n uint64) Counters { return Counters{Timeouts: n, Late: n} }, 0},
		{"unreachable", []probetest.Behaviour{{Error: unreachableCode(1)}},
			func(n uint64) Counters { return Counters{Failed: n, Errors: errorCount(HostUnreachable, n)} }, 0},
		{"wrong cookie", []probetest.Behaviour{{Spoil: probetest.WrongCookie}},
			func(n uint64) Counters { return Counters{Timeouts: n} }, 0},
		{"wrong source", []probetest.Behaviour{{Spoil: probetest.WrongSource}},
			func(n uint64) Counters { return Counters{Timeouts: n} }, 0},
	}
	for _, eng := range engines {
		t.Run(eng.name, func(t *testing.T) {
			lab := probetest.New(t)
			engine, err := eng.open()
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			p := New(engine, Settings{Interval: 250 * time.Millisecond, MaxRate: 1000, Timeout: timeout, Window: 10 * time.Minute})
			defer runProber(p)()
			for i, part := range parts {
				// The distance is two, because the wrong source is the next host.
				lab.Play(lab.Addr(2*i), part.script...)
				p.Add(uint32(i), lab.Addr(2*i))
			}
			p.Add(99, lab.Addr(99)) // keeps the polls going after the others
			await(t, "12 requests to each", func() bool {
				var s Snapshot
				p.Snapshot(uint32(len(parts)-1), &s, false)
				return s.Requests >= 12
			})
			for i := range parts {
				p.SetAddr(uint32(i), netip.Addr{})
			}
			for i, part := range parts {
				var s Snapshot
				await(t, part.name, func() bool {
					p.Snapshot(uint32(i), &s, true)
					want := part.want(s.Requests)
					want.Requests = s.Requests
					return s.InFlight == 0 && s.Counters == want
				}, func() string {
					return fmt.Sprintf("%+v, in flight %d", s.Counters, s.InFlight)
				})
				if n := lab.Played(lab.Addr(2 * i)).Requests; uint64(n) != s.Requests {
					t.Errorf("%s: %d requests counted, %d arrived", part.name, s.Requests, n)
				}
				if w := s.Window; uint64(w.Completed) != s.Requests || uint64(w.Answered) != s.Responses ||
					part.rtt > 0 && w.Min < part.rtt {
					t.Errorf("%s: window %+v", part.name, w)
				}
			}
		})
	}
}

// runProber runs p; what it returns ends it.
func runProber(p *Prober) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

// await waits until cond holds; detail describes what holds instead.
func await(t *testing.T, what string, cond func() bool, detail ...func() string) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			for _, d := range detail {
				what += ": " + d()
			}
			t.Fatalf("still not so: %s", what)
		}
	}
}
