package supply

import (
	"fmt"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// checkAlive reports whether the supplier's process lives; otherwise all of its goes.
func (p *Supply) checkAlive(s *Supplier) bool {
	if s.gone {
		return false
	}
	alive, err := s.r.Alive()
	if err == nil && alive {
		return true
	}
	state, _ := s.r.State()
	if state == layout.StateEnded {
		p.vanish(s, Ended, nil)
	} else {
		p.vanish(s, Died, err)
	}
	return false
}

// check looks whether a supplier still does its work. It reports whether it is there.
func (p *Supply) check(s *Supplier, now time.Time) bool {
	if s.gone {
		return false
	}
	state, err := s.r.State()
	if err == nil && state != layout.StateReady {
		p.vanish(s, Ended, nil)
		return false
	}
	if err == nil && !p.checkAlive(s) {
		return false
	}
	if err == nil {
		err = s.r.Whole()
	}
	if err == nil {
		err = p.checkStamp(s, now)
	}
	if err != nil {
		p.vanish(s, Damaged, err)
		return false
	}
	return true
}

// checkStamp looks at the time stamp. A stamp counts as new whenever it is another than
// before, whatever its value and the order of its bytes: a clock that is set, or a machine
// that slept, makes no supplier old. Only one that is seen for the first time is compared
// with the clock.
func (p *Supply) checkStamp(s *Supplier, now time.Time) error {
	stamp, err := s.r.StampWords()
	if err != nil {
		return err
	}
	if first := s.stampAt.IsZero(); first || stamp != s.stamp {
		s.stamp, s.stampAt = stamp, now
		if old, known := stamp.Before(now.Round(0), 24*time.Hour); first && known {
			s.stampAt = now.Add(-old)
		}
	}
	timeout := p.Conf.Timeout
	old := timeout > 0 && now.Sub(s.stampAt) > timeout
	switch {
	case old && !s.stale:
		return p.retire(s, now)
	case !old && s.stale:
		return p.returned(s)
	}
	return nil
}

// retire tells a supplier to go away, and takes its contexts away.
func (p *Supply) retire(s *Supplier, now time.Time) error {
	s.stale = true
	p.unload(s)
	p.Counts.Stale++
	s.source.Stale(fmt.Sprintf("no new time stamp for %v", now.Sub(s.stampAt).Round(time.Second)))
	return p.sendAway(s)
}

// returned takes a supplier in again that has come to life, and has itself withdrawn
// what it was told.
func (p *Supply) returned(s *Supplier) error {
	away, err := p.sentAway(s)
	if err != nil || away || s.leaves {
		return err
	}
	s.stale = false
	s.r.Rewind()
	s.source.Back()
	return nil
}

// vanish takes a supplier away. What it left behind is removed, unless it still runs.
func (p *Supply) vanish(s *Supplier, state State, why error) {
	if s.gone {
		return
	}
	s.gone = true
	if !s.stale {
		p.unload(s)
	}
	switch state {
	case Died:
		p.Counts.Died++
		p.remove(s.File)
	case Damaged:
		p.Counts.Damaged++
		if p.dir != nil {
			p.refused[s.File] = refusal{why: wasOpen, mark: p.dir.Look(s.File).Mark, pass: p.list.pass}
		}
	}
	s.source.Left(state, why)
	s.r.Close()
	delete(p.suppliers, s.File)
	s.User.Suppliers--
	s.User.Bytes -= s.bytes
	p.Users.Release(s.User, s.r.Memory())
	if i := slices.Index(p.order, s); i >= 0 {
		p.order = slices.Delete(slices.Clone(p.order), i, i+1)
	}
	if s.leaves {
		p.leaving = append(p.leaving, s)
	} else {
		p.Users.Settle(s.User)
	}
}

// unload begins to give up what a supplier had. The rest follows with the next looks, if
// there is more than the time allows.
func (p *Supply) unload(s *Supplier) {
	s.leaves = true
	p.takenIn(s)
	for done := false; !done && !p.due(); {
		done, _ = p.step(s)
	}
}
