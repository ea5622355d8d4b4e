package supply

import "time"

// Demand is what a supplier is told of the clients: how many of its values are being
// asked for, and the shortest interval at which one asks; zero where nobody does.
type Demand struct {
	Values   uint32
	Interval time.Duration
}

// Told returns what the supplier was last told.
func (s *Supplier) Told() Demand { return s.told }

// Tell tells a supplier of the demand, if it is news. The interval is rounded to whole
// milliseconds.
func (p *Supply) Tell(s *Supplier, d Demand) {
	d.Interval = d.Interval.Round(time.Millisecond)
	if s.told == d || s.gone || p.Trying {
		return
	}
	s.told = d
	if err := s.r.SetDemand(d.Values, d.Interval); err != nil {
		s.Break(err)
	}
}

// sendAway tells a supplier to go away.
func (p *Supply) sendAway(s *Supplier) error {
	if p.Trying {
		return nil
	}
	return s.r.SetGoAway()
}

// sentAway reports whether the supplier is still told so: it may withdraw that itself.
func (p *Supply) sentAway(s *Supplier) (bool, error) { return s.r.GoAway() }
