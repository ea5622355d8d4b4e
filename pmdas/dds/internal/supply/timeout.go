package supply

import "time"

// SetTimeout sets how long a supplier may go without a new stamp before it counts as
// stale; 0 is for ever. It holds until the supplier ends.
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

// CallBack undoes SendAway. A supplier that is alive is taken in again with the next Tick.
func (p *Supply) CallBack(s *Supplier) { s.dismissed = false }
