//go:build go1.25

// These tests run on the fake clock of testing/synctest, hence go1.25.

package probe

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sending is a request that reached fakeEngine.
type sending struct {
	at    time.Duration // since the engine was made
	addr  netip.Addr
	token uint64
}

func (s sending) id() uint32 { return uint32(s.token >> 32) }

// fakeEngine notes every request. The function answer says how it answers, if at all.
type fakeEngine struct {
	start  time.Time
	answer func(s sending) []delayed
	sendFn func(s sending) error

	mu     sync.Mutex
	sent   []sending
	queue  []delayed
	polls  int
	strays uint64
	drops  uint64
}

// delayed is an event that arrives after a delay. RTT and At are filled in.
type delayed struct {
	after time.Duration
	ev    Event
}

func newFake() *fakeEngine { return &fakeEngine{start: time.Now()} }

func (f *fakeEngine) Send(addr netip.Addr, token uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := sending{time.Since(f.start), addr, token}
	if f.sendFn != nil {
		if err := f.sendFn(s); err != nil {
			return err
		}
		s.at = time.Since(f.start)
	}
	f.sent = append(f.sent, s)
	if f.answer == nil {
		return nil
	}
	for _, d := range f.answer(s) {
		d.ev.Token = token
		d.ev.From = addr
		d.ev.At = time.Now().Add(d.after)
		if d.ev.Kind == Reply {
			d.ev.RTT = d.after
		}
		f.queue = append(f.queue, d)
	}
	return nil
}

func (f *fakeEngine) Poll(ev []Event) []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls++
	now := time.Now()
	rest := f.queue[:0]
	for _, d := range f.queue {
		if d.ev.At.After(now) {
			rest = append(rest, d)
		} else {
			ev = append(ev, d.ev)
		}
	}
	f.queue = rest
	return ev
}

func (f *fakeEngine) Drops() uint64  { return f.drops }
func (f *fakeEngine) Strays() uint64 { return f.strays }
func (f *fakeEngine) Close() error   { return nil }

// requests returns what has been sent.
func (f *fakeEngine) requests() []sending {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]sending(nil), f.sent...)
}

// setSend changes sendFn under way.
func (f *fakeEngine) setSend(fn func(sending) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sendFn = fn
}

// after returns an answer function that replies to everything after d.
func after(d time.Duration) func(sending) []delayed {
	return func(sending) []delayed {
		return []delayed{{d, Event{Kind: Reply, Stamps: StampsKernel, TTL: 63}}}
	}
}

// script answers the i-th request to any host as the i-th entry says, and no
// request beyond them.
func script(entries ...[]delayed) func(sending) []delayed {
	i := 0
	return func(sending) []delayed {
		if i >= len(entries) {
			return nil
		}
		i++
		return entries[i-1]
	}
}

func reply(d time.Duration) delayed { return delayed{d, Event{Kind: Reply, TTL: 64}} }

func icmp(d time.Duration, typ, code uint8) delayed {
	return delayed{d, Event{Kind: ICMPError, Type: typ, Code: code}}
}

func addr(i uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(i >> 16), byte(i >> 8), byte(i)})
}

// bubble runs test with a Prober at work on a fake clock.
func bubble(t *testing.T, s Settings, test func(t *testing.T, p *Prober, f *fakeEngine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		p := newProber(f, s, newTimerAlarm())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		test(t, p, f)
		cancel()
		<-done
	})
}

// snap returns the account of host id, and checks what must always hold of it.
func snap(t *testing.T, p *Prober, id uint32) Snapshot {
	t.Helper()
	var s Snapshot
	if !p.Snapshot(id, &s, true) {
		t.Fatalf("no host %d", id)
	}
	if sum := s.Responses + s.Timeouts + s.Failed + uint64(s.InFlight); s.Requests != sum {
		t.Errorf("requests %d, but responses %d + timeouts %d + failed %d + in flight %d = %d",
			s.Requests, s.Responses, s.Timeouts, s.Failed, s.InFlight, sum)
	}
	var bands uint64
	for _, n := range s.Bands {
		bands += n
	}
	if bands != s.Responses {
		t.Errorf("bands %v sum to %d, responses are %d", s.Bands, bands, s.Responses)
	}
	return s
}

// sleep lets d pass, and all that happens in it.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestOutcomes(t *testing.T) {
	// Polls come every 100 ms, so both sides of the timeout are read by the same one.
	tests := []struct {
		name    string
		answers [][]delayed
		want    Counters
		up      bool
		rtt     time.Duration
	}{
		{"reply", [][]delayed{{reply(5 * ms)}},
			Counters{Requests: 1, Responses: 1}, true, 5 * ms},
		{"silence", [][]delayed{nil},
			Counters{Requests: 1, Timeouts: 1}, false, 0},
		{"reply on the last moment", [][]delayed{{reply(2050 * ms)}},
			Counters{Requests: 1, Responses: 1}, true, 2050 * ms},
		{"reply just too late", [][]delayed{{reply(2050*ms + 1)}},
			Counters{Requests: 1, Timeouts: 1, Late: 1}, false, 0},
		{"late reply", [][]delayed{{reply(2500 * ms)}},
			Counters{Requests: 1, Timeouts: 1, Late: 1}, false, 0},
		{"late reply twice", [][]delayed{{reply(2500 * ms), reply(2600 * ms)}},
			Counters{Requests: 1, Timeouts: 1, Late: 1, Duplicates: 1}, false, 0},
		{"reply three times", [][]delayed{{reply(ms), reply(ms), reply(2500 * ms)}},
			Counters{Requests: 1, Responses: 1, Duplicates: 2}, true, ms},
		{"error", [][]delayed{{icmp(ms, 3, 1)}},
			Counters{Requests: 1, Failed: 1, Errors: errorCount(HostUnreachable, 1)}, false, 0},
		{"error twice", [][]delayed{{icmp(ms, 3, 1), icmp(2*ms, 3, 1)}},
			Counters{Requests: 1, Failed: 1, Errors: errorCount(HostUnreachable, 2)}, false, 0},
		{"error, then reply", [][]delayed{{icmp(ms, 11, 0), reply(300 * ms)}},
			Counters{Requests: 1, Failed: 1, Late: 1, Errors: errorCount(TTLExceeded, 1)}, false, 0},
		{"reply, then error", [][]delayed{{reply(ms), icmp(300*ms, 3, 13)}},
			Counters{Requests: 1, Responses: 1, Errors: errorCount(AdminProhibited, 1)}, true, ms},
		{"error after timeout", [][]delayed{{icmp(2500*ms, 3, 1)}},
			Counters{Requests: 1, Timeouts: 1, Errors: errorCount(HostUnreachable, 1)}, false, 0},
		{"redirect ends nothing", [][]delayed{{icmp(ms, 5, 1), reply(2 * ms)}},
			Counters{Requests: 1, Responses: 1}, true, 2 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, Settings{Interval: time.Hour, Timeout: 2050 * ms}, func(t *testing.T, p *Prober, f *fakeEngine) {
				f.answer = script(tt.answers...)
				p.Add(1, addr(1))
				sleep(10 * time.Second)
				// Late answers are read with the next request.
				p.Update(Settings{Interval: 10 * time.Second, Timeout: 2050 * ms})
				sleep(0)
				s := snap(t, p, 1)
				s.Requests -= 1 // the second one, in flight
				if s.Counters != tt.want {
					t.Errorf("got  %+v\nwant %+v", s.Counters, tt.want)
				}
				if !s.Known || s.Up != tt.up || s.RTT != tt.rtt {
					t.Errorf("known %v up %v rtt %v, want up %v rtt %v", s.Known, s.Up, s.RTT, tt.up, tt.rtt)
				}
				if n := p.Stats().Unmatched; n != 0 {
					t.Errorf("%d unmatched", n)
				}
			})
		})
	}
}

func TestInFlightIsNeitherAnsweredNorLost(t *testing.T) {
	bubble(t, Settings{Interval: time.Minute, Timeout: 3 * time.Second}, func(t *testing.T, p *Prober, f *fakeEngine) {
		p.Add(1, addr(1))
		sleep(2900 * time.Millisecond)
		s := snap(t, p, 1)
		if s.InFlight != 1 || s.Known || s.Window.Completed != 0 {
			t.Errorf("before the timeout: %+v", s)
		}
		sleep(300 * time.Millisecond)
		s = snap(t, p, 1)
		if s.InFlight != 0 || !s.Known || s.Up || s.Window.Loss != 100 || s.Timeouts != 1 {
			t.Errorf("after the timeout: %+v", s)
		}
	})
}
