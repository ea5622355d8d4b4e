package collect

import (
	"errors"
	"fmt"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// maxCells is how many cells of one user's processes are read. A known cell takes some 250
// bytes of memory here. What is counted in others is in no row.
const maxCells = 1 << 19

// counts add up what open files say: they read what came since the last look, and add it to
// rows. They open no file and remove none.
type counts struct {
	reports  *reports
	onEvent  func(*Event)
	onMissed func(uint64)

	conf    Config
	now     moment // of this look
	looks   uint64
	begun   bool       // the first look is over
	users   []*account // whose files this look reads
	rows    rows
	windows windows
	figures figures
}

// living says which processes have ended.
type living interface {
	dead(*proc) (bool, error)
}

// figures are counts that belong to no row.
type figures struct {
	events, eventsLost                     uint64
	noRoom, badHandles, badData, pairsLost uint64
}

// counted is what is known of a process's file.
type counted struct {
	headers   reader.Counters
	pairs     []*pairRow        // by their numbers
	abandoned map[uint32]uint64 // of a process that has ended: what was running, by ids
}

// count reads the files of users.
func (c *counts) count(users []*account, life living, now moment) {
	c.users, c.now = users, now
	c.looks++
	c.rows.begin()
	for _, u := range users {
		c.countNames(u)
		u.events = 0
		left := maxCells
		for _, p := range u.procs {
			left -= p.r.Cells()
		}
		for _, p := range u.procs {
			if p.stage != stageLive {
				continue
			}
			known := p.r.Cells()
			p.r.LimitCells(known + left)
			c.countProc(p, life)
			left -= p.r.Cells() - known
		}
	}
	c.rows.averages(c.conf.Weight)
	c.windows.roll(now.mono)
	c.rows.end()
}

// countNames reads what a user's programs have named.
func (c *counts) countNames(u *account) {
	for _, n := range u.names {
		if err := c.update(n); err != nil && !n.bad {
			n.bad = true
			c.reports.refuse(n.file, u.uid, err)
		}
		if apps, trans := n.r.Full(); !n.full && (apps || trans) {
			n.full = true
			what := "transaction"
			if apps {
				what = "application"
			}
			c.reports.full(n.file, u.uid, what)
		}
		for i, a := range n.named.apps {
			if a == nil || a.used {
				continue
			}
			use, _ := n.r.Use(uint32(i + 1)) // an application that was cut off is used by nobody
			a.used = uint32(use) > 0
		}
	}
}

// countProc reads a process's file, and notes if that was the last time. It asks first whether
// the process lives, because what the file of a dead one says is final.
func (c *counts) countProc(p *proc, life living) {
	dead, err := life.dead(p)
	p.dead = dead
	last := dead || p.vanished
	if err == nil {
		err = c.read(p, last)
	}
	if err != nil && !isHostile(err) {
		c.reports.fail(err) // such as a lack of memory; the next look reads what this one did not
		return
	}
	if err != nil {
		c.reports.refuse(p.file, p.u.uid, err)
	}
	if last || err != nil {
		p.stage = stageLast
	}
}

// isHostile reports whether the file is to blame for an error, and not this process.
func isHostile(err error) bool {
	for _, e := range []error{reader.ErrFormat, reader.ErrBack, shm.ErrFault, shm.ErrLarge, shm.ErrHoles} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// read adds what came to a process's file to the rows. full says that this is the last time.
func (c *counts) read(p *proc, full bool) error {
	if err := p.r.Changed(full, c.now.mono, func(d *reader.CellDelta) { c.addCell(p, d) }); err != nil {
		return err
	}
	if err := p.r.Pairs(func(i int, k *reader.PairKey, added reader.PairTotals) { c.addPair(p, i, k, added) }); err != nil {
		return err
	}
	if err := c.readHeader(p); err != nil {
		return err
	}
	if err := c.readEvents(p); err != nil {
		return err
	}
	if err := c.readUses(p); err != nil {
		return err
	}
	return p.r.Running(func(id uint32, start int64) { c.addRunning(p, id, start) })
}

// addCell adds what came to a cell.
func (c *counts) addCell(p *proc, d *reader.CellDelta) {
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

// extremes takes in the shortest and the longest time of a cell or of the past.
func (t *tranRow) extremes(lo, hi uint64) {
	if lo > hi {
		return
	}
	if !t.ranged {
		t.ranged, t.Min, t.Max = true, lo, hi
	}
	t.Min, t.Max = min(t.Min, lo), max(t.Max, hi)
}

// metric returns the row of a metric that a process gave, or nil.
func (c *counts) metric(n *names, id uint32, t *tran, d *reader.MetricDelta) *metricRow {
	if t.mets == nil {
		t.mets = new([MaxMetrics]*metricRow)
	}
	if m := t.mets[d.Index]; m != nil {
		if reader.KindOf(m.Type) != reader.KindOf(d.Type) {
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

// addRunning notes a transaction that is running, or that was running when its process ended.
func (c *counts) addRunning(p *proc, id uint32, start int64) {
	t := c.tran(p.n, id)
	if t == nil {
		return
	}
	r := t.row
	if start < 0 || start > c.now.mono {
		start = c.now.mono
	}
	if p.dead {
		if p.counted.abandoned == nil {
			p.counted.abandoned = make(map[uint32]uint64)
		}
		p.counted.abandoned[id]++
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

// readHeader adds what the header of a process's file counts.
func (c *counts) readHeader(p *proc) error {
	now, err := p.r.Counters()
	if err != nil {
		return err
	}
	was, f := &p.counted.headers, &c.figures
	if now.NoRoom < was.NoRoom || now.BadHandles < was.BadHandles || now.BadData < was.BadData || now.PairsLost < was.PairsLost {
		return reader.ErrBack
	}
	f.noRoom += now.NoRoom - was.NoRoom
	f.badHandles += now.BadHandles - was.BadHandles
	f.badData += now.BadData - was.BadData
	f.pairsLost += now.PairsLost - was.PairsLost
	*was = now
	return nil
}

// readUses counts who uses which application.
func (c *counts) readUses(p *proc) error {
	if p.dead {
		return nil
	}
	return p.r.Uses(len(p.n.named.apps), func(id uint32, _ int32) {
		a := p.n.named.apps[id-1]
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

// configure takes a new configuration over, and has the window keep up with the time.
// UsersApart stays as it is.
func (c *counts) configure(conf Config, mono int64) {
	conf.UsersApart = c.rows.apart
	c.conf = conf
	c.windows.set(conf, mono)
	c.windows.reach(mono)
}
