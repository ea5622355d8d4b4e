//go:build go1.25

package probe

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// checkRate fails if any span holds more requests than the rate allows: see
// shared and rateSlack. With no slack it compares neighbours only, and else all
// pairs, by the running minimum of "time at which this request was due".
func checkRate(t *testing.T, sent []sending, maxRate float64) {
	t.Helper()
	gap := time.Duration(math.Ceil(float64(time.Second) / maxRate))
	slack := time.Duration(0)
	if gap <= shared {
		slack = rateSlack
	}
	// Requests i < j need at(j)-at(i) >= (j-i)*gap - slack. With due(k) = at(k)-k*gap
	// that is due(j) >= due(i) - slack for the largest due(i) before j.
	highest := sent[0].at
	for k, s := range sent {
		due := s.at - time.Duration(k)*gap
		if due < highest-slack {
			t.Fatalf("request %d at %v is %v too early for %g/s", k, s.at, highest-slack-due, maxRate)
		}
		highest = max(highest, due)
	}
}

// perHost counts requests by host.
func perHost(sent []sending) map[uint32]int {
	n := make(map[uint32]int)
	for _, s := range sent {
		n[s.id()]++
	}
	return n
}

// addHosts adds hosts at one moment, so that no turn comes between two of them.
func addHosts(p *Prober, from, to uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := from; i <= to; i++ {
		p.add(i, addr(i))
	}
}

func TestEvenSchedule(t *testing.T) {
	bubble(t, Settings{Interval: 10 * time.Second, MaxRate: 10}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = after(time.Millisecond)
		addHosts(p, 1, 4)
		sleep(25 * time.Second)
		want := []sending{}
		for i := range 11 {
			id := uint32(i%4 + 1)
			want = append(want, sending{at: time.Duration(i) * 2500 * time.Millisecond, addr: addr(id), token: token(id, uint32(i/4))})
		}
		got := f.requests()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		st := p.Stats()
		if st.Cycles != 2 || st.LastCycle != 10*time.Second || st.Overruns != 0 || st.Sent != 11 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestCycleStretches(t *testing.T) {
	tests := []struct {
		n        uint32
		interval time.Duration
		maxRate  float64
		cycle    time.Duration
		overruns bool
	}{
		{100, 10 * time.Second, 10, 10 * time.Second, false},
		{101, 10 * time.Second, 10, 10100 * time.Millisecond, false}, // within 5 %
		{300, 10 * time.Second, 10, 30 * time.Second, true},
		{1, 100 * time.Millisecond, 0.5, 2 * time.Second, true},
		{1000, 100 * time.Millisecond, 1000, time.Second, true},
		{5000, time.Second, 2000, 2500 * time.Millisecond, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.n, tt.interval, tt.maxRate), func(t *testing.T) {
			bubble(t, Settings{Interval: tt.interval, MaxRate: tt.maxRate}, func(t *testing.T, p *Prober, f *fakeEngine) {
				f.answer = after(time.Millisecond)
				addHosts(p, 1, tt.n)
				sleep(3*tt.cycle + tick)
				sent := f.requests()
				checkRate(t, sent, tt.maxRate)
				st := p.Stats()
				if d := (st.LastCycle - tt.cycle).Abs(); d > tick {
					t.Errorf("cycle of %v, want %v", st.LastCycle, tt.cycle)
				}
				if tt.overruns && st.Overruns != st.Cycles || !tt.overruns && st.Overruns != 0 {
					t.Errorf("%d overruns in %d cycles", st.Overruns, st.Cycles)
				}
				for id, n := range perHost(sent[:3*tt.n]) {
					if n != 3 {
						t.Fatalf("host %d: %d requests in 3 cycles", id, n)
					}
				}
			})
		})
	}
}

// At a high rate turns share a wake-up, but no more than the slack allows.
func TestHighRate(t *testing.T) {
	bubble(t, Settings{Interval: time.Second, MaxRate: 20000}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = after(time.Millisecond)
		addHosts(p, 1, 10000)
		sleep(3 * time.Second)
		sent := f.requests()
		checkRate(t, sent, 20000)
		if n := len(sent); n < 29900 || n > 30010 {
			t.Errorf("%d requests in 3 s, want 10000 a second", n)
		}
		if st := p.Stats(); st.Overruns != 0 || st.LastCycle < 990*time.Millisecond {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestStallSkipsTurns(t *testing.T) {
	for _, maxRate := range []float64{5, 100, 1000} {
		t.Run(fmt.Sprint(maxRate), func(t *testing.T) {
			bubble(t, Settings{Interval: time.Second, MaxRate: maxRate}, func(t *testing.T, p *Prober, f *fakeEngine) {
				stalled := false
				f.sendFn = func(s sending) error {
					if s.at > 3*time.Second && !stalled {
						stalled = true
						time.Sleep(7300 * time.Millisecond)
					}
					return nil
				}
				addHosts(p, 1, 5)
				sleep(20 * time.Second)
				sent := f.requests()
				checkRate(t, sent, maxRate)
				// 5 a second up to the stall and after it, none made up for.
				if n := len(sent); n < 64 || n > 66 {
					t.Errorf("%d requests", n)
				}
				// Time slots were skipped, not hosts.
				for i := 5; i < len(sent); i++ {
					if sent[i].id() != sent[i-5].id() {
						t.Fatalf("request %d is host %d's, want %d", i, sent[i].id(), sent[i-5].id())
					}
				}
			})
		})
	}
}

func TestNewHostIsNextAndCyclesStayFair(t *testing.T) {
	bubble(t, Settings{Interval: 10 * time.Second, MaxRate: 10}, func(t *testing.T, p *Prober, f *fakeEngine) {
		addHosts(p, 1, 5)
		sleep(5 * time.Second) // 1 2 3 have had their turn
		addHosts(p, 6, 7)
		p.Remove(1)
		p.Remove(5)
		sleep(30 * time.Second)
		sent := f.requests()
		var order []uint32
		for _, s := range sent[:13] {
			order = append(order, s.id())
		}
		want := []uint32{1, 2, 3, 6, 7, 4, 2, 3, 6, 7, 4, 2, 3}
		if fmt.Sprint(order) != fmt.Sprint(want) {
			t.Errorf("order %v, want %v", order, want)
		}
		checkRate(t, sent, 10)
	})
}

// joinOrder runs change 1.5 s after four hosts began a cycle of 4 s (1 and 2 have had
// their turns), and returns whose turns the 10 s from then on are.
func joinOrder(t *testing.T, change func(p *Prober)) (order string, st Stats) {
	t.Helper()
	bubble(t, Settings{Interval: 4 * time.Second, MaxRate: 10}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = after(time.Millisecond)
		addHosts(p, 1, 4)
		sleep(1500 * time.Millisecond)
		change(p)
		sleep(10 * time.Second)
		for _, s := range f.requests()[2:] {
			order += fmt.Sprint(s.id())
		}
		st = p.Stats()
	})
	return order, st
}

func TestJoinAndLeave(t *testing.T) {
	tests := []struct {
		name   string
		change func(p *Prober)
		want   string // beginning of the order
		cycle  time.Duration
	}{
		{"nothing", func(*Prober) {}, "34123412", 4 * time.Second},
		{"join", func(p *Prober) { p.Add(5, addr(5)); p.Add(6, addr(6)) }, "56341256341", 4 * time.Second},
		{"leave before its turn", func(p *Prober) { p.Remove(3) }, "412412", 4 * time.Second},
		{"leave after its turn", func(p *Prober) { p.Remove(1) }, "3423423", 4 * time.Second},
		{"leave, the one before whom others join", func(p *Prober) {
			p.Add(5, addr(5))
			p.Remove(3)
			p.Add(6, addr(6))
		}, "5641256412", 4 * time.Second},
		{"joiners leave again", func(p *Prober) {
			p.Add(5, addr(5))
			p.Add(6, addr(6))
			p.Remove(5)
			p.Remove(6)
			p.Add(7, addr(7))
		}, "7341273412", 4 * time.Second},
		{"address lost and found after its turn", func(p *Prober) {
			p.SetAddr(1, netip.Addr{})
			p.SetAddr(1, addr(1))
		}, "3421342", 4 * time.Second},
		{"address lost and found before its turn", func(p *Prober) {
			p.SetAddr(4, netip.Addr{})
			p.SetAddr(4, addr(4))
		}, "43124312", 4 * time.Second},
		{"all leave", func(p *Prober) {
			for i := uint32(1); i <= 4; i++ {
				p.Remove(i)
			}
			p.Add(9, addr(9))
		}, "999", 4 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			order, st := joinOrder(t, tt.change)
			if !strings.HasPrefix(order, tt.want) {
				t.Errorf("order %s, want %s", order, tt.want)
			}
			if st.LastCycle.Round(time.Millisecond) != tt.cycle || st.Cycles != 2 {
				t.Errorf("%d cycles, the last of %v", st.Cycles, st.LastCycle)
			}
		})
	}
}

func TestRemovedWhileSending(t *testing.T) {
	bubble(t, Settings{Interval: time.Second, MaxRate: 10}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.sendFn = func(sending) error { p.Remove(1); return nil }
		p.Add(1, addr(1))
		sleep(100 * time.Millisecond)
		if st := p.Stats(); st.InFlight != 0 || st.Hosts != 0 || st.Sent != 1 {
			t.Errorf("%+v", st)
		}
		sleep(10 * time.Second)
	})
}

// Changes that ask for an immediate turn, over and over, do not beat the rate.
func TestRateIsKeptUnderPressure(t *testing.T) {
	for _, maxRate := range []float64{10, 100, 200, 1000, 5000} {
		t.Run(fmt.Sprint(maxRate), func(t *testing.T) {
			bubble(t, Settings{Interval: time.Hour, MaxRate: maxRate}, func(t *testing.T, p *Prober, f *fakeEngine) {
				for i := range uint32(20000) {
					pause(p)
					p.Add(i%7, addr(i))
					p.Wake()
					time.Sleep(50 * time.Microsecond)
				}
				sent := f.requests()
				checkRate(t, sent, maxRate)
				if n := float64(len(sent)); n < 0.9*maxRate {
					t.Errorf("%g requests in a second", n)
				}
			})
		})
	}
}

// Adding and removing at random keeps one request per host and cycle, and the rate.
func TestChurn(t *testing.T) {
	bubble(t, Settings{Interval: 10 * time.Second, MaxRate: 20}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = after(30 * time.Millisecond)
		addHosts(p, 1, 50)
		x := uint32(1)
		for range 2000 {
			x = x*1664525 + 1013904223
			id := 51 + x>>8%30
			switch x >> 28 % 4 {
			case 0:
				p.Add(id, addr(id))
			case 1:
				p.Remove(id)
			case 2:
				p.SetAddr(id, netip.Addr{})
			case 3:
				p.SetAddr(id, addr(id))
			}
			time.Sleep(time.Duration(x>>20&63) * time.Millisecond)
		}
		synctest.Wait()
		sent := f.requests()
		checkRate(t, sent, 20)
		st := p.Stats()
		for id := uint32(1); id <= 50; id++ {
			n := snap(t, p, id).Requests
			if n != st.Cycles && n != st.Cycles+1 {
				t.Errorf("host %d: %d requests in %d cycles and a bit", id, n, st.Cycles)
			}
		}
		for _, s := range sent {
			if s.addr != addr(s.id()) {
				t.Fatalf("host %d asked at %v", s.id(), s.addr)
			}
		}
	})
}

func TestSettingsChange(t *testing.T) {
	bubble(t, Settings{Interval: time.Hour, MaxRate: 100}, func(t *testing.T, p *Prober, f *fakeEngine) {
		addHosts(p, 1, 1)
		sleep(time.Minute)
		p.Update(Settings{Interval: time.Second, MaxRate: 100})
		sleep(2500 * time.Millisecond)
		if n := len(f.requests()); n != 4 { // 0, 60, 61, 62 s
			t.Errorf("%d requests after a shorter interval", n)
		}
		p.Update(Settings{Interval: time.Second, MaxRate: 0.1})
		sleep(30 * time.Second)
		sent := f.requests()
		checkRate(t, sent[3:], 0.1)
		if n := len(sent); n != 7 { // 72, 82, 92 s
			t.Errorf("%d requests after a lower rate: %v", n, sent)
		}
		p.Update(Settings{Interval: time.Second, MaxRate: 50})
		sleep(10*time.Second + time.Millisecond)
		if n := len(f.requests()); n != 17 { // 93 to 102 s
			t.Errorf("%d requests after a higher rate: %v", n, f.requests())
		}
	})
}

func TestIdle(t *testing.T) {
	s := Settings{Interval: 10 * time.Second, MaxRate: 10, Idle: 5 * time.Minute}
	bubble(t, s, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = after(time.Millisecond)
		addHosts(p, 1, 2)
		sleep(time.Hour)
		if n := len(f.requests()); n != 60 || !p.Stats().Paused {
			t.Errorf("%d requests in 300 s, paused %v", n, p.Stats().Paused)
		}
		polls := f.polls
		sleep(time.Hour)
		if f.polls != polls {
			t.Errorf("%d polls while paused", f.polls-polls)
		}
		p.Wake()
		if s := snap(t, p, 1); s.Known || s.Up || s.RTT != 0 || s.Window.Completed != 0 || s.Responses != 30 {
			t.Errorf("state from before the pause: %+v", s)
		}
		sleep(5200 * time.Millisecond)
		if n := len(f.requests()); n != 62 {
			t.Errorf("%d requests after waking, want 62", n)
		}
		if s := snap(t, p, 1); !s.Up || s.Window.Completed != 1 {
			t.Errorf("state after waking: %+v", s)
		}
		for range 100 {
			p.Wake()
			sleep(10 * time.Second)
		}
		if n := len(f.requests()); n != 262 {
			t.Errorf("%d requests while awake, want 262", n)
		}
		if st := p.Stats(); st.Overruns != 0 || st.Paused {
			t.Errorf("stats %+v", st)
		}
		checkRate(t, f.requests(), 10)
	})
}

// pause stops probing, as when nobody has asked for long. Wake ends it.
func pause(p *Prober) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle.Store(true)
	p.cycle.stop()
}

func TestPauseAndWake(t *testing.T) {
	bubble(t, Settings{Interval: time.Second, MaxRate: 2}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = after(400 * time.Millisecond)
		addHosts(p, 1, 4)
		sleep(1100 * time.Millisecond) // 0, 0.5, 1 s
		pause(p)
		sleep(time.Minute)
		if n := len(f.requests()); n != 3 {
			t.Errorf("%d requests, want 3", n)
		}
		if s := snap(t, p, 3); s.Responses != 1 {
			t.Errorf("answer during the pause not counted: %+v", s)
		}
		for range 100 { // cannot be used to go faster
			p.Wake()
			sleep(10 * time.Millisecond)
			pause(p)
		}
		checkRate(t, f.requests(), 2)
	})
}

func TestWithoutAddress(t *testing.T) {
	bubble(t, Settings{Interval: time.Second, MaxRate: 10}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = after(time.Millisecond)
		p.Add(1, netip.Addr{})
		sleep(10 * time.Second)
		if n := len(f.requests()); n != 0 {
			t.Errorf("%d requests without address", n)
		}
		p.SetAddr(1, addr(1))
		sleep(1500 * time.Millisecond)
		if s := snap(t, p, 1); s.Requests != 2 || !s.Up || s.Addr != addr(1) {
			t.Errorf("with address: %+v", s)
		}
		p.SetAddr(1, netip.Addr{})
		sleep(10 * time.Second)
		if s := snap(t, p, 1); s.Requests != 2 || s.Known || s.Up {
			t.Errorf("without address again: %+v", s)
		}
		if p.SetAddr(2, addr(2)) || p.Remove(2) {
			t.Error("unknown host accepted")
		}
	})
}

func TestRemovedInFlightAndAddedAgain(t *testing.T) {
	bubble(t, Settings{Interval: time.Second, MaxRate: 10}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = script([]delayed{reply(500 * time.Millisecond)})
		p.Add(1, addr(1))
		sleep(200 * time.Millisecond)
		p.Remove(1)
		if st := p.Stats(); st.InFlight != 0 || st.Hosts != 0 || st.Probed != 0 {
			t.Errorf("stats after removal: %+v", st)
		}
		p.Add(1, addr(1))
		sleep(900 * time.Millisecond)
		s := snap(t, p, 1)
		if s.Responses != 0 || s.Duplicates != 0 || s.Late != 0 || s.InFlight != 1 || s.Requests != 1 {
			t.Errorf("the new host: %+v", s)
		}
		if st := p.Stats(); st.Unmatched != 1 {
			t.Errorf("%d unmatched, want 1", st.Unmatched)
		}
	})
}

func TestSendErrors(t *testing.T) {
	tests := []struct {
		err   error
		known bool
	}{
		{syscall.ENETUNREACH, true},
		{fmt.Errorf("send: %w", syscall.EHOSTUNREACH), true},
		{syscall.EADDRNOTAVAIL, true},
		{syscall.ENOBUFS, false},
		{errors.New("other"), false},
	}
	for _, tt := range tests {
		t.Run(tt.err.Error(), func(t *testing.T) {
			bubble(t, Settings{Interval: time.Second, MaxRate: 10}, func(t *testing.T, p *Prober, f *fakeEngine) {
				f.answer = after(time.Millisecond)
				p.Add(1, addr(1))
				sleep(500 * time.Millisecond)
				f.setSend(func(sending) error { return tt.err })
				sleep(2 * time.Second)
				s := snap(t, p, 1)
				if s.Requests != 1 || s.SendErrors != 2 || s.LastSendError != tt.err || s.InFlight != 0 {
					t.Errorf("account %+v", s)
				}
				if s.Known != tt.known || s.Up || s.Window.Completed != 1 {
					t.Errorf("known %v up %v", s.Known, s.Up)
				}
				f.setSend(nil)
				sleep(time.Second)
				if s := snap(t, p, 1); !s.Up || s.Responses != 2 {
					t.Errorf("after recovery %+v", s)
				}
			})
		})
	}
}

// More than 64 requests in flight: the oldest are given up before their timeout.
func TestMoreInFlightThanTracked(t *testing.T) {
	s := Settings{Interval: 100 * time.Millisecond, MaxRate: 100, Timeout: 20 * time.Second}
	bubble(t, s, func(t *testing.T, p *Prober, f *fakeEngine) {
		p.Add(1, addr(1))
		sleep(9950 * time.Millisecond)
		s := snap(t, p, 1)
		if s.Requests != 100 || s.InFlight != 64 || s.Timeouts != 36 || p.Stats().InFlight != 64 {
			t.Errorf("account %+v, stats %+v", s, p.Stats())
		}
	})
}

// The outcome of an earlier request does not replace a later one's.
func TestLatestIsByOrderOfSending(t *testing.T) {
	bubble(t, Settings{Interval: time.Second, MaxRate: 10, Timeout: 3 * time.Second}, func(t *testing.T, p *Prober, f *fakeEngine) {
		f.answer = script(nil, []delayed{reply(10 * time.Millisecond)})
		p.Add(1, addr(1))
		sleep(2 * time.Second)
		pause(p)
		sleep(1500 * time.Millisecond)
		if s := snap(t, p, 1); s.Timeouts != 1 || !s.Up || s.RTT != 10*time.Millisecond {
			t.Errorf("%+v", s)
		}
	})
}

// Ten hosts a second share wake-ups with the polls; one host in ten seconds costs
// two wake-ups a probe.
func TestPolls(t *testing.T) {
	tests := []struct {
		interval time.Duration
		polls    int // in 100 s
	}{
		{100 * time.Millisecond, 1000},
		{10 * time.Millisecond, 1111}, // with every ninth request
		{10 * time.Second, 20},
	}
	for _, tt := range tests {
		t.Run(tt.interval.String(), func(t *testing.T) {
			bubble(t, Settings{Interval: tt.interval, MaxRate: 100}, func(t *testing.T, p *Prober, f *fakeEngine) {
				f.answer = after(5 * time.Millisecond)
				p.Add(1, addr(1))
				sleep(100 * time.Second)
				if f.polls > tt.polls+2 || f.polls < tt.polls/2 {
					t.Errorf("%d polls, want about %d", f.polls, tt.polls)
				}
			})
		})
	}
}
