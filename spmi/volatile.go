package spmi

import (
	"reflect"
	"runtime"

	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
)

// Add publishes a volatile context. Its statistics must be those of one in Options.Volatile:
// the same names and types in the same order. The cost does not depend on how many contexts
// there are. Values begin at 0. A vendor's context may be volatile, too, if it has no
// statistics.
//
// Errors: ErrBadArgument if no such kind was declared or a declaration is wrong, ErrDuplicate
// if the path or the ASN.1 number is taken or the context is live, ErrInvalidCx if there is no
// context above it, ErrNoMemory if there is no room, ErrNotInit after Close. After an error
// nothing has changed.
func (s *Supplier) Add(c *Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := full(s.vendor, c.Path)
	if s.closed {
		return fail(CodeNotInit, path, "")
	}
	k, err := s.kind(c)
	if err != nil {
		return err
	}
	if err := c.check(path, k, true); err != nil {
		return err
	}
	if a := c.area.Load(); a != nil && !a.isGone() {
		return fail(CodeDuplicate, path, "the context is live already")
	}
	if _, err := s.tree.add(path, c, k, true); err != nil {
		return err
	}
	a, err := s.place(path, c, k)
	if err != nil {
		s.tree.remove(path, c.ASN)
		return err
	}
	k.bind(c, a)
	c.area.Store(a)
	return nil
}

// kind finds the declaration that a context belongs to.
func (s *Supplier) kind(c *Context) (*kind, error) {
	if len(c.Stats) == 0 && c.Values != nil {
		if reflect.ValueOf(c.Values).Kind() == reflect.Pointer && reflect.ValueOf(c.Values).IsNil() {
			return nil, fail(CodeBadArgument, c.Path, "Values is nil")
		}
		if k := s.types[reflect.TypeOf(c.Values)]; k != nil {
			return k, nil
		}
	}
	k, err := kindOf(c)
	if err != nil {
		return nil, err
	}
	declared := s.kinds[k.signature()]
	if declared == nil {
		return nil, fail(CodeBadArgument, c.Path, "no volatile context with these statistics was declared: add one to Options.Volatile")
	}
	// The fields are those of this context's struct.
	k.decls, k.template = declared.decls, declared.template
	return k, nil
}

// place gives the context an area, and claims its path if others could have it too.
func (s *Supplier) place(path string, c *Context, k *kind) (*area, error) {
	w := s.now.Load().w
	a := s.private(0)
	if w == nil {
		a.words = make([]uint64, len(k.decls))
		return a, nil
	}
	if s.tree.claims(path) {
		if err := w.Claim(path); err != nil {
			return nil, claimError(err)
		}
		a.claimed = path
	}
	slot, err := w.Add(k.template, decl(path, c, &kind{}, false))
	if err != nil {
		if a.claimed != "" {
			w.Release(path)
		}
		return nil, claimError(err)
	}
	a.slot, a.words, a.update = slot, slot.Words, slot.Update
	// A handle may be in use while its context is removed. Only the garbage collector knows
	// when the last one is gone.
	a.freeLater(w)
	return a, nil
}

func (a *area) freeLater(w *writer.Writer) {
	runtime.AddCleanup(a, func(f freeing) { f.w.Free(f.slot) }, freeing{w, a.slot})
}

type freeing struct {
	w    *writer.Writer
	slot *writer.Slot
}

// Remove withdraws a volatile context. Its handles may still be used, but nobody sees what
// they store. The context may be added again.
//
// Errors: ErrDeleted if it is not live, ErrInstBusy if contexts of this supplier lie below it,
// ErrBadArgument if it is fixed or another supplier's, ErrNotInit after Close.
func (s *Supplier) Remove(c *Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := full(s.vendor, c.Path)
	if s.closed {
		return fail(CodeNotInit, path, "")
	}
	a := c.area.Load()
	if a == nil || a.isGone() {
		return fail(CodeDeleted, path, "")
	}
	n := s.tree.nodes[path]
	if n == nil || n.ctx != c || !n.volatile {
		return fail(CodeBadArgument, path, "not a volatile context of this supplier")
	}
	if n.children > 0 {
		return fail(CodeInstBusy, path, "")
	}
	a.mu.Lock()
	a.gone = true
	a.mu.Unlock()
	s.tree.remove(path, c.ASN)
	if a.slot != nil {
		s.now.Load().w.Remove(a.slot)
	}
	if a.claimed != "" {
		s.now.Load().w.Release(a.claimed)
	}
	return nil
}
