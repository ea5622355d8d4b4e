package collect

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

// The collector takes over a process that has ended, or whose file cannot be read any more, in
// these steps:
//
//	its last counts go to the rows, and an entry is made of all that it has counted;
//	the entry is added to the record of the past, in one write;
//	its file is removed.
//
// If the collector is killed before the write, the next one finds the file and begins again.
// If it is killed after the write, the next one finds the entry and only removes the file.

// makeEntry makes the entry of a process of which all has been read.
func (c *Collector) makeEntry(p *proc) {
	p.stage = stageRead
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
		for i, m := range at(p.n.trans, id).rowsOf() {
			if m != nil && mets[i].Count > 0 {
				to.AddMetric(m.Label, &mets[i])
			}
		}
	})
	for id, n := range p.abandoned {
		if to := of(id); to != nil {
			to.Abandoned += n
		}
	}
	p.r.PairTotals(func(i int, t reader.PairTotals) {
		if i < len(p.pairs) && p.pairs[i] != nil {
			e.Pairs = append(e.Pairs, past.Pair{Name: p.pairs[i].Name, PairTotals: t})
		}
	})
	for _, row := range slices.SortedFunc(maps.Keys(trans), func(a, b *tranRow) int { return a.i - b.i }) {
		e.Trans = append(e.Trans, *trans[row])
	}
	p.entry = e
}

// rowsOf returns the rows of a transaction's metrics.
func (t tran) rowsOf() (mets [MaxMetrics]*metricRow) {
	if t.mets != nil {
		mets = *t.mets
	}
	return mets
}

// saveChoices records which names have rows of their own; false says that it could not.
func (c *Collector) saveChoices() bool {
	if !c.past.Save(c.rows.unsaved) {
		return false
	}
	if len(c.rows.unsaved) > 0 {
		c.rows.unsaved = nil
		c.host.step("rows: recorded")
	}
	return true
}

// fold finishes a process that was read for the last time.
func (c *Collector) fold(p *proc) {
	if p.stage == stageRead {
		// The choices that its rows depend on come first.
		if !c.saveChoices() || !c.past.Add(p.u.uid, p.entry) {
			return // and again at the next look
		}
		p.stage, p.entry = stagePast, nil
		c.host.step("fold: recorded")
	}
	if !p.vanished && p.r.Is(c.path(p.file)) {
		if err := unix.Unlink(c.path(p.file)); err != nil {
			c.fail(err)
			c.folded[p.file] = p.inode
		}
	}
	c.host.step("fold: removed")
	_ = p.r.Close() // nothing of it is needed
	p.r = nil
	p.n.procs--
	p.n.idle = c.mono
	c.procs--
	c.health.Folds++
}

// removeFolded removes a file that is in the record of the past already.
func (c *Collector) removeFolded(f *entry) {
	if err := unix.Unlink(c.path(f.name)); err != nil {
		c.fail(err)
		return
	}
	delete(c.folded, f.name)
}
