package supply

import "time"

// SetTimeout sets after which time without a new stamp a supplier counts as dead, 0 for
// never, until the supplier ends.
func (p *Supply) SetTimeout(s *Supplier, timeout time.Duration) {
	s.timeout, s.timeoutSet = timeout, true
}

// SendAway tells a supplier to go away, and takes its contexts away, although it is alive.
func (p *Supply) SendAway(s *Supplier, why string) {
	s.dismissed = true
	if !s.stale && !s.gone {
		p.dismiss(s, p.Now(), why)
	}
}

// CallBack takes that back. A supplier that is alive is taken in again with the next Tick.
func (p *Supply) CallBack(s *Supplier) { s.dismissed = false }
