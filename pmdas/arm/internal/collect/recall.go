package collect

import (
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

// pastTran returns an empty record of a row.
func (r *rows) pastTran(t *tranRow) *past.Tran {
	a := r.apps[t.App]
	p := past.NewTran(a.key, t.Key)
	p.AppDescr, p.Descr, p.Avg, p.Last, p.LastAt = a.Descr, t.Descr, t.AvgNS, t.Last, t.average.last
	return p
}

// recall adds what is recorded to the rows.
func (c *Collector) recall(uid uint32, e *past.Entry) {
	user := loginName(uid)
	for i := range e.Trans {
		t := &e.Trans[i]
		a := c.rows.otherApp
		if t.App != "" {
			a = func() *appRow { return c.rows.appOf(&c.conf, user, t.App, t.AppDescr) }
		}
		c.rows.recall(c.rows.tranOf(&c.conf, a(), t.Tran, t.Descr), t)
	}
	for i := range e.Pairs {
		p := &e.Pairs[i]
		parent, child := c.rows.split(p.Name)
		if child < 0 && p.Name != other+">"+other {
			continue // it was named with the other setting of users
		}
		c.rows.addPair(p.Name, parent, child).add(&p.PairTotals)
	}
	for _, f := range e.AllFiles() {
		c.folded[f.File] = f.Inode
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

// isThere reports whether a file that is recorded is still in the directory.
func (c *Collector) isThere(f past.File) bool {
	now, ok := c.stat(f.File)
	return ok && now.inode == f.Inode
}
