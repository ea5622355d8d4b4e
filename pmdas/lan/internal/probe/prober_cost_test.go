//go:build go1.25

package probe

import (
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSnapshotAllocatesNothing(t *testing.T) {
	p := New(newFake(), Settings{})
	p.Add(1, addr(1))
	p.mu.Lock()
	h := p.hosts[1]
	for i := range 100 {
		h.win.push(makeSample(p.now(), time.Duration(i)), p.now(), time.Minute)
	}
	p.mu.Unlock()
	var s Snapshot
	if n := allocations(100, func() { p.Snapshot(1, &s, true) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if s.Window.Answered != 100 || s.Window.P99 != 98 {
		t.Errorf("%+v", s.Window)
	}
	if p.Snapshot(2, &s, true) || s.ID != 1 {
		t.Error("a snapshot of no host")
	}
	p.Snapshot(1, &s, false)
	if s.Window != (WindowStats{}) {
		t.Errorf("window not asked for: %+v", s.Window)
	}
}

// loopEngine answers everything with the next poll and allocates nothing.
type loopEngine struct{ tokens []uint64 }

func (e *loopEngine) Send(_ netip.Addr, token uint64) error {
	e.tokens = append(e.tokens, token)
	return nil
}

func (e *loopEngine) Poll(ev []Event) []Event {
	for _, t := range e.tokens {
		ev = append(ev, Event{Token: t, Kind: Reply, RTT: time.Millisecond, At: time.Now()})
	}
	e.tokens = e.tokens[:0]
	return ev
}

func (e *loopEngine) Drops() uint64  { return 0 }
func (e *loopEngine) Strays() uint64 { return 0 }
func (e *loopEngine) Close() error   { return nil }

// In the steady state a step allocates nothing: rings, queue and buffers have grown
// to what one window needs.
func TestStepAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(&loopEngine{}, Settings{Interval: time.Second, MaxRate: 1000})
		for i := range uint32(100) {
			p.Add(i, addr(i))
		}
		for range 30000 {
			time.Sleep(p.step())
		}
		if n := allocations(1000, func() { time.Sleep(p.step()) }); n != 0 {
			t.Errorf("%v allocations per step", n)
		}
		if st := p.Stats(); st.Cycles < 60 || st.Sent < 6000 {
			t.Errorf("the steps did not probe: %+v", st)
		}
	})
}

// A ring is no larger than what its window needs.
func TestRingsStaySmall(t *testing.T) {
	bubble(t, Settings{Interval: 10 * time.Second, MaxRate: 1000, Window: time.Minute}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = after(time.Millisecond)
		addHosts(p, 1, 100)
		sleep(10 * time.Minute)
		p.mu.Lock()
		defer p.mu.Unlock()
		for id, h := range p.hosts {
			if len(h.win.ring) != minRing {
				t.Fatalf("host %d: a ring of %d", id, len(h.win.ring))
			}
		}
		if n := cap(p.flights.q); n > 256 {
			t.Errorf("a queue of %d for 30 requests in flight", n)
		}
	})
}

// Everything at once, for the race detector; the accounts stay exact.
func TestConcurrentUse(t *testing.T) {
	s := Settings{Interval: 100 * time.Millisecond, MaxRate: 10000, Timeout: 300 * time.Millisecond, Idle: time.Second}
	bubble(t, s, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = func(s sending) []delayed {
			switch s.token % 5 {
			case 0:
				return nil
			case 1:
				return []delayed{reply(ms), reply(2 * ms)}
			case 2:
				return []delayed{reply(500 * ms)}
			case 3:
				return []delayed{icmp(ms, 3, 1)}
			}
			return []delayed{reply(ms)}
		}
		addHosts(p, 1, 50)
		var wg sync.WaitGroup
		for g := range uint32(8) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				var snap Snapshot
				for i := range uint32(500) {
					time.Sleep(time.Duration(1+g) * ms)
					id := 51 + (i*7+g)%20
					switch i % 8 {
					case 0:
						p.Add(id, addr(id))
					case 1:
						p.SetAddr(id, addr(id+1000))
					case 2:
						p.Remove(id)
					case 3:
						p.Update(s)
					case 4:
						p.Wake()
					case 5:
						p.Stats()
					default:
						p.Snapshot(1+i%50, &snap, true)
					}
				}
			}()
		}
		wg.Wait()
		sleep(time.Second)
		pause(p)
		sleep(time.Second)
		if st := p.Stats(); st.InFlight != 0 {
			t.Errorf("%d in flight at the end", st.InFlight)
		}
		for id := uint32(1); id <= 50; id++ {
			if s := snap(t, p, id); s.Requests < 20 || s.InFlight != 0 {
				t.Errorf("host %d: %+v", id, s)
			}
		}
	})
}
