package collect

import "time"

func duration(ns int64) time.Duration { return time.Duration(ns) }

// publish leaves a snapshot. It copies rows that have changed, blocks of numbers in which one
// has changed, and lists in which anything has changed.
func (c *Collector) publish() {
	old := c.snap.Load()
	if old == nil {
		old = new(Snapshot)
	}
	s := &Snapshot{Time: c.wall, Mono: c.mono, Health: c.summary()}
	var a, b, m, p bool
	var n bool
	s.Trans, a = republish(old.Trans, c.rows.trans, func(r *tranRow) (*bool, *Tran) { return &r.renamed, &r.Tran })
	s.Blocks, n = reblock(c.seq+1, old.Blocks, c.rows.trans)
	s.Apps, b = republish(old.Apps, c.rows.apps, func(r *appRow) (*bool, *App) { return &r.dirty, &r.App })
	s.Metrics, m = republish(old.Metrics, c.rows.mets, func(r *metricRow) (*bool, *Metric) { return &r.dirty, &r.Metric })
	s.Pairs, p = republish(old.Pairs, c.rows.pairs, func(r *pairRow) (*bool, *Pair) { return &r.dirty, &r.Pair })
	if a || n || b || m || p || c.seq == 0 {
		c.seq++
	}
	if c.rows.grown || c.grown == 0 {
		c.grown++
		c.rows.grown = false
	}
	s.Seq, s.Rows = c.seq, c.grown
	c.snap.Store(s)
	if c.opts.OnSnapshot != nil && c.begun {
		c.opts.OnSnapshot(s)
	}
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

// summary returns the figures about the collector.
func (c *Collector) summary() Health {
	h := c.health
	h.Refused = len(c.refused)
	h.Files = c.procs
	for _, u := range c.order {
		for _, p := range u.procs {
			if p.stage == stageLive {
				h.Processes++
			}
			if p.r.Over() {
				h.Partial++
			}
			h.Bytes += uint64(p.r.Bytes())
		}
		h.NameFiles += len(u.names)
		for _, n := range u.names {
			h.Bytes += uint64(n.r.Bytes())
		}
	}
	for _, names := range c.rows.over {
		h.OverCap += uint64(len(names))
	}
	return h
}
