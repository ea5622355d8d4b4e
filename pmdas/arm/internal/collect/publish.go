package collect

import "time"

func duration(ns int64) time.Duration { return time.Duration(ns) }

// publish leaves a snapshot. Rows are copied when they have changed; the lists, when a
// row has.
func (c *Collector) publish() {
	old := c.snap.Load()
	if old == nil {
		old = new(Snapshot)
	}
	s := &Snapshot{Time: c.wall, Mono: c.mono, Health: c.summary()}
	var a, b, m, p bool
	s.Trans, a = republish(old.Trans, c.rows.trans, func(r *tranRow) (*bool, *Tran) { return &r.dirty, &r.Tran })
	s.Apps, b = republish(old.Apps, c.rows.apps, func(r *appRow) (*bool, *App) { return &r.dirty, &r.App })
	s.Metrics, m = republish(old.Metrics, c.rows.mets, func(r *metricRow) (*bool, *Metric) { return &r.dirty, &r.Metric })
	s.Pairs, p = republish(old.Pairs, c.rows.pairs, func(r *pairRow) (*bool, *Pair) { return &r.dirty, &r.Pair })
	if a || b || m || p || c.seq == 0 {
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

// republish returns the list of rows as it is to be seen now.
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
