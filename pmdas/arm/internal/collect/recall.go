package collect

import (
	"maps"
	"slices"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

// entry makes the entry of a process whose file was read for the last time.
func (c *counts) entry(p *proc) *past.Entry {
	e := &past.Entry{File: p.file, Inode: p.inode}
	trans := make(map[*tranRow]*past.Tran)
	of := func(id uint32) *past.Tran {
		t := c.tran(p.n, id)
		if t == nil {
			return nil
		}
		if trans[t.row] == nil {
			trans[t.row] = c.rows.pastTran(t.row)
		}
		return trans[t.row]
	}
	p.r.Totals(func(id uint32, t *reader.Totals, mets *[MaxMetrics]reader.MetricTotals) {
		to := of(id)
		if to == nil {
			return
		}
		to.Add(t)
		if mets == nil {
			return
		}
		for i, m := range at(p.n.named.trans, id).rowsOf() {
			if m != nil && mets[i].Count > 0 {
				to.AddMetric(m.Label, &mets[i])
			}
		}
	})
	for id, n := range p.counted.abandoned {
		if to := of(id); to != nil {
			to.Abandoned += n
		}
	}
	p.r.PairTotals(func(i int, t reader.PairTotals) {
		if pairs := p.counted.pairs; i < len(pairs) && pairs[i] != nil {
			e.Pairs = append(e.Pairs, past.Pair{Name: pairs[i].Name, PairTotals: t})
		}
	})
	for _, row := range slices.SortedFunc(maps.Keys(trans), func(a, b *tranRow) int { return a.i - b.i }) {
		e.Trans = append(e.Trans, *trans[row])
	}
	return e
}

// rowsOf returns the rows of a transaction's metrics.
func (t tran) rowsOf() (mets [MaxMetrics]*metricRow) {
	if t.mets != nil {
		mets = *t.mets
	}
	return mets
}

// pastTran returns a row as the record of the past has it, without counts.
func (r *rows) pastTran(t *tranRow) *past.Tran {
	a := r.apps[t.App]
	p := past.NewTran(a.key, t.Key)
	p.AppDescr, p.Descr, p.Avg, p.Last, p.LastAt = a.Descr, t.Descr, t.AvgNS, t.Last, t.average.last
	return p
}

// recall adds an entry of the record of the past to the rows.
func (c *counts) recall(uid uint32, e *past.Entry) {
	user := loginName(uid)
	for i := range e.Trans {
		t := &e.Trans[i]
		a := c.rows.otherApp
		if t.App != "" {
			a = func() *appRow { return c.rows.appOf(&c.conf, user, t.App, t.AppDescr) }
		}
		c.rows.recall(c.rows.tranOf(&c.conf, a(), user, t.Tran, t.Descr), t)
	}
	for i := range e.Pairs {
		p := &e.Pairs[i]
		parent, child := c.rows.split(p.Name)
		if child < 0 && p.Name != other+">"+other {
			continue // it was named with the other setting of users
		}
		c.rows.addPair(p.Name, parent, child).add(&p.PairTotals)
	}
}

func (r *rows) recall(t *tranRow, p *past.Tran) {
	t.dirty = true
	t.Count += p.Count
	t.GoodNS += p.GoodNS
	t.Aborted += p.Aborted
	t.AbortedNS += p.AbortedNS
	t.Failed += p.Failed
	t.FailedNS += p.FailedNS
	t.Updates += p.Updates
	t.BadData += p.BadData
	t.Abandoned += p.Abandoned
	t.extremes(p.Min, p.Max)
	if p.Count > 0 {
		t.Seen, t.AvgNS = true, p.Avg
		if p.LastAt >= t.average.last {
			t.Last, t.average.last = p.Last, p.LastAt
		}
	}
	for i := range p.Metrics {
		m := &p.Metrics[i]
		if row := r.metricOf(t, m.Label, m.Type); row != nil {
			row.add(&m.MetricTotals, true)
		}
	}
}
