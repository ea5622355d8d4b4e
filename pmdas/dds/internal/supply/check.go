package supply

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// checkAlive reports whether the supplier's process lives. If it does not, the supplier goes
// with all that it had.
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

// check reports whether a supplier is still there and still does its work.
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

// checkStamp looks at the time stamp. A stamp is new if it differs from the one before,
// whatever its value and the order of its bytes. So no supplier becomes stale because a clock
// was set or because the machine slept. Only the first stamp that the agent sees is compared
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
	timeout := p.Timeout(s)
	old := timeout > 0 && now.Sub(s.stampAt) > timeout
	switch {
	case old && !s.stale:
		p.dismiss(s, now, fmt.Sprintf("no new time stamp for %v", now.Sub(s.stampAt).Round(time.Second)))
	case !old && s.stale && !s.dismissed:
		p.returned(s)
	}
	return nil
}

// dismiss tells a supplier to go away, and takes its contexts away.
func (p *Supply) dismiss(s *Supplier, now time.Time, why string) {
	s.stale = true
	p.unload(s)
	p.Counts.Stale++
	s.source.Stale(why)
	s.sentAway = now
	p.notify(s)
}

// returned takes a supplier in again once it sets time stamps again, and clears its notice.
// It does not matter what the supplier did with the notice.
func (p *Supply) returned(s *Supplier) {
	if s.leaves {
		return
	}
	s.stale, s.sentAway = false, time.Time{}
	p.notify(s)
	s.r.Rewind()
	s.source.Back()
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
	p.dropNotice(s.File)
	delete(p.suppliers, s.File)
	p.findTimeouts(s)
	s.User.Suppliers--
	s.User.Bytes -= s.bytes
	p.Users.Release(s.User, s.r.Memory())
	if i := slices.Index(p.order, s); i >= 0 {
		p.order = slices.Delete(slices.Clone(p.order), i, i+1)
	}
	if s.leaves {
		p.leaving = append(p.leaving, s)
	} else {
		p.Users.Forget(s.User)
	}
}

// unload begins to give up what a supplier had. If there is more than the time allows, the
// next looks give up the rest.
func (p *Supply) unload(s *Supplier) {
	s.leaves = true
	p.takenIn(s)
	for done := false; !done && !p.due(); {
		done, _ = p.step(s)
	}
}

// Timeout returns how long a supplier may go without a new stamp before it counts as stale; 0
// is for ever. A time-out that SetTimeout has set holds. Otherwise the largest of these
// holds: that of the configuration, what programs of the supplier's user ask for, and what
// programs of root and of the agent's own user ask for. Other users have no influence.
func (p *Supply) Timeout(s *Supplier) time.Duration {
	if s.timeoutSet {
		return s.timeout
	}
	t := p.Conf.Timeout
	for _, uid := range []uint32{0, uint32(os.Geteuid()), s.User.UID} {
		asked := p.timeouts[uid]
		if t == 0 || asked < 0 {
			return 0
		}
		t = max(t, asked)
	}
	return t
}

// findTimeouts finds out what the programs of a supplier's user ask for. It is called when
// the supplier has come or gone.
func (p *Supply) findTimeouts(s *Supplier) {
	uid := s.User.UID
	if s.Info().TimeOut == 0 {
		return
	}
	delete(p.timeouts, uid)
	for _, other := range p.suppliers {
		asked := other.Info().TimeOut
		if other.User.UID != uid || asked == 0 || p.timeouts[uid] < 0 {
			continue
		}
		if p.timeouts[uid] = max(p.timeouts[uid], asked); asked < 0 {
			p.timeouts[uid] = asked
		}
	}
}
