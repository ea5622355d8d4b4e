//go:build go1.25

package hosts

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAdmit(t *testing.T) {
	s := defaults()
	s.Deny = prefixes("192.168.0.0/16")
	tests := []struct {
		who   Who
		name  string
		rule  error
		text  string
		addr  string
		asked bool
	}{
		{root, "farvel", nil, "", "10.0.0.1", true},
		{root, "10.9.9.9", nil, "", "10.9.9.9", false},
		{root, "a b", ErrName, `host "a b" refused to uid 0: not a valid host name or address: the host name holds ' '; letters, digits, hyphens and underscores are allowed`, "", false},
		{stranger, "farvel", ErrUser, `host "farvel" refused to uid 4242: rule create: the user may not add hosts`, "", false},
		{Who{}, "farvel", ErrUser, `host "farvel" refused to unknown user: rule create: the user may not add hosts`, "", false},
		{root, "nobody", ErrUnresolved, `host "nobody" refused to uid 0: the name has no usable address: no such name`, "", true},
		{root, "inside", ErrDenied, `host "inside" refused to uid 0: rule allow/deny: the address may not be probed: 192.168.0.1 is in deny 192.168.0.0/16`, "", true},
		{root, "192.168.0.1", ErrDenied, `192.168.0.1 is in deny 192.168.0.0/16`, "", false},
		{root, "::ffff:192.168.0.1", ErrDenied, `192.168.0.1 is in deny 192.168.0.0/16`, "", false},
		{root, "224.0.0.1", ErrDenied, `multicast`, "", false},
		{root, strings.Repeat("x", 5000), ErrName, `the name has 5000 bytes`, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name[:min(len(tt.name), 20)]+" "+tt.who.String(), func(t *testing.T) {
			bubble(t, s, func(t *testing.T, r rig) {
				r.names.set("farvel", "10.0.0.1")
				r.names.set("inside", "192.168.0.1")
				d := r.Admit(tt.who, tt.name)
				if tt.rule == nil && (d.Err != nil || d.Addr.String() != tt.addr) {
					t.Errorf("%+v", d)
				}
				if tt.rule != nil && (!errors.Is(d.Err, tt.rule) || !strings.Contains(d.Err.Error(), tt.text) || len(d.Err.Error()) > 500) {
					t.Errorf("%v, want %v", d.Err, tt.text)
				}
				if q := r.names.questions(); (len(q) > 0) != tt.asked {
					t.Errorf("asked %q", q)
				}
				if s := r.Stats(); s.Hosts != 0 {
					t.Errorf("Admit added a host: %+v", s)
				}
			})
		})
	}
}

func TestAdmitExisting(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.add(t, 5, "farvel", Configured)
		if d := r.Admit(stranger, "farvel"); d.Err != nil || !d.Exists || d.ID != 5 {
			t.Errorf("%+v", d)
		}
	})
}

func TestAdmitLimit(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.add(t, 100, "10.0.1.1", Configured)
		r.add(t, 101, "10.0.1.2", Stored)
		for i := uint32(1); i <= 3; i++ {
			name := fmt.Sprintf("10.0.0.%d", i)
			if d := r.Admit(root, name); d.Err != nil {
				t.Fatal(d.Err)
			}
			r.add(t, i, name, OnDemand)
		}
		if d := r.Admit(root, "farvel"); !errors.Is(d.Err, ErrLimit) {
			t.Errorf("%+v", d)
		}
		r.expectQuestions(t)
		r.Remove(2)
		if d := r.Admit(root, "10.0.0.4"); d.Err != nil {
			t.Errorf("%+v", d)
		}
	})
}

// A slow name server costs half a second; the next look-up has its answer at once.
func TestAdmitPending(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.set("farvel", "10.0.0.1")
		r.names.slow(2 * time.Second)
		begin := time.Now()
		d := r.Admit(root, "farvel")
		if !errors.Is(d.Err, ErrPending) || time.Since(begin) != 500*time.Millisecond {
			t.Errorf("%+v after %v", d, time.Since(begin))
		}
		sleep(2 * time.Second)
		begin = time.Now()
		if d := r.Admit(root, "farvel"); d.Err != nil || d.Addr.String() != "10.0.0.1" || time.Since(begin) != 0 {
			t.Errorf("%+v after %v", d, time.Since(begin))
		}
		r.add(t, 1, "farvel", OnDemand)
		r.expect(t, 1, Resolved, "10.0.0.1")
		sleep(299 * time.Second)
		r.expectQuestions(t, "ip farvel 0s")
	})
}

// pmcd waits while a client looks a name up: two seconds at a stretch, and a tenth of the
// time after that.
func TestAdmitPatience(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.slow(time.Hour)
		begin := time.Now()
		for i := range 1000 {
			if d := r.Admit(root, fmt.Sprint("slow", i%8)); !errors.Is(d.Err, ErrPending) {
				t.Fatalf("%+v", d)
			}
		}
		// What is spent comes back at a tenth while they wait.
		if waited := time.Since(begin); waited < maxPatience || waited > maxPatience*115/100 {
			t.Errorf("1000 look-ups at once wait %v, want %v", waited, maxPatience)
		}
		sleep(3 * time.Second)
		begin = time.Now()
		for range 100 {
			r.Admit(root, "slow9")
		}
		if waited, want := time.Since(begin), 300*time.Millisecond; waited < want || waited > want+50*time.Millisecond {
			t.Errorf("after a rest of 3 s they wait %v, want %v", waited, want)
		}
	})
}

func TestNegativeCache(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		for range 29 {
			if d := r.Admit(root, "nobody"); !errors.Is(d.Err, ErrUnresolved) || !errors.Is(d.Err, errNoName) {
				t.Fatalf("%+v", d)
			}
			sleep(time.Second)
		}
		sleep(2 * time.Second)
		r.names.set("nobody", "10.0.0.1")
		if d := r.Admit(root, "nobody"); d.Err != nil {
			t.Errorf("%+v", d)
		}
		r.expectQuestions(t, "ip nobody 0s", "ip nobody 31s")
	})
}

func (r rig) expectCache(t *testing.T, n int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.Registry.names) != n || r.cached != n || len(r.due) != n {
		t.Errorf("%d names, %d counted, %d due; want %d", len(r.Registry.names), r.cached, len(r.due), n)
	}
}

func TestCacheIsBounded(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		for i := range 3 * maxCached {
			r.Admit(root, fmt.Sprint("nobody", i))
		}
		r.expectCache(t, maxCached)
		sleep(cacheTime)
		r.expectCache(t, 0)
		// With all of them under way there is room for no other.
		r.names.slow(time.Minute)
		var wg sync.WaitGroup
		for i := range maxCached {
			wg.Add(1)
			go func() { defer wg.Done(); r.Admit(root, fmt.Sprint("slow", i)) }()
		}
		synctest.Wait()
		if d := r.Admit(root, "one-more"); !errors.Is(d.Err, ErrPending) || !strings.Contains(d.Err.Error(), "too many") {
			t.Errorf("%+v", d)
		}
		wg.Wait()
	})
}

// Clients that ask for the same name at the same time cause one query.
func TestAdmitTogether(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.set("farvel", "10.0.0.1")
		r.names.slow(100 * time.Millisecond)
		var wg sync.WaitGroup
		for range 20 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if d := r.Admit(root, "farvel"); d.Err != nil {
					t.Errorf("%v", d.Err)
				}
			}()
		}
		wg.Wait()
		r.expectQuestions(t, "ip farvel 0s")
	})
}

// A permission that is withdrawn while the name server is asked no longer holds.
func TestAdmitChecksAgain(t *testing.T) {
	bubble(t, defaults(), func(t *testing.T, r rig) {
		r.names.set("farvel", "10.0.0.1")
		r.names.slow(200 * time.Millisecond)
		go func() {
			time.Sleep(100 * time.Millisecond)
			s := defaults()
			s.Create = Users{}
			r.Update(s)
		}()
		if d := r.Admit(root, "farvel"); !errors.Is(d.Err, ErrUser) {
			t.Errorf("%+v", d)
		}
	})
}
