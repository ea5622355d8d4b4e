package agent

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// source is what the tree has of one supplier.
type source struct {
	tree   *tree
	sup    *supply.Supplier
	reader *reader.Reader
	name   string // made printable
	user   *account.User
	row    *row
	fixed  []*live
	noted  map[int]bool // fixed contexts that it may have, by index
	slots  map[uint32]*live
	kinds  []kind // of the templates, by index
	forms  map[formKey]*form
	values int

	touched uint64 // the fetch that asked for values
	asked   int    // of which so many were this supplier's
}

// Opened gives a supplier a row among the others, and notes its fixed contexts: by the
// time that the first of several is taken in that came together, those of all are known,
// so that it does not matter whose volatile contexts are below fixed ones of others.
func (t *tree) Opened(sup *supply.Supplier) supply.Source {
	s := &source{tree: t, sup: sup, reader: sup.Reader(), name: nameOr(sup.Info().Name, "unnamed"), user: sup.User,
		slots: make(map[uint32]*live), noted: make(map[int]bool), forms: make(map[formKey]*form)}
	s.kinds = kindsOf(sup.Contexts())
	s.row = t.roster.enter(s)
	t.complain(s.user.UID, "supplier %s: %s of %s, process %d", s.row.title, sup.File, s.user.Name, sup.Info().PID)
	t.sources = append(t.sources, s)
	s.note()
	t.precede(s)
	return s
}

// Load exports the fixed contexts.
func (s *source) Load() {
	list := s.sup.Contexts()
	for i := range list {
		if c := &list[i]; !c.Template && len(c.Stats) > 0 {
			l := &live{src: s, c: c}
			s.fixed = append(s.fixed, l)
			s.tree.add(l)
		}
	}
}

// Unload gives all contexts up.
func (s *source) Unload() {
	for slot := range s.slots {
		s.Gone(slot)
	}
	for _, l := range s.fixed {
		s.tree.drop(l)
	}
	s.fixed = nil
	for key, f := range s.forms {
		s.tree.hold(f, key.group, -1)
	}
	clear(s.forms)
	s.unnote(func(string) bool { return true })
	s.tree.left = true
}

// Gone is told that a volatile context is gone.
func (s *source) Gone(slot uint32) {
	if l := s.slots[slot]; l != nil {
		delete(s.slots, slot)
		s.tree.drop(l)
	}
}

// Came is told of a volatile context.
func (s *source) Came(slot uint32, c *reader.Context, err error) {
	if err != nil {
		s.fault("slot "+strconv.FormatUint(uint64(slot), 10), err)
		return
	}
	l := &live{src: s, c: c}
	s.slots[slot] = l
	s.tree.add(l)
}

// Stale is told that the supplier's time stamp is too old.
func (s *source) Stale(reason string) {
	s.tree.demand.forget(s.sup)
	s.row.state, s.row.reason = supply.Stale, reason
	s.tree.complain(s.user.UID, "supplier %s: %s: told to go away", s.row.title, reason)
}

// Back is told that it is new again.
func (s *source) Back() {
	s.row.state, s.row.reason = supply.Ready, ""
	s.note()
	s.tree.precede(s)
	s.tree.complain(s.user.UID, "supplier %s: is back", s.row.title)
}

// Left is told that the supplier is gone.
func (s *source) Left(state supply.State, why error) {
	s.tree.demand.forget(s.sup)
	s.tree.sources = slices.DeleteFunc(s.tree.sources, func(o *source) bool { return o == s })
	s.row.leave(state, why, s.tree.now())
	if state != supply.Ended {
		s.tree.complain(s.user.UID, "supplier %s: %s", s.row.title, s.row.why())
	}
}

// second notes that a statistic is shown, but under its second name.
func (s *source) second(what, name string) {
	s.row.reason = what + " is " + name + ", as another supplier that is there has the name with another statistic"
	s.tree.complain(s.user.UID, "supplier %s: %s", s.row.title, s.row.reason)
}

// fault notes something of the supplier's that is not exported.
func (s *source) fault(what string, err error) {
	s.row.errors++
	s.row.reason = fmt.Sprintf("%s: %v", what, err)
	s.tree.complain(s.user.UID, "supplier %s: %s", s.row.title, s.row.reason)
}
