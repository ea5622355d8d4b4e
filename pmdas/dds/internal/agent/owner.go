package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// Why a context is not exported for now. It is exported once the reason no longer holds.
var (
	errTaken = errors.New("the name belongs to another supplier")
	errBelow = errors.New("the context above it is another user's")
)

// waits reports whether a context may be exported later without a change of its own.
func waits(err error) bool {
	return errors.Is(err, errTaken) || errors.Is(err, errBelow) || err == naming.ErrNumber
}

// may returns nil if a user may supply a context. If the configuration reserves a path, only
// the users that it names may supply that path and paths below it. Nobody may add contexts
// below a fixed context of another user. Root and the PCP user may do both.
func (t *tree) may(u *account.User, path string) error {
	if u.First {
		return nil
	}
	for p := path; p != ""; p = layout.Parent(p) {
		for _, r := range t.conf.Reserve {
			switch {
			case r.Path != p:
			case slices.Contains(r.UIDs, u.UID):
				return nil
			default:
				return fmt.Errorf("%w: reserve in dds.conf keeps %s for others", errBelow, p)
			}
		}
	}
	for p := layout.Parent(path); !layout.Shared(p); p = layout.Parent(p) {
		if o := t.owners[p]; len(o) > 0 && o[0].user.UID != u.UID {
			return fmt.Errorf("%w: %s is %s's; reserve in dds.conf can let others in", errBelow, p, o[0].user.Name)
		}
	}
	return nil
}

// precedes reports whether the agent shows the contexts of one supplier in place of another's.
// Suppliers of root and of the PCP user precede all others. Otherwise the supplier that came
// first has a path. Among suppliers that are still being taken in, the one with the older file
// has it.
func precedes(s, other *source) bool {
	if s.user.First != other.user.First {
		return s.user.First
	}
	return s.sup.Fresh() && s.sup.Older(other.sup)
}

// own notes that a supplier has a fixed context. If several have it, the owner is the one with
// the oldest file; root and the PCP user come before others. own reports whether the context
// belonged to another user until now.
func (t *tree) own(s *source, path string) (took bool) {
	list := t.owners[path]
	i := slices.IndexFunc(list, func(o *source) bool {
		if s.user.First != o.user.First {
			return s.user.First
		}
		return s.sup.Older(o.sup)
	})
	if i < 0 {
		i = len(list)
	}
	took = i == 0 && len(list) > 0 && list[0].user != s.user
	t.owners[path] = slices.Insert(list, i, s)
	return took
}

// disown undoes own.
func (t *tree) disown(s *source, path string) {
	list := t.owners[path]
	if i := slices.Index(list, s); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if t.owners[path] = list; len(list) == 0 {
		delete(t.owners, path)
	}
}

// note enters the fixed contexts that the supplier may have. Other users lose the contexts
// below these that they may not supply any more.
func (s *source) note() {
	took := false
	list := s.sup.Contexts()
	for i := range list {
		c := &list[i]
		if s.noted[i] || s.tree.may(s.user, c.Path) != nil {
			continue
		}
		s.noted[i] = true
		if c.Template {
			s.tree.contexts.template(c, 1)
			continue
		}
		if err := s.tree.contexts.add(s, c); err != nil {
			s.fault(c.Path, err)
		}
		took = s.tree.own(s, c.Path) || s.user.First || took
		if s.tree.names.Fixed(c.Path, len(c.Stats) > 0, 1) {
			s.tree.reshape(c.Path)
		}
	}
	if took {
		s.tree.precede(s)
	}
}

// unnote withdraws the fixed contexts for whose paths gone returns true.
func (s *source) unnote(gone func(path string) bool) {
	list := s.sup.Contexts()
	for i := range list {
		c := &list[i]
		if !s.noted[i] || !gone(c.Path) {
			continue
		}
		delete(s.noted, i)
		if c.Template {
			s.tree.contexts.template(c, -1)
			continue
		}
		s.tree.contexts.drop(s, c)
		s.tree.disown(s, c.Path)
		if s.tree.names.Fixed(c.Path, len(c.Stats) > 0, -1) {
			s.tree.reshape(c.Path)
		}
	}
}

// precede takes contexts from others that are below the contexts of a supplier that precedes
// them.
func (t *tree) precede(s *source) {
	below := func(path string) bool {
		for p := layout.Parent(path); !layout.Shared(p); p = layout.Parent(p) {
			if slices.Contains(t.owners[p], s) {
				return true
			}
		}
		return false
	}
	var out []*live
	for path, l := range t.paths {
		if !l.src.user.First && below(path) && t.may(l.src.user, path) != nil {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(x, y *live) int { return strings.Compare(x.c.Path, y.c.Path) })
	for _, l := range out {
		t.displace(l, t.may(l.src.user, l.c.Path))
	}
	for _, o := range t.sources {
		if !o.user.First {
			o.unnote(func(path string) bool { return t.may(o.user, path) != nil })
		}
	}
}

// displace takes a context away because another supplier precedes this one. The context then
// waits.
func (t *tree) displace(l *live, why error) {
	t.drop(l)
	t.waiting[l.c.Path] = append(t.waiting[l.c.Path], l)
	l.src.fault(l.c.Path, why)
}

// recheck tries again to export contexts below those of another user. That user may have gone.
func (t *tree) recheck() {
	if !t.left {
		return
	}
	t.left = false
	for _, s := range t.sources {
		s.note()
	}
	for path := range t.waiting {
		t.freed = append(t.freed, path)
	}
}
