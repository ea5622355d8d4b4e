package hosts

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Origin says what brought a host to be.
type Origin uint8

// The origins.
const (
	Configured Origin = iota // by the configuration file
	Stored                   // by pmstore to the control metric
	OnDemand                 // by a look-up of its name; Policy applies to these
)

func (o Origin) String() string {
	return [...]string{"config", "store", "lookup"}[o]
}

// State is the state of a host's address.
type State uint8

// The states.
const (
	Resolving  State = iota // not looked up yet
	Resolved                // has an address, though the last refresh may have failed
	Unresolved              // has none
	Denied                  // has one that may not be probed
)

func (s State) String() string {
	return [...]string{"resolving", "resolved", "unresolved", "denied"}[s]
}

// Host is what is known of a host.
type Host struct {
	ID       uint32
	Name     string     // as the user gave it
	Addr     netip.Addr // valid if State is Resolved
	Origin   Origin
	State    State
	Err      error     // of the last look-up of the name, or why it is denied
	Failures int       // look-ups that have failed since one succeeded
	LastUse  time.Time // OnDemand
}

// Prober is told which addresses to probe. It is called with the Registry's lock
// held, so it must not call the Registry. *probe.Prober is one.
type Prober interface {
	Add(id uint32, addr netip.Addr)
	SetAddr(id uint32, addr netip.Addr) bool
	Remove(id uint32) bool
}

// Settings say how names are resolved and who may add some.
type Settings struct {
	Policy
	Family     Family
	Refresh    time.Duration // a name is looked up again after this; 0 means 300 s
	LookupWait time.Duration // how long Admit waits for a name server; 0 means 0.5 s
}

func (s Settings) normal() Settings {
	if s.Refresh <= 0 {
		s.Refresh = 300 * time.Second
	}
	if s.LookupWait <= 0 {
		s.LookupWait = 500 * time.Millisecond
	}
	return s
}

// Stats describe the Registry as a whole.
type Stats struct {
	Hosts    int
	OnDemand int    // of these, by look-up
	Without  int    // of these, without an address to probe
	Lookups  uint64 // of names, completed
	Failures uint64 // of these, without success
}

// Registry is the list of hosts. Its methods may be called from any goroutine;
// only Admit may wait.
type Registry struct {
	resolver Resolver
	prober   Prober
	kick     chan struct{}                     // wakes Run when something is due earlier
	jitter   func(time.Duration) time.Duration // spreads look-ups

	mu       sync.Mutex // guards all below
	settings Settings
	byID     map[uint32]*host
	names    map[string]*entry
	due      dueHeap
	cached   int // entries without a host
	demand   int // hosts OnDemand
	lookups  uint64
	failures uint64
	spent    time.Duration // of maxPatience
	spentAt  time.Time     // when that was so
}

type host struct {
	Host
	entry *entry
}

// New returns an empty Registry that tells prober what to probe.
func New(resolver Resolver, prober Prober, s Settings) *Registry {
	return &Registry{
		resolver: resolver,
		prober:   prober,
		kick:     make(chan struct{}, 1),
		jitter:   spread,
		settings: s.normal(),
		byID:     make(map[uint32]*host),
		names:    make(map[string]*entry),
	}
}

// Add adds a host under the id that belongs to its name. Its name is looked up in the
// background, unless it is an address or Admit has just looked it up. Adding a host that is
// there changes its origin. It is an error if another host has the name or the id.
func (r *Registry) Add(id uint32, name string, origin Origin) error {
	if err := CheckName(name); err != nil {
		return fmt.Errorf("host %q: %w", clip(name), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.names[name]
	if h := r.byID[id]; h != nil {
		if h.Name != name {
			return fmt.Errorf("host %q: id %d belongs to %q", name, id, h.Name)
		}
		r.setOrigin(h, origin)
		return nil
	}
	if e != nil && e.host != nil {
		return fmt.Errorf("host %q: has id %d already, not %d", name, e.host.ID, id)
	}
	if e == nil {
		e = r.newEntry(name)
	} else {
		r.cached--
	}
	h := &host{Host: Host{ID: id, Name: name, Origin: origin, LastUse: time.Now()}, entry: e}
	e.host = h
	r.byID[id] = h
	if origin == OnDemand {
		r.demand++
	}
	r.prober.Add(id, netip.Addr{})
	r.adopt(e)
	return nil
}

func (r *Registry) setOrigin(h *host, origin Origin) {
	if h.Origin == OnDemand {
		r.demand--
	}
	if origin == OnDemand {
		r.demand++
	}
	h.Origin = origin
	h.LastUse = time.Now()
	r.apply(h)
}

// Remove removes a host. It returns false for an unknown id.
func (r *Registry) Remove(id uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.byID[id]
	if h != nil {
		r.remove(h)
	}
	return h != nil
}

func (r *Registry) remove(h *host) {
	delete(r.byID, h.ID)
	if h.Origin == OnDemand {
		r.demand--
	}
	r.disown(h.entry)
	r.prober.Remove(h.ID)
}

// Get returns the host of that id.
func (r *Registry) Get(id uint32) (Host, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.byID[id]; h != nil {
		return h.Host, true
	}
	return Host{}, false
}

// Hosts returns all hosts, by ascending id.
func (r *Registry) Hosts() []Host {
	r.mu.Lock()
	list := make([]Host, 0, len(r.byID))
	for _, h := range r.byID {
		list = append(list, h.Host)
	}
	r.mu.Unlock()
	slices.SortFunc(list, func(a, b Host) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Touch notes that a client has asked for the values of hosts, at the time now. It
// allocates nothing.
func (r *Registry) Touch(now time.Time, ids ...uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if h := r.byID[id]; h != nil && h.Origin == OnDemand {
			h.LastUse = now
		}
	}
}

// Expire removes the hosts on demand that nobody has asked for during Policy.Expire, up to
// now, and returns them.
func (r *Registry) Expire(now time.Time) []Host {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settings.Expire <= 0 || r.demand == 0 {
		return nil
	}
	var gone []Host
	for _, h := range r.byID {
		if h.Origin == OnDemand && now.Sub(h.LastUse) >= r.settings.Expire {
			gone = append(gone, h.Host)
			r.remove(h)
		}
	}
	return gone
}

// Update puts new settings in force. Addresses are checked against the new policy at once.
// If the family changes, every name is looked up again.
func (r *Registry) Update(s Settings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s = s.normal()
	again := s.Family != r.settings.Family
	sooner := s.Refresh < r.settings.Refresh
	r.settings = s
	now := time.Now()
	for _, e := range r.names {
		switch {
		case again:
			r.forget(e, now)
		case sooner && e.host != nil && e.index >= 0 && e.known && e.err == nil:
			r.schedule(e, minTime(e.due, now.Add(r.jitter(s.Refresh))))
		}
	}
	for _, h := range r.byID {
		r.apply(h)
	}
	r.signal()
}

// Stats returns the state of the Registry as a whole.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{Hosts: len(r.byID), OnDemand: r.demand, Lookups: r.lookups, Failures: r.failures}
	for _, h := range r.byID {
		if h.State != Resolved {
			s.Without++
		}
	}
	return s
}
