package collect

import (
	"fmt"
	"strconv"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

// maxCells is how many cells of one user's processes are read. A cell that is known takes
// some 250 bytes of memory here. What is over counts nowhere.
const maxCells = 1 << 19

// proc is a process whose file is read.
type proc struct {
	file     string
	inode    uint64
	r        *reader.Proc
	u        *account
	n        *names
	old      bool // was there before this program
	vanished bool // its owner has removed the file
	counters reader.Counters
	pairs    []*pairRow // by their numbers

	// Once it has ended, or was refused.
	stage     stage
	dead      bool
	abandoned map[uint32]uint64
	entry     *past.Entry
}

// stage is how far a process has been taken over.
type stage int

const (
	stageLive stage = iota
	stageLast       // was read for the last time
	stageRead       // all of it is in rows, and its entry is made
	stagePast       // its entry is in the record of the past
)

// openProc takes a process's file in.
func (c *Collector) openProc(f *entry) error {
	u := c.account(f.uid)
	for _, p := range u.procs {
		if p.file == f.name && p.inode == f.inode {
			return nil
		}
	}
	if err := c.admit(u, f.size); err != nil {
		return err
	}
	r, err := reader.OpenProc(c.path(f.name), f.uid, reader.Limits{Bytes: c.conf.MaxUserBytes})
	if err != nil {
		return err
	}
	n := u.find(r.Nonce)
	if n == nil { // the names may have come while the directory was listed
		if f, ok := c.stat(strconv.FormatUint(uint64(f.uid), 10) + layout.NamesSuffix); ok && f.owner == f.uid && c.openNames(&f) == nil {
			n = u.find(r.Nonce)
		}
	}
	if n == nil {
		r.Close()
		return fmt.Errorf("%s: its names are not there", f.name)
	}
	p := &proc{file: f.name, inode: f.inode, r: r, u: u, n: n, old: !c.begun}
	if p.old {
		if err := r.SkipEvents(); err != nil {
			r.Close()
			return err
		}
	}
	u.procs = append(u.procs, p)
	n.procs++
	c.procs++
	return nil
}

// admit checks what a user may have.
func (c *Collector) admit(u *account, size int64) error {
	open := c.procs
	for _, u := range c.order {
		open += len(u.names)
	}
	switch {
	case open >= c.most:
		return fmt.Errorf("the agent has %d files of programs open, as many as its limit of open files lets it; raise that (ulimit -n)", open)
	case c.procs >= c.conf.MaxFiles:
		return fmt.Errorf("%d files of processes are read; the limit is maxprocesses in rtarm.conf", c.procs)
	case len(u.procs) >= c.conf.MaxUserFiles:
		return fmt.Errorf("user %d has %d files of processes that are read; the limit is maxuserprocesses in rtarm.conf", u.uid, len(u.procs))
	}
	for _, p := range u.procs {
		size += p.r.Bytes()
	}
	if size > c.conf.MaxUserBytes {
		return fmt.Errorf("the files of user %d would have %d bytes with it; the limit maxuserbytes in rtarm.conf is %d", u.uid, size, c.conf.MaxUserBytes)
	}
	return nil
}

// read adds what came to a process to the rows. full is for the last time.
func (c *Collector) read(p *proc, full bool) error {
	if err := p.r.Changed(full, c.mono, func(d *reader.CellDelta) { c.count(p, d) }); err != nil {
		return err
	}
	if err := p.r.Pairs(func(i int, k *reader.PairKey, added reader.PairTotals) { c.countPair(p, i, k, added) }); err != nil {
		return err
	}
	if err := c.readCounters(p); err != nil {
		return err
	}
	if err := c.readEvents(p); err != nil {
		return err
	}
	if err := c.readUses(p); err != nil {
		return err
	}
	return p.r.Running(func(id uint32, start int64) { c.running(p, id, start) })
}

// count adds what came to a cell.
func (c *Collector) count(p *proc, d *reader.CellDelta) {
	t := c.tran(p.n, d.Tran)
	if t == nil {
		return
	}
	r := t.row
	r.dirty = true
	r.Count += d.Count
	r.GoodNS += d.GoodNS
	r.Aborted += d.Aborted
	r.AbortedNS += d.AbortedNS
	r.Failed += d.Failed
	r.FailedNS += d.FailedNS
	r.Updates += d.Updates
	r.BadData += d.BadData
	if d.Count > 0 {
		if !r.averaging {
			r.averaging = true
			c.rows.averaging = append(c.rows.averaging, r)
		}
		r.extremes(d.Min, d.Max)
		r.average.add(d.Count, d.GoodNS, d.Ended)
		if !p.old || c.begun {
			c.windows.add(r, d)
		}
	}
	for i := range d.Metrics {
		if m := c.metric(p.n, d.Tran, t, &d.Metrics[i]); m != nil {
			m.add(&d.Metrics[i].MetricTotals, d.Metrics[i].Whole)
		}
	}
}

// extremes takes the shortest and longest of some cell or of the past in.
func (t *tranRow) extremes(lo, hi uint64) {
	if lo > hi {
		return
	}
	if !t.ranged {
		t.ranged, t.Min, t.Max = true, lo, hi
	}
	t.Min, t.Max = min(t.Min, lo), max(t.Max, hi)
}

// metric returns the row of a metric that a process gave, nil for none.
func (c *Collector) metric(n *names, id uint32, t *tran, d *reader.MetricDelta) *metricRow {
	if t.mets == nil {
		t.mets = new([MaxMetrics]*metricRow)
	}
	if m := t.mets[d.Index]; m != nil {
		if m.Type != d.Type && reader.KindOf(m.Type) != reader.KindOf(d.Type) {
			return nil
		}
		return m
	}
	label := fmt.Sprintf("metric%d", d.Index+1)
	if descs, ok, _ := n.r.Descs(id); ok && descs[d.Index].Type == d.Type && descs[d.Index].Name != "" {
		label = descs[d.Index].Name
	}
	t.mets[d.Index] = c.rows.metricOf(t.row, label, d.Type)
	return t.mets[d.Index]
}

// running notes a transaction that runs, or, of a process that has ended, was running.
func (c *Collector) running(p *proc, id uint32, start int64) {
	t := c.tran(p.n, id)
	if t == nil {
		return
	}
	r := t.row
	if start < 0 || start > c.mono {
		start = c.mono
	}
	if p.dead {
		if p.abandoned == nil {
			p.abandoned = make(map[uint32]uint64)
		}
		p.abandoned[id]++
		r.Abandoned++
		r.dirty = true
		return
	}
	if r.running == 0 {
		r.oldest = start
		c.rows.active = append(c.rows.active, r)
	}
	r.running++
	r.oldest = min(r.oldest, start)
}

// readCounters adds what the header counts to the health figures.
func (c *Collector) readCounters(p *proc) error {
	now, err := p.r.Counters()
	if err != nil {
		return err
	}
	was, h := &p.counters, &c.health
	if now.NoRoom < was.NoRoom || now.BadHandles < was.BadHandles || now.BadData < was.BadData || now.PairsLost < was.PairsLost {
		return reader.ErrBack
	}
	h.NoRoom += now.NoRoom - was.NoRoom
	h.BadHandles += now.BadHandles - was.BadHandles
	h.BadData += now.BadData - was.BadData
	h.PairsLost += now.PairsLost - was.PairsLost
	*was = now
	return nil
}

// readUses counts who uses which application.
func (c *Collector) readUses(p *proc) error {
	if p.dead {
		return nil
	}
	return p.r.Uses(len(p.n.apps), func(id uint32, _ int32) {
		a := p.n.apps[id-1]
		if a == nil {
			return
		}
		a.processes++
		if a.lastUser != p.u {
			a.lastUser = p.u
			a.users++
		}
	})
}
