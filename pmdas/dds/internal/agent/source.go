package agent

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
)

// source is what the tree knows of one supplier.
type source struct {
	tree   *tree
	sup    *supply.Supplier
	reader *reader.Reader
	name   string // made printable
	user   *account.User
	row    *row
	fixed  []*live
	next   int          // the next fixed context to export
	noted  map[int]bool // fixed contexts and templates that it may have, by index
	slots  []*live      // volatile contexts by slot; nil where there is none
	kinds  []kind       // of the templates, by index
	forms  map[formKey]*form
	values int
	count  int // contexts exported

	touched uint64 // the last fetch that asked for values
	asked   int    // how many values of this supplier it asked for
}

// Opened gives a supplier a row among the others and notes its fixed contexts. If several
// suppliers come together, the fixed contexts of all are known before the first is taken in.
// So it does not matter which of them has volatile contexts below another's fixed ones.
func (t *tree) Opened(sup *supply.Supplier) supply.Source {
	s := &source{tree: t, sup: sup, reader: sup.Reader(), name: nameOr(sup.Info().Name, "unnamed"), user: sup.User,
		noted: make(map[int]bool), forms: make(map[formKey]*form)}
	s.kinds = kindsOf(sup.Contexts())
	s.row = t.roster.enter(s)
	t.complain(s.user.UID, "supplier %s: %s of %s, process %d", s.row.title, sup.File, s.user.Name, sup.Info().PID)
	t.sources = append(t.sources, s)
	s.note()
	return s
}

// Load exports about n more of the fixed contexts.
func (s *source) Load(n int) bool {
	list := s.sup.Contexts()
	for ; s.next < len(list) && n > 0; s.next++ {
		c := &list[s.next]
		if c.Template || len(c.Stats) == 0 {
			continue
		}
		l := &live{src: s, c: c}
		s.fixed = append(s.fixed, l)
		s.tree.add(l)
		n -= len(c.Stats)
	}
	return s.next == len(list)
}

// Unload gives up about n more of the contexts. All their paths become free at once.
func (s *source) Unload(n int) bool {
	s.tree.sources = slices.DeleteFunc(s.tree.sources, func(o *source) bool { return o == s })
	s.unnote(func(string) bool { return true })
	s.tree.left, s.next = true, 0
	for last := len(s.slots) - 1; last >= 0; last-- {
		if s.slots[last] != nil {
			if n--; n < 0 {
				return false
			}
			s.Gone(uint32(last))
		}
		s.slots = s.slots[:last]
	}
	for len(s.fixed) > 0 {
		l := s.fixed[len(s.fixed)-1]
		s.fixed = s.fixed[:len(s.fixed)-1]
		s.tree.drop(l)
		if n -= len(l.c.Stats); n <= 0 {
			return false
		}
	}
	for key, f := range s.forms {
		s.tree.hold(f, key.group, -1)
	}
	s.slots, s.fixed, s.forms = nil, nil, make(map[formKey]*form)
	return true
}

// Gone takes away a volatile context that is gone.
func (s *source) Gone(slot uint32) {
	if int(slot) >= len(s.slots) {
		return
	}
	if l := s.slots[slot]; l != nil {
		s.slots[slot] = nil
		s.tree.drop(l)
		s.tree.users.Release(s.user, l.memory())
	}
}

// Came takes in a volatile context.
func (s *source) Came(slot uint32, c *reader.Context, err error) {
	if err != nil {
		s.fault("slot "+strconv.FormatUint(uint64(slot), 10), err)
		return
	}
	l := &live{src: s, c: c}
	if err := s.tree.users.Hold(s.user, l.memory()); err != nil {
		s.fault(c.Path, err)
		return
	}
	if n := int(slot) + 1 - len(s.slots); n > 0 {
		s.slots = append(s.slots, make([]*live, n)...)
	}
	s.slots[slot] = l
	s.tree.add(l)
}

// memory returns about how many bytes the agent holds for a volatile context. It leaves out
// the names, which are kept for ever.
func (l *live) memory() int64 {
	const each, value = 640, 10
	n := each + len(l.c.Path) + len(l.c.Descr) + value*len(l.c.Stats) + len(l.c.Help) + len(l.c.Labels)
	for i := range l.c.Stats {
		if s := &l.c.Stats[i]; s.Field().Op == reader.OpText {
			n += s.Size
		}
	}
	return int64(n)
}

// Stale notes that the supplier was told to go away.
func (s *source) Stale(reason string) {
	s.tree.demand.forget(s.sup)
	s.row.state, s.row.reason = supply.Stale, reason
	s.tree.complain(s.user.UID, "supplier %s: %s: told to go away", s.row.title, reason)
}

// Back notes that the supplier sets time stamps again.
func (s *source) Back() {
	s.row.state, s.row.reason = supply.Ready, ""
	s.tree.sources = append(s.tree.sources, s)
	s.note()
	s.tree.complain(s.user.UID, "supplier %s: is back", s.row.title)
}

// Left notes that the supplier is gone.
func (s *source) Left(state supply.State, why error) {
	s.tree.demand.forget(s.sup)
	s.row.leave(state, why, s.tree.now())
	if state != supply.Ended {
		s.tree.complain(s.user.UID, "supplier %s: %s", s.row.title, s.row.why())
	}
}

// second notes that a statistic is shown under its second name.
func (s *source) second(what, name string) {
	s.row.reason = what + " is " + name + ", because another supplier that is running has a different statistic of that name"
	s.tree.complain(s.user.UID, "supplier %s: %s", s.row.title, s.row.reason)
}

// fault notes something of the supplier that is not exported.
func (s *source) fault(what string, err error) {
	s.row.errors++
	s.row.reason = fmt.Sprintf("%s: %v", what, err)
	s.tree.complain(s.user.UID, "supplier %s: %s", s.row.title, s.row.reason)
}
