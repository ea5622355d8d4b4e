package probe

import (
	"context"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Settings say how to probe. New and Update replace a value that is out of range by the
// nearest one that is not. A request counts as lost after Timeout, or when 64 more have
// gone to its host if that is earlier.
type Settings struct {
	Interval time.Duration // one request per host; at least 10 ms, 0 means 10 s
	MaxRate  float64       // packets per second over all hosts; 0 means 10
	Weight   float64       // percent of the previous average that stays; 0 to 100
	Timeout  time.Duration // after which a request counts as lost; 0 means 3 s
	Window   time.Duration // of WindowStats, up to an hour; 0 means 60 s
	Idle     time.Duration // probing pauses this long after the last Wake; 0 means never
}

// The longest window and timeout that a sample has room for.
const (
	maxWindow  = time.Hour
	maxTimeout = 10 * time.Minute
)

func (s Settings) normal() Settings {
	s.Interval = orDefault(s.Interval, 10*time.Second)
	s.Interval = max(s.Interval, 10*time.Millisecond)
	s.Timeout = min(orDefault(s.Timeout, 3*time.Second), maxTimeout)
	s.Window = min(orDefault(s.Window, time.Minute), maxWindow)
	if !(s.MaxRate > 0) {
		s.MaxRate = 10
	}
	if !(s.Weight >= 0) {
		s.Weight = 0
	}
	s.Weight = min(s.Weight, 100)
	return s
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}

// Prober sends one echo request per host and interval, spread evenly over the
// interval and never faster than the rate allows, and accounts for the answers.
// Its methods may be called from any goroutine; none waits for the network. mu is
// not held while the engine works.
type Prober struct {
	engine Engine // Run's alone
	start  time.Time
	alarm  Alarm // wakes Run when it is time, or when its plans have changed

	demand atomic.Int64 // when Wake was last called, since start
	idle   atomic.Bool  // paused because nobody asks; written under mu

	mu        sync.Mutex // guards all below
	settings  Settings
	hosts     map[uint32]*host
	cycle     cycle
	pace      pacer
	flights   flights
	resumed   time.Duration // what was known before no longer holds
	polled    time.Duration // when the engine was last polled
	lateUntil time.Duration // replies to requests that timed out are looked for until then
	seqBase   uint32        // the first request number of hosts added from now on
	stats     Stats

	// Run's buffers, used without mu.
	events []Event
	batch  []flight
}

// New returns a Prober on engine, which stays the caller's to close after Run has
// returned.
func New(engine Engine, s Settings) *Prober {
	alarm, err := NewAlarm()
	if err != nil { // no descriptor is left; Go's timers cost more
		alarm = newTimerAlarm()
	}
	return newProber(engine, s, alarm)
}

func newProber(engine Engine, s Settings, alarm Alarm) *Prober {
	p := &Prober{
		engine: engine,
		start:  time.Now(),
		alarm:  alarm,
		hosts:  make(map[uint32]*host),
	}
	p.settings = s.normal()
	p.pace.set(p.settings.Interval, p.settings.MaxRate)
	p.pace.restart()
	return p
}

// now is the time since the Prober's start, on the monotonic clock: setting the
// wall clock does not move it.
func (p *Prober) now() time.Duration { return time.Since(p.start) }

// signal makes Run look at its plans again.
func (p *Prober) signal() { p.alarm.Wake() }

// Add adds a host with counters at zero; its first turn is the next one. If addr is
// not valid, the host is not probed until SetAddr gives it one. A host that has the
// id already is replaced.
func (p *Prober) Add(id uint32, addr netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(id, addr)
}

// add is Add; mu is held.
func (p *Prober) add(id uint32, addr netip.Addr) {
	p.remove(id)
	h := &host{id: id, addr: addr, first: p.seqBase, seq: p.seqBase}
	p.hosts[id] = h
	if addr.IsValid() {
		p.link(h)
	}
}

// SetAddr changes the address of a host, or takes it away if addr is not valid.
// Counters go on; what was known of the old address (up, latest time) is dropped.
// Requests in flight are still accounted for. It returns false for an unknown id.
func (p *Prober) SetAddr(id uint32, addr netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[id]
	if h == nil {
		return false
	}
	if h.addr == addr {
		return true
	}
	was := h.addr.IsValid()
	h.addr = addr
	h.forget()
	switch {
	case was && !addr.IsValid():
		p.cycle.unlink(h)
	case !was && addr.IsValid():
		p.link(h)
	}
	return true
}

// Remove forgets a host and its requests in flight. Answers to them count as
// Stats.Unmatched, even if the id is added again. It returns false for an unknown id.
func (p *Prober) Remove(id uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.remove(id)
}

func (p *Prober) remove(id uint32) bool {
	h := p.hosts[id]
	if h == nil {
		return false
	}
	delete(p.hosts, id)
	if h.addr.IsValid() {
		p.cycle.unlink(h)
	}
	p.stats.InFlight -= h.inFlight()
	h.pending = 0
	// A number that this host has used must not come back with its id.
	if int32(h.seq-p.seqBase) >= 0 {
		p.seqBase = h.seq + 1
	}
	return true
}

func (p *Prober) link(h *host) {
	if p.cycle.n == 0 {
		p.pace.restart()
	}
	p.cycle.link(h)
	p.signal()
}

// Update puts new settings in force at once.
func (p *Prober) Update(s Settings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = s.normal()
	p.pace.set(p.settings.Interval, p.settings.MaxRate)
	if p.settings.Idle <= 0 && p.idle.Load() {
		p.idle.Store(false)
		p.resume()
	}
	p.signal()
}

// Settings returns the settings in force.
func (p *Prober) Settings() Settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// Wake says that a client has asked for a value: probing goes on, or resumes, for another
// Settings.Idle. It is cheap enough for every fetch.
func (p *Prober) Wake() {
	p.demand.Store(int64(p.now()))
	if !p.idle.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle.Load() {
		p.idle.Store(false)
		p.resume()
	}
}

// resume starts a new cycle. Values from before the pause no longer count as the present
// state.
func (p *Prober) resume() {
	now := p.now()
	p.resumed = now
	p.pace.restart()
	p.signal()
}

// Run probes until ctx ends. Call it once. It alone uses the engine.
func (p *Prober) Run(ctx context.Context) {
	defer p.alarm.Close()
	defer context.AfterFunc(ctx, p.alarm.Wake)()
	for ctx.Err() == nil && p.alarm.Sleep(p.step()) {
	}
}

const forever = math.MaxInt64 / 4
