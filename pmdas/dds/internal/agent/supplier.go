package agent

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
)

// supplier is a program whose segment is open.
type supplier struct {
	agent  *Agent
	file   string
	r      *reader.Reader
	uid    uint32
	user   *account
	name   string // made printable
	row    *row
	fixed  []*live
	slots  map[uint32]*live
	forms  map[formKey]*form
	values int
	bytes  int64
	loaded bool // what it has is taken in
	stale  bool
	gone   bool

	stamp   time.Time // as last seen
	stampAt time.Time // when it was first seen so

	touched uint64 // the fetch that asked for values
	asked   int    // of which so many were this supplier's
	told    told
}

// account is what a user's suppliers use of what the limits grant.
type account struct {
	uid       uint32
	name      string
	suppliers int
	contexts  int
	values    int
	metrics   int
	rows      int
	bytes     int64
	domains   int // ever
	churn     bucket
	names     bucket
	numbers   bucket // of metrics
}

// bucket bounds what a user can cause: so much at once, and so much a second later on.
type bucket struct {
	left float64
	at   time.Time
}

// fill returns what is left at now.
func (b *bucket) fill(now time.Time, burst, rate float64) float64 {
	if b.at.IsZero() {
		b.left = burst
	} else {
		b.left = min(b.left+max(now.Sub(b.at).Seconds(), 0)*rate, burst)
	}
	b.at = now
	return b.left
}

// newNames returns how many new names a user may still have kept for ever.
func (a *Agent) newNames(u *account) float64 {
	n := float64(a.conf.Names)
	return u.names.fill(a.now(), n, n/86400)
}

// newMetrics returns how many new metrics a user may still have kept for ever: their
// numbers are far fewer than those of other names.
func (a *Agent) newMetrics(u *account) float64 {
	n := float64(a.conf.NewMetrics)
	return u.numbers.fill(a.now(), n, n/86400)
}

const (
	churnBurst = 400000 // changes of slots at once
	churnRate  = 20000  // and in each second thereafter
)

// Why a supplier or one of its contexts is refused.
var (
	errTaken  = errors.New("the name belongs to another supplier")
	errTyped  = errors.New("another supplier has a statistic of that name and another type")
	errNumber = errors.New("no number at present")
)

func overLimit(what string, n int) error {
	return fmt.Errorf("%w: more than %d %s of one user", reader.ErrLimit, n, what)
}

// look finds suppliers that came and went, and what they changed.
func (a *Agent) look() {
	a.watch()
	a.welcome()
	for i := 0; i < len(a.order); i++ {
		s := a.order[i]
		yes, err := s.r.Changed()
		if err == nil && yes && s.loaded {
			err = s.scan()
		}
		if err != nil {
			a.vanish(s, stateDamaged, err)
			i--
		}
	}
	// Each request pays for a few of the checks that otherwise come once a second.
	for range min(len(a.order), 4) {
		a.turn++
		if a.turn >= len(a.order) {
			a.turn = 0
		}
		if a.turn < len(a.order) {
			a.checkAlive(a.order[a.turn])
		}
	}
	a.sweep()
}

// load takes in all contexts.
func (s *supplier) load() error {
	s.loaded = true
	for i := range s.r.Contexts() {
		c := &s.r.Contexts()[i]
		if !c.Template {
			s.addFixed(c)
		}
	}
	return s.scan()
}

// unload gives all contexts up.
func (s *supplier) unload() {
	s.loaded = false
	for slot := range s.slots {
		s.Gone(slot)
	}
	for _, l := range s.fixed {
		s.agent.tree.drop(l)
	}
	s.fixed = nil
	s.note(-1)
}

// scan follows what changed in the slots.
func (s *supplier) scan() error {
	n, err := s.r.Scan(s, int(s.user.churn.fill(s.agent.now(), churnBurst, churnRate)))
	s.user.churn.left -= float64(n)
	if grown := s.r.Bytes() - s.bytes; grown > 0 {
		s.bytes += grown
		s.user.bytes += grown
	}
	if err == nil && s.user.bytes > s.agent.conf.Bytes {
		err = fmt.Errorf("%w: more than %d bytes of one user", reader.ErrLimit, s.agent.conf.Bytes)
	}
	return err
}

// Gone is told that a volatile context is gone.
func (s *supplier) Gone(slot uint32) {
	if l := s.slots[slot]; l != nil {
		delete(s.slots, slot)
		s.agent.tree.drop(l)
	}
}

// Came is told of a volatile context.
func (s *supplier) Came(slot uint32, c *reader.Context, err error) {
	if err != nil {
		s.fault("slot "+strconv.FormatUint(uint64(slot), 10), err)
		return
	}
	l := &live{tree: &s.agent.tree, sup: s, c: c}
	s.slots[slot] = l
	s.agent.tree.add(l)
}

func (s *supplier) addFixed(c *reader.Context) {
	if len(c.Stats) == 0 {
		return
	}
	l := &live{tree: &s.agent.tree, sup: s, c: c}
	s.fixed = append(s.fixed, l)
	s.agent.tree.add(l)
}

// fault notes something of the supplier's that is not exported.
func (s *supplier) fault(what string, err error) {
	s.row.errors++
	s.row.reason = fmt.Sprintf("%s: %v", what, err)
	s.agent.complain("supplier %s: %s", s.row.title, s.row.reason)
}
