package ids

import (
	"errors"

	"github.com/pcp-rtime/rtime/internal/journal"
)

// acquire makes the file this File's own, if it is not yet: it locks the file, reads it and
// takes in what it holds. disk is held.
func (f *File) acquire() error {
	f.mu.RLock()
	owned := f.j != nil
	f.mu.RUnlock()
	if owned { // changes only with disk held
		return nil
	}
	if f.lock == nil {
		lock, err := journal.Lock(f.path + ".lock")
		if err != nil {
			return err
		}
		f.lock = lock
	}
	c := newContents()
	j, damage, err := journal.Open(f.path, c.record, f.opts)
	if err != nil {
		f.know(c) // what could be read is true
		return err
	}
	switch {
	case damage != nil:
		f.damaged(damage)
		c.jump(damage.Lost, damage.Nothing)
	case j.CutOff() > 0:
		c.jump(j.CutOff(), false)
	}
	old, err := f.readOld(c)
	if err != nil {
		f.know(c)
	} else {
		f.resume(c)
		if damage != nil || j.CutOff() > 0 || len(old) > 0 {
			err = f.fold(j)
		}
	}
	if err != nil {
		return errors.Join(err, j.Close())
	}
	for _, o := range old {
		o.remove()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.j = j
	return nil
}

func (f *File) damaged(d *journal.Damage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damage == nil || d.SetAside != f.damage.SetAside {
		f.damage = d
	}
}

// know takes in the names of a file.
func (f *File) know(c *contents) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.merge(c)
}

// merge takes in the names of a file; mu is held. A name that has got a volatile number
// meanwhile keeps it, and its number in the file stays unused. The contents must not be used
// after mu was let go, because the maps have their tables.
func (f *File) merge(c *contents) {
	for name, s := range c.spaces {
		m := f.space(name)
		if m.names.count == 0 {
			m.names, s.taken = s.names, true
			continue
		}
		for id, b := range s.records.all() {
			name := string(b)
			_, named := m.names.lookup(name)
			_, numbered := m.names.name(id)
			if !named && !numbered {
				m.names.add(entry{id, name})
			}
		}
	}
}

// resume takes in the names of a file, and sets where numbering goes on and which names are
// not in the file yet.
func (f *File) resume(c *contents) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.merge(c)
	f.floor = c.floor
	for name, m := range f.maps {
		s := c.spaces[name]
		if s == nil {
			s = newTable()
			if s.bound = c.floor; m.limit > 0 {
				s.bound = min(c.floor, m.limit/2)
			}
		}
		m.bound, m.recorded, m.next = s.bound, s.limit, max(s.bound, s.top())
		if m.pending = nil; s.taken {
			continue
		}
		for id, b := range m.names.records.all() {
			name := string(b)
			if there, ok := s.lookup(name); !ok || there != id {
				m.pending = append(m.pending, entry{id, name})
			}
		}
	}
	f.queued++
}

// peek takes in the names of a file that another process owns, or that cannot be written.
func (f *File) peek() {
	c := newContents()
	if err := journal.Peek(f.path, c.record); err != nil && len(c.spaces) == 0 {
		return
	}
	f.know(c)
}
