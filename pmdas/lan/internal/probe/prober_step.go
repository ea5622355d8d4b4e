package probe

import "time"

const (
	// pollEvery is how often answers are fetched while any is awaited. A poll waits
	// up to half as long again for a request that is due, and the last request before
	// a poll takes it along if half the time is over, so that they share wake-ups.
	pollEvery = 100 * time.Millisecond
	pollSlack = pollEvery / 2

	// A reply may still come after its request has timed out. For lateTime, answers are
	// fetched every lateEvery even if there is nothing else to do; after that only together
	// with other work.
	lateEvery = time.Second
	lateTime  = 10 * time.Second
)

// step does what is due and returns the time until something else is.
func (p *Prober) step() time.Duration {
	if p.pollDue(p.now()) {
		p.poll()
	}
	p.choose(p.now())
	if len(p.batch) > 0 {
		p.send()
	}
	return p.sleep()
}

// pollDue says whether to poll now: on time if answers are awaited, early if there
// is a request to be sent anyway.
func (p *Prober) pollDue(now time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := now - p.polled
	if p.stats.InFlight > 0 && since >= pollEvery || now < p.lateUntil && since >= lateEvery {
		return true
	}
	if since < pollSlack || !p.active() || p.pace.due(p.cycle.n) > now {
		return false
	}
	return since+p.pace.gap(p.cycle.n) >= pollEvery
}

// active says whether requests are being sent.
func (p *Prober) active() bool { return p.cycle.n > 0 && !p.idle.Load() }

// poll fetches what has arrived, accounts for it, and then counts what has expired. It
// takes the time first, so that a reply which had arrived by then does not count as lost,
// however late this goroutine runs.
func (p *Prober) poll() {
	now := p.now()
	p.events = p.engine.Poll(p.events[:0])
	strays, drops := p.engine.Strays(), p.engine.Drops()

	p.mu.Lock()
	defer p.mu.Unlock()
	p.polled = now
	p.stats.Strays, p.stats.Drops = strays, drops
	for i := range p.events {
		p.account(&p.events[i], now)
	}
	p.expire(now)
}

func (p *Prober) account(ev *Event, now time.Duration) {
	h := p.hosts[uint32(ev.Token>>32)]
	if h == nil {
		p.stats.Unmatched++
		return
	}
	var ended, ours bool
	if ev.Kind == Reply {
		at := now
		if !ev.At.IsZero() {
			at = ev.At.Sub(p.start)
		}
		ended, ours = h.answer(ev, at, now, &p.settings)
	} else {
		ended, ours = h.fail(ev, now, &p.settings)
	}
	if ended {
		p.stats.InFlight--
	}
	if !ours {
		p.stats.Unmatched++
	}
}

func (p *Prober) expire(now time.Duration) {
	for f := p.flights.first(); f != nil; f = p.flights.first() {
		if now-f.sent < p.settings.Timeout {
			return
		}
		f.h.timeout(f.seq, now, p.settings.Window)
		p.stats.InFlight--
		p.flights.pop()
		p.lateUntil = now + lateTime
	}
}

// choose takes the turns that are due and makes p.batch of them.
func (p *Prober) choose(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.batch = p.batch[:0]
	if !p.active() {
		return
	}
	// A batch has no host twice. In a circle of few hosts that could happen.
	for len(p.batch) < p.cycle.n && p.pace.due(p.cycle.n) <= now {
		if p.fallIdle(now) {
			return
		}
		p.pace.take(now, p.cycle.n)
		h, length := p.cycle.turn(now)
		p.noteCycle(length)
		if h.advance(now, p.settings.Window) {
			p.stats.InFlight--
		}
		p.batch = append(p.batch, flight{h: h, seq: h.seq - 1})
	}
}

// fallIdle pauses if nobody has asked for long enough. Wake stores the demand and
// then reads idle; this writes idle and then reads the demand again: one of the two
// sees the other.
func (p *Prober) fallIdle(now time.Duration) bool {
	if !p.unwanted(now) {
		return false
	}
	p.idle.Store(true)
	if !p.unwanted(now) {
		p.idle.Store(false)
		return false
	}
	p.cycle.stop()
	return true
}

func (p *Prober) unwanted(now time.Duration) bool {
	idle := p.settings.Idle
	return idle > 0 && now-time.Duration(p.demand.Load()) >= idle
}

func (p *Prober) noteCycle(length time.Duration) {
	if length == 0 {
		return
	}
	p.stats.Cycles++
	p.stats.LastCycle = length
	if length > p.settings.Interval+p.settings.Interval/20 {
		p.stats.Overruns++
	}
}

// send sends the batch. The addresses are read under the lock and the engine is
// called without it, so a snapshot never waits for the kernel.
func (p *Prober) send() {
	for i := range p.batch {
		f := &p.batch[i]
		p.mu.Lock()
		addr := f.h.addr
		gone := p.hosts[f.h.id] != f.h || !addr.IsValid()
		p.mu.Unlock()
		if gone {
			f.h = nil
			continue
		}
		f.err = p.engine.Send(addr, token(f.h.id, f.seq))
		f.sent = p.now()
	}
	p.commit()
}

// commit accounts for the batch after it has been sent.
func (p *Prober) commit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.batch {
		f := &p.batch[i]
		if f.h == nil {
			continue
		}
		if f.err == nil {
			p.stats.Sent++
		}
		p.pace.departed(f.sent)
		if p.hosts[f.h.id] != f.h {
			continue
		}
		if f.err != nil {
			f.h.sendFailed(f.err, f.sent)
			p.stats.SendErrors++
			p.stats.LastError, p.stats.LastFailed = f.err, f.h.id
			continue
		}
		f.h.sent()
		p.stats.InFlight++
		p.flights.push(*f)
	}
	clear(p.batch)
}

// sleep returns how long Run may sleep.
func (p *Prober) sleep() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	next := time.Duration(forever)
	if p.active() {
		next = p.pace.due(p.cycle.n)
		if rest := p.pace.rest(p.cycle.n); rest > 0 {
			next = max(next, now+rest)
		}
	}
	if p.stats.InFlight > 0 && next > p.polled+pollEvery+pollSlack {
		next = min(next, p.polled+pollEvery)
	}
	if now < p.lateUntil {
		next = min(next, p.polled+lateEvery)
	}
	return max(next-now, 0)
}
