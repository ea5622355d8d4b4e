package hosts

import (
	"fmt"
	"net/netip"
	"time"
)

// Decision is the outcome of Admit.
type Decision struct {
	Err    error      // a *Refusal; nil: the host exists or may be added
	Exists bool       // it is there already, as ID
	ID     uint32     // valid if Exists
	Addr   netip.Addr // where it is to be probed; valid if neither Err nor Exists
}

// Admit decides whether a look-up of a name by the client who may add a host. The rules, in
// this order: anyone finds a host that exists; the name is valid; the user may add hosts;
// there is room for one more; the name resolves; its address may be probed. Nobody who may
// not add hosts can cause a query to a name server.
//
// Admit waits for the name server no longer than Settings.LookupWait, and less if it has
// waited much of late. After that it answers ErrPending and the look-up goes on. Its
// outcome is kept for 30 seconds, for a client that asks again. Admit adds nothing. Add
// does, and uses the address.
func (r *Registry) Admit(who Who, name string) Decision {
	if err := CheckName(name); err != nil {
		return refuse(who, name, ErrName, err)
	}
	r.mu.Lock()
	if e := r.names[name]; e != nil && e.host != nil {
		id := e.host.ID
		r.mu.Unlock()
		return Decision{Exists: true, ID: id}
	}
	rule := r.admits(who)
	var e *entry
	var done chan struct{}
	if rule == nil {
		e, done = r.ask(name)
	}
	wait := min(r.settings.LookupWait, r.patience(time.Now()))
	r.mu.Unlock()
	switch {
	case rule != nil:
		return refuse(who, name, rule, nil)
	case e == nil:
		return refuse(who, name, ErrPending, fmt.Errorf("%d names are being looked up, which is too many at once", maxCached))
	}
	if done != nil && !r.wait(done, wait) {
		return refuse(who, name, ErrPending, nil)
	}
	return r.decide(who, e)
}

// While one client waits for a name, all clients of pmcd wait. So Admit waits for at most
// patiencePart of each second, and after a rest for at most maxPatience at one time. Beyond
// that it refuses a name that is not known yet at once, and the look-up goes on.
const (
	patiencePart = 0.1
	maxPatience  = 2 * time.Second
)

// patience returns how long look-ups may wait at now.
func (r *Registry) patience(now time.Time) time.Duration {
	rest := time.Duration(float64(now.Sub(r.spentAt)) * patiencePart)
	r.spent, r.spentAt = max(r.spent-rest, 0), now
	return maxPatience - r.spent
}

// wait waits for a look-up to end and notes how long it took.
func (r *Registry) wait(done chan struct{}, wait time.Duration) bool {
	if wait <= 0 {
		return false
	}
	began := time.Now()
	ok := waitFor(done, wait)
	r.mu.Lock()
	r.spent += time.Since(began)
	r.mu.Unlock()
	return ok
}

// admits applies the rules that need no address.
func (r *Registry) admits(who Who) error {
	if !r.settings.Create.Has(who) {
		return ErrUser
	}
	if r.demand >= r.settings.MaxHosts {
		return fmt.Errorf("%w: %d are there; raise maxhosts", ErrLimit, r.demand)
	}
	return nil
}

// ask returns the entry of a name, and a channel to wait for if it has no outcome
// yet. The entry is nil if there is no room for one.
func (r *Registry) ask(name string) (*entry, chan struct{}) {
	e := r.names[name]
	if e == nil {
		if addr, err := netip.ParseAddr(name); err == nil {
			return &entry{name: name, known: true, addrs: []netip.Addr{addr.Unmap()}}, nil
		}
		if r.cached >= maxCached && !r.evict() {
			return nil, nil
		}
		e = r.newEntry(name)
		r.cached++
		// It comes before all entries that are due, because a client waits.
		r.schedule(e, time.Time{})
	}
	if e.known {
		return e, nil
	}
	if e.done == nil {
		e.done = make(chan struct{})
	}
	return e, e.done
}

// evict makes room for a cached entry by dropping the one that is due next.
func (r *Registry) evict() bool {
	var first *entry
	for _, e := range r.names {
		if e.host == nil && e.known && !e.busy && (first == nil || e.due.Before(first.due)) {
			first = e
		}
	}
	if first != nil {
		r.drop(first)
	}
	return first != nil
}

// decide applies the rules to the outcome of a look-up.
func (r *Registry) decide(who Who, e *entry) Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.host != nil { // added meanwhile
		return Decision{Exists: true, ID: e.host.ID}
	}
	if rule := r.admits(who); rule != nil { // changed meanwhile
		return refuse(who, e.name, rule, nil)
	}
	if !e.known {
		return refuse(who, e.name, ErrPending, nil)
	}
	if len(e.addrs) == 0 {
		return refuse(who, e.name, ErrUnresolved, e.err)
	}
	addr, rule, cause := r.choose(e.addrs, netip.Addr{}, OnDemand)
	if rule != nil {
		return refuse(who, e.name, rule, cause)
	}
	return Decision{Addr: addr}
}

func refuse(who Who, name string, rule, cause error) Decision {
	return Decision{Err: &Refusal{Name: name, Who: who, Rule: rule, Cause: cause}}
}

func waitFor(done chan struct{}, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
