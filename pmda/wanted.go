package pmda

import "time"

// list holds instances: ids and what was added for them, at the same indices. A fetch looks
// at these again for each metric, and at nothing else, so nothing else is here.
type list[T any] struct {
	ids  []int32
	data []T
}

// add adds an instance to a list.
func (l *list[T]) add(id int32, data T) {
	l.ids, l.data = append(l.ids, id), append(l.data, data)
}

// truncate shortens a list to n instances and drops the rest.
func (l *list[T]) truncate(n int) {
	clear(l.data[n:])
	l.ids, l.data = l.ids[:n], l.data[:n]
}

type wantedState struct {
	gen, profile, fetch uint64
}

// wanted returns the instances that the current profile wants. The answer is kept until the
// profile or the instances change, so that the cost of a fetch depends on the wanted
// instances and not on all.
func (d *InDom[T]) wanted(s *Server) *list[T] {
	state := wantedState{d.gen, s.profile.gen, s.fetches}
	l, all := &d.cache, s.profile.all(d.id)
	switch {
	case all:
		l = &d.all
	case state.gen != d.state.gen || state.profile != d.state.profile:
		d.cache.truncate(0)
		d.resolve(s.profile)
	}
	if state.fetch != d.state.fetch {
		d.touch(l, all, s.now)
		if d.Prepare != nil {
			d.state = wantedState{} // should it panic, no other metric shows what it has left
			d.Prepare(l.data)
		}
	}
	d.state = state
	if all { // the cache was not made for this state
		d.state.profile = 0
	}
	return l
}

func (d *InDom[T]) touch(l *list[T], all bool, now time.Time) {
	if all {
		d.allAt = now
		return
	}
	for _, id := range l.ids {
		if i, ok := d.byID[id]; ok {
			d.known[i].used = now.Sub(epoch)
		}
	}
}

// resolve caches the wanted instances: those named, or all but those named.
func (d *InDom[T]) resolve(p *profile) {
	if named, ok := p.only(d.id); ok {
		for _, id := range named {
			if i, ok := d.byID[id]; ok {
				d.cache.add(id, d.all.data[i])
			}
		}
		return
	}
	for i, id := range d.all.ids {
		if p.wants(d.id, id) {
			d.cache.add(id, d.all.data[i])
		}
	}
}
