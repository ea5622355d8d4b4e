//go:build go1.25

// These tests run on the fake clock of testing/synctest, hence go1.25.

package hosts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errNoName = errors.New("no such name")
	root      = Who{UID: 0, Known: true, Local: true}
	stranger  = Who{UID: 4242, Known: true, Local: true}
)

// fakeResolver answers from a table, each answer after a delay, and notes what it
// was asked and when.
type fakeResolver struct {
	start time.Time
	mu    sync.Mutex
	names map[string][]netip.Addr
	delay time.Duration
	asked []string
	busy  int
	most  int // look-ups at one time
}

func (f *fakeResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	f.mu.Lock()
	f.asked = append(f.asked, fmt.Sprintf("%s %s %v", network, host, time.Since(f.start)))
	delay := f.delay
	f.busy++
	f.most = max(f.most, f.busy)
	f.mu.Unlock()
	defer func() { f.mu.Lock(); f.busy--; f.mu.Unlock() }()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(delay):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if addrs := f.names[host]; addrs != nil {
		return slices.Clone(addrs), nil
	}
	return nil, errNoName
}

func (f *fakeResolver) set(name string, addrs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.names, name)
	for _, a := range addrs {
		f.names[name] = append(f.names[name], netip.MustParseAddr(a))
	}
}

func (f *fakeResolver) slow(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// questions returns what has been asked since the last call.
func (f *fakeResolver) questions() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.asked
	f.asked = nil
	return q
}

// fakeProber notes the addresses it is to probe.
type fakeProber map[uint32]netip.Addr

func (f fakeProber) Add(id uint32, addr netip.Addr) { f[id] = addr }
func (f fakeProber) SetAddr(id uint32, addr netip.Addr) bool {
	_, ok := f[id]
	f[id] = addr
	return ok
}
func (f fakeProber) Remove(id uint32) bool { delete(f, id); return true }

func (f fakeProber) at(id uint32) string {
	addr, ok := f[id]
	switch {
	case !ok:
		return "gone"
	case !addr.IsValid():
		return "none"
	}
	return addr.String()
}

type rig struct {
	*Registry
	names *fakeResolver
	probe fakeProber
}

func defaults() Settings {
	return Settings{
		Policy:  Policy{Create: Users{UIDs: []int{0}}, MaxHosts: 3, Expire: time.Hour},
		Refresh: 300 * time.Second,
	}
}

// allocations returns how many allocations f makes each time. Those of all goroutines are
// counted, so the round with the fewest counts: other goroutines, such as those that clean
// up after earlier tests, do not allocate in every round.
func allocations(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for i := 0; i < 9 && least > 0; i++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

func bubble(t *testing.T, s Settings, test func(t *testing.T, r rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeResolver{start: time.Now(), names: make(map[string][]netip.Addr)}
		p := make(fakeProber)
		r := New(f, p, s)
		r.jitter = func(d time.Duration) time.Duration { return d }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		test(t, rig{r, f, p})
		cancel()
		<-done
	})
}

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r rig) add(t *testing.T, id uint32, name string, o Origin) {
	t.Helper()
	if err := r.Add(id, name, o); err != nil {
		t.Fatal(err)
	}
}

func (r rig) expect(t *testing.T, id uint32, state State, probed string) {
	t.Helper()
	h, _ := r.Get(id)
	r.mu.Lock()
	at := r.probe.at(id)
	r.mu.Unlock()
	if h.State != state || at != probed || (state == Resolved) != h.Addr.IsValid() {
		t.Errorf("host %d is %v at %v (%v), probed at %v; want %v at %v", id, h.State, h.Addr, h.Err, at, state, probed)
	}
}

func (r rig) expectQuestions(t *testing.T, want ...string) {
	t.Helper()
	if got := r.names.questions(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestAddressesNeedNoResolver(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.add(t, 1, "10.0.0.1", Configured)
		r.add(t, 2, "::ffff:10.0.0.2", Configured)
		r.add(t, 3, "fe80::1%eth0", Configured)
		r.add(t, 4, "224.0.0.1", Configured)
		r.expect(t, 1, Resolved, "10.0.0.1")
		r.expect(t, 2, Resolved, "10.0.0.2")
		r.expect(t, 3, Resolved, "fe80::1%eth0")
		r.expect(t, 4, Denied, "none")
		sleep(time.Hour)
		r.expectQuestions(t)
	})
}

func TestResolveAndRefresh(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.set("farvel", "10.0.0.1", "10.0.0.2")
		r.names.slow(time.Second)
		r.add(t, 1, "farvel", Configured)
		r.expect(t, 1, Resolving, "none")
		sleep(time.Second)
		r.expect(t, 1, Resolved, "10.0.0.1")
		r.names.set("farvel", "10.0.0.2", "10.0.0.1") // rotated
		sleep(301 * time.Second)
		r.expect(t, 1, Resolved, "10.0.0.1")
		r.names.set("farvel", "10.0.0.3")
		sleep(301 * time.Second)
		r.expect(t, 1, Resolved, "10.0.0.3")
		r.expectQuestions(t, "ip farvel 0s", "ip farvel 5m1s", "ip farvel 10m2s")
		if s := r.Stats(); s != (Stats{Hosts: 1, Lookups: 3}) {
			t.Errorf("%+v", s)
		}
	})
}

func TestBackOff(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.add(t, 1, "farvel", Configured)
		sleep(20 * time.Minute)
		r.expect(t, 1, Unresolved, "none")
		r.expectQuestions(t, "ip farvel 0s", "ip farvel 5s", "ip farvel 15s", "ip farvel 35s", "ip farvel 1m15s",
			"ip farvel 2m35s", "ip farvel 5m15s", "ip farvel 10m15s", "ip farvel 15m15s")
		if h, _ := r.Get(1); h.Failures != 9 || !errors.Is(h.Err, errNoName) {
			t.Errorf("%+v", h)
		}
		r.names.set("farvel", "10.0.0.1")
		sleep(5 * time.Minute)
		r.expect(t, 1, Resolved, "10.0.0.1")
		if h, _ := r.Get(1); h.Failures != 0 || h.Err != nil {
			t.Errorf("%+v", h)
		}
		r.names.questions()
		r.names.set("farvel") // the last good address stays
		sleep(16 * time.Second)
		r.expect(t, 1, Resolved, "10.0.0.1")
		r.expectQuestions(t, "ip farvel 25m15s")
		if h, _ := r.Get(1); h.Failures != 1 || !errors.Is(h.Err, errNoName) {
			t.Errorf("%+v", h)
		}
		if s := r.Stats(); s.Lookups != 11 || s.Failures != 10 || s.Without != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestSilentNameServer(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.slow(time.Hour)
		for i := uint32(1); i <= 20; i++ {
			r.add(t, i, fmt.Sprint("host", i), Configured)
		}
		sleep(lookupTimeout * 3)
		r.expect(t, 20, Unresolved, "none")
		if h, _ := r.Get(20); !errors.Is(h.Err, context.DeadlineExceeded) {
			t.Errorf("%v", h.Err)
		}
		if r.names.most != workers {
			t.Errorf("%d look-ups at one time", r.names.most)
		}
	})
}

func TestFamily(t *testing.T) {
	s := defaults()
	s.Family = IPv6
	bubble(t, s, func(t *testing.T, r rig) {
		r.names.set("both", "10.0.0.1", "fd00::1")
		r.names.set("four", "10.0.0.1")
		r.add(t, 1, "both", Configured)
		r.add(t, 2, "four", Configured)
		r.add(t, 3, "10.0.0.3", Configured)
		sleep(time.Second)
		r.expect(t, 1, Resolved, "fd00::1")
		r.expect(t, 2, Unresolved, "none")
		r.expect(t, 3, Unresolved, "none")
		r.names.questions()
		s.Family = IPv4
		r.Update(s)
		sleep(time.Second)
		r.expect(t, 1, Resolved, "10.0.0.1")
		r.expect(t, 2, Resolved, "10.0.0.1")
		r.expect(t, 3, Resolved, "10.0.0.3")
		q := r.names.questions()
		slices.Sort(q)
		if fmt.Sprint(q) != "[ip4 both 1s ip4 four 1s]" {
			t.Errorf("asked %q", q)
		}
	})
}

func TestAddRemove(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.set("farvel", "10.0.0.1")
		r.names.set("trist", "10.0.0.2")
		r.add(t, 7, "farvel", Configured)
		r.add(t, 3, "trist", OnDemand)
		sleep(time.Second)
		for _, bad := range []struct {
			id   uint32
			name string
			want string
		}{
			{8, "farvel", `host "farvel": has id 7 already, not 8`},
			{7, "ked", `host "ked": id 7 belongs to "farvel"`},
			{9, "a b", `host "a b": the host name holds ' '; letters, digits, hyphens and underscores are allowed`},
		} {
			if err := r.Add(bad.id, bad.name, Stored); err == nil || err.Error() != bad.want {
				t.Errorf("%v, want %v", err, bad.want)
			}
		}
		if l := r.Hosts(); len(l) != 2 || l[0].Name != "trist" || l[1].Name != "farvel" {
			t.Errorf("%+v", l)
		}
		if h, ok := r.Get(3); !ok || h.Name != "trist" || h.Origin != OnDemand {
			t.Errorf("%+v", h)
		}
		r.add(t, 3, "trist", Configured)
		if s := r.Stats(); s.OnDemand != 0 || s.Hosts != 2 {
			t.Errorf("%+v", s)
		}
		if !r.Remove(3) || r.Remove(3) {
			t.Error("remove")
		}
		if _, ok := r.Get(3); ok || r.probe.at(3) != "gone" {
			t.Error("removed host found")
		}
		r.names.questions()
		r.add(t, 3, "trist", Configured) // within 30 s: not asked again
		r.expect(t, 3, Resolved, "10.0.0.2")
		r.expectQuestions(t)
		r.Remove(3)
		sleep(cacheTime + time.Second)
		r.names.slow(time.Second)
		r.add(t, 3, "trist", Configured)
		r.expect(t, 3, Resolving, "none")
	})
}

func TestRemovedDuringLookup(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.set("farvel", "10.0.0.1")
		r.names.slow(2 * time.Second)
		r.add(t, 1, "farvel", Configured)
		sleep(time.Second)
		r.Remove(1)
		sleep(500 * time.Millisecond)
		r.add(t, 2, "farvel", Configured)
		sleep(time.Second)
		r.expect(t, 2, Resolved, "10.0.0.1")
		r.expectQuestions(t, "ip farvel 0s")
		if r.probe.at(1) != "gone" {
			t.Errorf("removed host probed at %v", r.probe.at(1))
		}
	})
}

func TestExpire(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.add(t, 1, "10.0.0.1", OnDemand)
		r.add(t, 2, "10.0.0.2", OnDemand)
		r.add(t, 3, "10.0.0.3", Configured)
		r.add(t, 4, "10.0.0.4", Stored)
		sleep(30 * time.Minute)
		r.Touch(time.Now(), 2, 3, 99)
		if gone := r.Expire(time.Now()); len(gone) != 0 {
			t.Errorf("%+v", gone)
		}
		sleep(30 * time.Minute)
		if gone := r.Expire(time.Now()); len(gone) != 1 || gone[0].Name != "10.0.0.1" || r.probe.at(1) != "gone" {
			t.Errorf("%+v", gone)
		}
		sleep(30 * time.Minute)
		if gone := r.Expire(time.Now()); len(gone) != 1 || gone[0].ID != 2 {
			t.Errorf("%+v", gone)
		}
		sleep(30 * 24 * time.Hour)
		if gone := r.Expire(time.Now()); len(gone) != 0 || r.Stats().Hosts != 2 {
			t.Errorf("%+v", gone)
		}
	})
}

func TestTouchAllocatesNothing(t *testing.T) {
	r := New(&fakeResolver{}, make(fakeProber), defaults())
	ids := []uint32{1, 2}
	for _, id := range ids {
		if err := r.Add(id, fmt.Sprintf("10.0.0.%d", id), OnDemand); err != nil {
			t.Fatal(err)
		}
	}
	if n := allocations(100, func() { r.Touch(time.Now(), ids...) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A name is not probed any more when its address has changed to one in a denied range.
func TestRebinding(t *testing.T) {
	s := defaults()
	s.Deny = prefixes("192.168.0.0/16")
	bubble(t, s, func(t *testing.T, r rig) {
		r.names.set("farvel", "10.0.0.1")
		if d := r.Admit(root, "farvel"); d.Err != nil || d.Addr.String() != "10.0.0.1" {
			t.Fatalf("%+v", d)
		}
		r.add(t, 1, "farvel", OnDemand)
		r.expect(t, 1, Resolved, "10.0.0.1")
		r.names.set("farvel", "192.168.1.1")
		sleep(5 * time.Minute)
		r.expect(t, 1, Denied, "none")
		if h, _ := r.Get(1); !errors.Is(h.Err, ErrDenied) || !strings.Contains(h.Err.Error(), "deny 192.168.0.0/16") {
			t.Errorf("%v", h.Err)
		}
		r.names.set("farvel", "192.168.1.1", "10.0.0.2")
		sleep(5 * time.Minute)
		r.expect(t, 1, Resolved, "10.0.0.2")
		s.Deny = prefixes("10.0.0.2/32")
		r.Update(s) // at once
		r.expect(t, 1, Resolved, "192.168.1.1")
		s.Deny = prefixes("0.0.0.0/0")
		r.Update(s)
		r.expect(t, 1, Denied, "none")
		r.add(t, 1, "farvel", Configured) // to which the ranges do not apply
		r.expect(t, 1, Resolved, "192.168.1.1")
	})
}

func TestUpdateRefresh(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.set("farvel", "10.0.0.1")
		r.add(t, 1, "farvel", Configured)
		sleep(10 * time.Second)
		s := defaults()
		s.Refresh = 20 * time.Second
		r.Update(s)
		sleep(25 * time.Second)
		r.expectQuestions(t, "ip farvel 0s", "ip farvel 30s")
	})
}

// A look-up under way when the family changes asks for the wrong addresses.
func TestFamilyChangesDuringLookup(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.set("both", "10.0.0.1", "fd00::1")
		r.names.slow(2 * time.Second)
		r.add(t, 1, "both", Configured)
		sleep(time.Second)
		s := defaults()
		s.Family = IPv6
		r.Update(s)
		sleep(4 * time.Second)
		r.expect(t, 1, Resolved, "fd00::1")
		r.expectQuestions(t, "ip both 0s", "ip6 both 2s")
	})
}

func TestRemovedBeforeLookup(t *testing.T) {
	r := rig{Registry: New(&fakeResolver{}, make(fakeProber), defaults())} // which nobody runs
	r.add(t, 1, "farvel", Configured)
	r.Remove(1)
	r.expectCache(t, 0)
}
