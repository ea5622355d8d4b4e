package collect

import (
	"errors"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// look reads all that has changed and leaves a snapshot.
func (c *Collector) look() {
	c.mono, c.wall = c.host.now()
	began := c.mono
	c.looks++
	c.configure()
	if c.changed || c.watch == nil || c.listed == 0 || c.mono-c.listed >= maxListed {
		c.scan()
	}
	c.rows.begin()
	for _, u := range c.order {
		c.lookAtNames(u)
		u.events = 0
		left := maxCells
		for _, p := range u.procs {
			left -= p.r.Cells()
		}
		for _, p := range u.procs {
			known := p.r.Cells()
			p.r.LimitCells(known + left)
			c.lookAt(p)
			if p.r != nil {
				left -= p.r.Cells() - known
			}
		}
	}
	c.rows.averages(c.conf.Weight)
	c.takeOver()
	c.windows.roll(c.mono)
	c.rows.end()
	c.followWishes()
	c.saveSwitches()
	c.saveChoices()
	c.begun = true
	now, _ := c.host.now()
	c.health.Cycles++
	c.health.CycleTime = duration(now - began)
	c.health.CycleTotal += duration(now - began)
	c.publish()
}

// configure takes a new configuration over, and has the window keep up with the time.
// UsersApart stays.
func (c *Collector) configure() {
	c.mu.Lock()
	conf := c.asked
	c.mu.Unlock()
	conf.UsersApart = c.rows.apart
	c.conf = conf
	c.windows.set(conf, c.mono)
	c.windows.reach(c.mono)
}

// lookAt reads a process, and notes if that was the last time. Whether it lives is asked
// first: what a dead one's file holds is final.
func (c *Collector) lookAt(p *proc) {
	if p.stage != stageLive {
		c.fold(p)
		return
	}
	dead, err := c.dead(p)
	p.dead = dead
	last := dead || p.vanished
	if err == nil {
		err = c.read(p, last)
	}
	if err != nil && !isHostile(err) {
		c.fail(err) // no memory, say: the next look finds what this one did not
		return
	}
	if err != nil {
		c.refuse(p.file, p.u.uid, err)
	}
	if last || err != nil {
		p.stage = stageLast
	}
}

// takeOver takes over the processes that this look has read for the last time. The rows'
// averages are up to date by now, and are recorded with them.
func (c *Collector) takeOver() {
	for _, u := range c.order {
		for _, p := range u.procs {
			if p.stage == stageLast {
				c.makeEntry(p)
				c.fold(p)
			}
		}
		c.drop(u)
	}
}

// isHostile reports whether an error is the fault of a file and not of this process.
func isHostile(err error) bool {
	return errors.Is(err, reader.ErrFormat) || errors.Is(err, reader.ErrBack) || errors.Is(err, shm.ErrFault) || errors.Is(err, shm.ErrLarge)
}

// refuse notes that a file is not read, or not read any more. It limits the lines in the log,
// so that a user cannot fill the log with bad files.
func (c *Collector) refuse(file string, owner uint32, err error) {
	c.health.RefusedEver++
	c.health.LastRefused = file + ": " + err.Error()
	c.refusals.Printf(owner, "refused: %s", c.health.LastRefused)
}

// lookAtNames reads what a user's programs have named.
func (c *Collector) lookAtNames(u *account) {
	for _, n := range u.names {
		if err := c.update(n); err != nil && !n.bad {
			n.bad = true
			c.refuse(n.file, u.uid, err)
		}
		for i, a := range n.apps {
			if a == nil || a.used {
				continue
			}
			use, _ := n.r.Use(uint32(i + 1)) // what is cut off is used by nobody
			a.used = uint32(use) > 0
		}
		c.lookAtIdle(n)
	}
}

// drop forgets files that a user does not have any more.
func (c *Collector) drop(u *account) {
	procs := u.procs[:0]
	for _, p := range u.procs {
		if p.r != nil {
			procs = append(procs, p)
		}
	}
	clear(u.procs[len(procs):])
	u.procs = procs
	list := u.names[:0]
	for _, n := range u.names {
		if n.procs == 0 && n.gone {
			c.dropSwitches(n)
			_ = n.r.Close() // nothing of it is needed
			continue
		}
		list = append(list, n)
	}
	clear(u.names[len(list):])
	u.names = list
}

// begin prepares the rows for a look.
func (r *rows) begin() {
	r.were, r.active = r.active, r.were[:0]
	for _, t := range r.were {
		t.running = 0
	}
	for _, a := range r.apps {
		a.users, a.processes, a.used, a.lastUser = 0, 0, false, nil
	}
}

// averages brings the averages up to date of the rows that were added to.
func (r *rows) averages(weight float64) {
	for _, t := range r.averaging {
		t.updateAverage(weight)
		t.averaging = false
	}
	clear(r.averaging)
	r.averaging = r.averaging[:0]
}

// end takes over what was counted anew by this look.
func (r *rows) end() {
	for _, list := range [][]*tranRow{r.were, r.active} {
		for _, t := range list {
			if t.running == 0 {
				t.oldest = 0
			}
			if t.Active != t.running || t.Oldest != t.oldest {
				t.Active, t.Oldest, t.dirty = t.running, t.oldest, true
			}
		}
	}
	for _, a := range r.apps {
		// What a killed process used is not taken from the count that a.used comes from:
		// the agent changes no file of a program. So one that uses it must be alive, too.
		active := a.used && a.processes > 0
		if a.Users != a.users || a.Processes != a.processes || a.Active != active {
			a.Users, a.Processes, a.Active, a.dirty = a.users, a.processes, active, true
		}
	}
}
