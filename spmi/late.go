package spmi

import (
	"errors"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
)

// If a supplier cannot be published when it is opened, its handles store into private
// memory, and so do all copies of these handles. When it is published later, the handles
// go on using that memory, and its values are copied to the segment.

const (
	everySecond = time.Second
	copyEvery   = 10 * time.Millisecond // values are copied at most so often
	retryAtMost = 64 * time.Second
)

// backoff says when to try again.
type backoff struct {
	at   time.Time
	wait time.Duration
}

// failed puts the next attempt off. The wait grows with each failure. It does not grow
// while there is no directory, because then an attempt costs very little.
func (b *backoff) failed(now time.Time, err error) {
	b.wait = min(max(2*b.wait, everySecond), retryAtMost)
	if errors.Is(err, fs.ErrNotExist) {
		b.wait = everySecond
	}
	b.at = now.Add(b.wait)
}

// Retry publishes the supplier if it is not published and can be by now. It returns what
// Err returns from then on; that is ErrDuplicate if another supplier has one of its paths
// by now. Unless Manual is set, the supplier itself tries again: each second while there
// is no directory, and at least each minute otherwise.
//
// Values that were stored before are not lost. Consumers see later stores to contexts from
// that time with a delay: at once after Context.Update and Touch. Unless Manual is set,
// they see them within a second, or within Interval if a client asks more often.
func (s *Supplier) Retry() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fail(CodeNotInit, "", "")
	}
	return s.attach()
}

// turn does the regular work, and returns when to call it again.
func (s *Supplier) turn(now time.Time) time.Duration {
	s.stamp(now)
	s.mu.Lock()
	if !s.closed && s.Err() != nil && !now.Before(s.retry.at) {
		if err := s.attach(); err != nil {
			s.retry.failed(now, err)
		}
	}
	s.mu.Unlock()
	if asked := s.Interval(); s.copyLate() && asked > 0 {
		return min(max(asked, copyEvery), everySecond)
	}
	return everySecond
}

// attach publishes what has been declared. The caller holds the lock.
func (s *Supplier) attach() error {
	if s.Err() == nil {
		return nil
	}
	if err := s.orphans(); err != nil {
		return s.stayPrivate(err)
	}
	p := s.plan
	var there []added
	w, err := writer.Create(s.dir, s.program(), p.decls, p.claim, func(w *writer.Writer) (err error) {
		for i, c := range p.contexts {
			c.area.Load().copyTo(w.Fixed(i))
		}
		there, err = s.addAll(w)
		return err
	})
	if err != nil {
		return s.stayPrivate(claimError(err))
	}
	for i, c := range p.contexts {
		s.mirror(c.area.Load(), w.Fixed(i))
	}
	for _, v := range there {
		v.a.slot, v.a.claimed = v.slot, v.claimed
		v.a.freeLater(w)
		s.mirror(v.a, v.slot.Area)
	}
	s.use(w)
	return nil
}

func (s *Supplier) stayPrivate(err error) error {
	s.now.Store(&segment{line: s.now.Load().line, told: new(writer.Notice), err: err})
	return err
}

// orphans looks for contexts whose parent does not exist. This could not be checked when
// they were declared.
func (s *Supplier) orphans() error {
	for path, n := range s.tree.nodes {
		parent := layout.Parent(path)
		if n.ctx == nil || parent == "" || s.tree.nodes[parent] != nil {
			continue
		}
		taken, err := writer.Taken(s.dir, parent)
		if err != nil {
			return claimError(err)
		}
		if !taken {
			return fail(CodeInvalidCx, path, "no context "+parent+" above it")
		}
	}
	return nil
}

// added is a volatile context that a writer has added.
type added struct {
	a       *area
	slot    *writer.Slot
	claimed string
}

// addAll adds the existing volatile contexts, with their values.
func (s *Supplier) addAll(w *writer.Writer) ([]added, error) {
	var all []added
	for _, path := range slices.Sorted(maps.Keys(s.tree.nodes)) {
		n := s.tree.nodes[path]
		if !n.volatile {
			continue
		}
		v := added{a: n.ctx.area.Load()}
		if s.tree.claims(path) {
			if err := w.Claim(path); err != nil {
				return nil, err
			}
			v.claimed = path
		}
		var err error
		if v.slot, err = w.Add(n.kind.template, decl(path, n.ctx, &kind{}, false)); err != nil {
			return nil, err
		}
		v.a.copyTo(v.slot.Area)
		all = append(all, v)
	}
	return all, nil
}

// mirror makes the values of an area be copied from now on.
func (s *Supplier) mirror(a *area, to writer.Area) {
	if len(to.Words) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shared = to
	a.copy()
	s.late = append(s.late, a)
}

// copyLate copies the values that have changed. It reports whether there is anything left
// to copy later.
func (s *Supplier) copyLate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = slices.DeleteFunc(s.late, func(a *area) bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.gone {
			a.copy()
		}
		return a.gone
	})
	return len(s.late) > 0
}

// copyTo copies the values to an area that no reader knows yet.
func (a *area) copyTo(to writer.Area) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range to.Words {
		atomic.StoreUint64(&to.Words[i], atomic.LoadUint64(&a.words[i]))
	}
}

// copy copies the values as one update, if they have changed. The caller holds the area's
// lock, so that the program has no update under way.
func (a *area) copy() {
	defer runtime.KeepAlive(a)
	if !a.differs() {
		return
	}
	a.shared.Update.Begin()
	for i := range a.words {
		atomic.StoreUint64(&a.shared.Words[i], atomic.LoadUint64(&a.words[i]))
	}
	a.shared.Update.End()
}

func (a *area) differs() bool {
	for i := range a.words {
		if atomic.LoadUint64(&a.words[i]) != atomic.LoadUint64(&a.shared.Words[i]) {
			return true
		}
	}
	return false
}
