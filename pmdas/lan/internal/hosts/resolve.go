package hosts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"
)

// Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const (
	workers       = 8                // look-ups at one time
	lookupTimeout = 10 * time.Second // for one of them
	firstRetry    = 5 * time.Second  // after a failure; doubles with each in a row
	lastRetry     = 5 * time.Minute
	cacheTime     = 30 * time.Second // for answers, good or bad, to names without a host
	maxCached     = 1024             // such names
	maxAddrs      = 64               // of one answer that are kept
)

// spread shortens d by up to a tenth, so that names that were looked up together
// drift apart.
func spread(d time.Duration) time.Duration {
	return d - rand.N(d/10+1)
}

// entry is what is known of a name: of a host, or, for a short time, of one that a
// client has asked for.
type entry struct {
	name    string
	host    *host        // nil: cached only, and forgotten when due
	literal bool         // the name is an address; it is never due
	known   bool         // addrs or err is the outcome of a look-up
	addrs   []netip.Addr // the last good answer
	err     error        // of the last look-up
	fails   int          // in a row
	busy    bool
	stale   bool          // the look-up under way asks for what is no longer wanted
	done    chan struct{} // closed when a look-up ends; nil unless someone waits
	due     time.Time
	index   int // in dueHeap; -1 if not in it
}

// newEntry adds an entry without outcome, to be looked up.
func (r *Registry) newEntry(name string) *entry {
	e := &entry{name: name, index: -1}
	r.names[name] = e
	if addr, err := netip.ParseAddr(name); err == nil {
		e.literal, e.known = true, true
		e.addrs = []netip.Addr{addr.Unmap()}
	}
	return e
}

// adopt makes an entry that of a host.
func (r *Registry) adopt(e *entry) {
	switch now := time.Now(); {
	case e.literal:
		r.unschedule(e)
	case e.busy:
	case !e.known:
		r.schedule(e, now)
	case e.err != nil:
		r.schedule(e, now.Add(r.jitter(firstRetry)))
	default:
		r.schedule(e, now.Add(r.jitter(r.settings.Refresh)))
	}
	r.apply(e.host)
}

// disown keeps the entry of a host that was removed in the cache for a while.
func (r *Registry) disown(e *entry) {
	e.host = nil
	if e.literal || !e.known && !e.busy {
		r.unschedule(e)
		delete(r.names, e.name)
		return
	}
	r.cached++
	if !e.busy {
		r.schedule(e, time.Now().Add(cacheTime))
	}
}

// forget drops the outcome of an entry and has it looked up again.
func (r *Registry) forget(e *entry, now time.Time) {
	e.stale = e.busy
	if e.literal || e.busy {
		return
	}
	e.known, e.err, e.fails = false, nil, 0
	if e.host == nil {
		r.drop(e)
		return
	}
	r.schedule(e, now)
}

// drop forgets an entry without a host.
func (r *Registry) drop(e *entry) {
	r.unschedule(e)
	delete(r.names, e.name)
	r.cached--
}

// Run resolves names until ctx ends and all look-ups have returned. Call it once.
func (r *Registry) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, workers)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case slots <- struct{}{}:
		}
		e, wait := r.next()
		if e != nil {
			wg.Add(1)
			go func() {
				defer wg.Done()
				r.resolve(ctx, e)
				<-slots
			}()
			continue
		}
		<-slots
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-r.kick:
		case <-timer.C:
		}
	}
}

// next returns the entry to look up now, or nil and the time until there may be one. It
// forgets cached entries whose time is over.
func (r *Registry) next() (*entry, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for len(r.due) > 0 {
		e := r.due[0]
		if wait := e.due.Sub(now); wait > 0 {
			return nil, wait
		}
		if e.host == nil && e.known {
			r.drop(e)
			continue
		}
		r.unschedule(e)
		e.busy, e.stale = true, false
		return e, 0
	}
	return nil, time.Hour
}

func (r *Registry) resolve(ctx context.Context, e *entry) {
	r.mu.Lock()
	family := r.settings.Family
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := r.resolver.LookupNetIP(ctx, family.network(), e.name)
	var usable []netip.Addr
	for _, a := range addrs {
		if a = a.Unmap(); a.IsValid() && family.has(a) && len(usable) < maxAddrs {
			usable = append(usable, a)
		}
	}
	if err == nil && len(usable) == 0 {
		err = fmt.Errorf("no address (family %v)", family)
	}
	r.complete(e, usable, err)
}

// complete notes the outcome of a look-up. After a failure the last good answer stays.
func (r *Registry) complete(e *entry, addrs []netip.Addr, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.signal()
	e.busy = false
	r.lookups++
	if err != nil {
		r.failures++
	}
	if e.stale {
		r.forget(e, time.Now())
		return
	}
	e.known, e.err = true, err
	if err != nil {
		e.fails++
	} else {
		e.addrs, e.fails = addrs, 0
	}
	if e.done != nil {
		close(e.done)
		e.done = nil
	}
	r.schedule(e, time.Now().Add(r.delay(e)))
	if e.host != nil {
		r.apply(e.host)
	}
}

// delay is how long the outcome of a look-up holds.
func (r *Registry) delay(e *entry) time.Duration {
	switch {
	case e.host == nil:
		return cacheTime
	case e.err == nil:
		return r.jitter(r.settings.Refresh)
	}
	return r.jitter(min(firstRetry<<min(e.fails-1, 10), lastRetry))
}

// apply gives a host the address that its entry and the policy make of it, and
// tells the prober.
func (r *Registry) apply(h *host) {
	e := h.entry
	h.Err, h.Failures = e.err, e.fails
	addr, rule, cause := r.choose(e.addrs, h.Addr, h.Origin)
	switch {
	case rule == nil:
		h.State = Resolved
	case !e.known:
		h.State = Resolving
	case rule == ErrDenied:
		h.State, h.Err = Denied, fmt.Errorf("%w: %w", rule, cause)
	default:
		h.State = Unresolved
		if h.Err == nil {
			h.Err = fmt.Errorf("%w: %w", rule, cause)
		}
	}
	h.Addr = addr
	r.prober.SetAddr(h.ID, addr)
}

// choose picks the address to probe: the present one if it is still among addrs, so that a
// rotating answer does not change it, and otherwise the first that may be probed. If none
// may be probed, it returns the rule that says so and the cause.
func (r *Registry) choose(addrs []netip.Addr, present netip.Addr, origin Origin) (addr netip.Addr, rule, cause error) {
	rule, cause = ErrUnresolved, fmt.Errorf("no address (family %v)", r.settings.Family)
	for _, a := range addrs {
		if !r.settings.Family.has(a) {
			continue
		}
		if err := r.settings.check(a, origin); err != nil {
			if !addr.IsValid() {
				rule, cause = ErrDenied, err
			}
			continue
		}
		if a == present || !addr.IsValid() {
			addr, rule, cause = a, nil, nil
		}
	}
	return addr, rule, cause
}

func (r *Registry) signal() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}
