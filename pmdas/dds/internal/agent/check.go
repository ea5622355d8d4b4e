package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// checkAlive reports whether the supplier's process lives; otherwise all of its goes.
func (a *Agent) checkAlive(s *supplier) bool {
	if s.gone {
		return false
	}
	alive, err := s.r.Alive()
	if err == nil && alive {
		return true
	}
	state, _ := s.r.State()
	if state == layout.StateEnded {
		a.vanish(s, stateEnded, nil)
	} else {
		a.vanish(s, stateDied, err)
	}
	return false
}

// check looks whether a supplier still does its work. It reports whether it is there.
func (a *Agent) check(s *supplier, now time.Time) bool {
	if s.gone {
		return false
	}
	state, err := s.r.State()
	if err == nil && state != layout.StateReady {
		a.vanish(s, stateEnded, nil)
		return false
	}
	if err == nil && !a.checkAlive(s) {
		return false
	}
	if err == nil {
		err = s.r.Whole()
	}
	if err == nil {
		err = s.checkStamp(now)
	}
	if err != nil {
		a.vanish(s, stateDamaged, err)
		return false
	}
	return true
}

// checkStamp looks at the time stamp. A clock that is set, or a machine that slept,
// makes no supplier old: a stamp counts as new whenever it is another than before. Only
// one that is seen for the first time is compared with the clock.
func (s *supplier) checkStamp(now time.Time) error {
	stamp, err := s.r.Stamp()
	if err != nil {
		return err
	}
	if s.stampAt.IsZero() || !stamp.Equal(s.stamp) {
		first := s.stampAt.IsZero()
		s.stamp, s.stampAt = stamp, now
		if old := now.Round(0).Sub(stamp); first && !stamp.IsZero() && old > 0 && old < 24*time.Hour {
			s.stampAt = now.Add(-old)
		}
	}
	timeout := s.agent.conf.Timeout
	old := timeout > 0 && now.Sub(s.stampAt) > timeout
	switch {
	case old && !s.stale:
		return s.retire(now)
	case !old && s.stale:
		return s.returned()
	}
	return nil
}

// retire tells a supplier to go away, and takes its contexts away.
func (s *supplier) retire(now time.Time) error {
	s.stale = true
	s.unload()
	s.agent.demand.forget(s)
	s.row.state = stateStale
	s.row.reason = fmt.Sprintf("no new time stamp for %v", now.Sub(s.stampAt).Round(time.Second))
	s.agent.counts.stale++
	s.agent.complain("supplier %s: %s: told to go away", s.row.title, s.row.reason)
	if s.agent.trying {
		return nil
	}
	return s.r.SetGoAway()
}

// returned takes a supplier in again that has come to life, and has itself withdrawn
// what it was told.
func (s *supplier) returned() error {
	away, err := s.r.GoAway()
	if err != nil || away {
		return err
	}
	s.stale = false
	s.row.state, s.row.reason = stateReady, ""
	s.r.Rewind()
	s.note(1)
	s.agent.complain("supplier %s: is back", s.row.title)
	return s.load()
}

// vanish takes a supplier away. What it left behind is removed, unless it still runs.
func (a *Agent) vanish(s *supplier, state string, why error) {
	if s.gone {
		return
	}
	s.gone = true
	if !s.stale {
		s.unload()
	}
	s.row.leave(state, why, a.now())
	switch state {
	case stateDied:
		a.counts.died++
		a.remove(s.file)
	case stateDamaged:
		a.counts.damaged++
		if a.dir != nil {
			a.refused[s.file] = refusal{why: wasOpen, mark: a.dir.Look(s.file).Mark, pass: a.list.pass}
		}
	}
	if state != stateEnded {
		a.complain("supplier %s: %s", s.row.title, s.row.why())
	}
	s.r.Close()
	delete(a.suppliers, s.file)
	s.user.suppliers--
	s.user.bytes -= s.bytes
	if i := slices.Index(a.order, s); i >= 0 {
		a.order = slices.Delete(slices.Clone(a.order), i, i+1)
	}
	a.demand.forget(s)
}

// sweep deals with what getting values has found, and gives those a turn that waited
// for a name to become free.
func (a *Agent) sweep() {
	for _, s := range a.tree.broken {
		a.vanish(s, stateDamaged, s.row.fault)
	}
	a.tree.broken = a.tree.broken[:0]
	a.tree.retry()
}
