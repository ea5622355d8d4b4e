package collect

import "sync/atomic"

// publisher makes snapshots of rows.
type publisher struct {
	snap  atomic.Pointer[Snapshot] // the latest
	seq   uint64                   // its Seq
	grown uint64                   // its Rows
}

// publish leaves a snapshot. It copies rows that have changed, blocks of numbers in which one
// has changed, and lists in which anything has changed.
func (p *publisher) publish(r *rows, now moment, h Health) *Snapshot {
	old := p.snap.Load()
	if old == nil {
		old = new(Snapshot)
	}
	s := &Snapshot{Time: now.wall, Mono: now.mono, Health: h}
	var trans, blocks, apps, metrics, pairs bool
	s.Trans, trans = republish(old.Trans, r.trans, func(r *tranRow) (*bool, *Tran) { return &r.renamed, &r.Tran })
	s.Blocks, blocks = reblock(p.seq+1, old.Blocks, r.trans)
	s.Apps, apps = republish(old.Apps, r.apps, func(r *appRow) (*bool, *App) { return &r.dirty, &r.App })
	s.Metrics, metrics = republish(old.Metrics, r.mets, func(r *metricRow) (*bool, *Metric) { return &r.dirty, &r.Metric })
	s.Pairs, pairs = republish(old.Pairs, r.pairs, func(r *pairRow) (*bool, *Pair) { return &r.dirty, &r.Pair })
	if trans || blocks || apps || metrics || pairs || p.seq == 0 {
		p.seq++
	}
	if r.grown || p.grown == 0 {
		p.grown++
		r.grown = false
	}
	s.Seq, s.Rows = p.seq, p.grown
	p.snap.Store(s)
	return s
}

// reblock returns the numbers of rows as they are now. seq is this snapshot's.
func reblock(seq uint64, old []*Block, rows []*tranRow) (list []*Block, changed bool) {
	list = old
	for first := 0; first < len(rows); first += BlockLen {
		var b *Block
		for i, r := range rows[first:min(first+BlockLen, len(rows))] {
			if !r.dirty {
				continue
			}
			if b == nil {
				b = &Block{}
				if k := first / BlockLen; k < len(old) {
					*b = *old[k]
				}
				b.Seq = seq
			}
			b.Set(i, &r.Numbers)
			r.dirty = false
		}
		if b == nil {
			continue
		}
		if !changed {
			changed = true
			list = make([]*Block, (len(rows)+BlockLen-1)/BlockLen)
			copy(list, old)
		}
		list[first/BlockLen] = b
	}
	return list, changed
}

// republish returns the list of rows as it is now.
func republish[R, T any](old []*T, rows []R, get func(R) (dirty *bool, row *T)) (list []*T, changed bool) {
	list = old
	for i, r := range rows {
		dirty, row := get(r)
		if !*dirty {
			continue
		}
		if !changed {
			changed = true
			list = append(make([]*T, 0, len(rows)), old...)
		}
		for len(list) <= i {
			list = append(list, nil) // set soon: new rows are dirty
		}
		seen := *row
		list[i] = &seen
		*dirty = false
	}
	return list, changed
}
