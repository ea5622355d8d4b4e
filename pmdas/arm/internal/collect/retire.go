package collect

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

const (
	oldNew     = 10 * time.Minute // after which a file that was not published is removed
	oldGarbage = time.Hour        // and one that is published but no segment
	maxRemoved = 1000             // by one sweep
)

// lookAtIdle removes a file of names that nobody has used for long.
func (c *Collector) lookAtIdle(n *names) {
	if n.procs > 0 || n.gone || n.bad {
		n.idle, n.unused = c.mono, false
		return
	}
	if !n.unused && c.mono-n.idle >= 2*int64(c.conf.Interval) {
		n.unused = true
		c.unuse(n)
	}
	if c.conf.Timeout > 0 && c.mono-n.idle >= int64(c.conf.Timeout) {
		n.idle = c.mono // if it is used after all, the time begins again
		if done, err := n.r.SetState(layout.StateReady, layout.StateRetired); err == nil && done {
			c.host.step("retire: marked")
			c.retire(n)
		}
	}
}

// unuse ends the use of applications that no process is left to end: one was killed, or
// this program was, between counting a use and noting whose it is. The words are read
// before the directory is looked at: a process that came since has changed them.
func (c *Collector) unuse(n *names) {
	use := make(map[uint32]uint64)
	for i := range n.apps {
		if v, _ := n.r.Use(uint32(i + 1)); uint32(v) > 0 { // what is cut off is used by nobody
			use[uint32(i+1)] = v
		}
	}
	if len(use) == 0 || c.used(n) {
		return
	}
	for id, v := range use {
		_ = n.r.Unuse(id, v)
	}
}

// retire decides about a file of names that is marked. A process publishes its file
// before it looks at the mark, so one that goes on to use the names is found here.
func (c *Collector) retire(n *names) {
	if c.used(n) {
		_, _ = n.r.SetState(layout.StateRetired, layout.StateReady) // or it is cut off
		c.changed = true
		return
	}
	n.gone = true
	if !n.r.Is(c.path(n.file)) {
		return
	}
	if err := unix.Unlink(c.path(n.file)); err != nil {
		c.fail(err)
		_, _ = n.r.SetState(layout.StateRetired, layout.StateReady)
		n.gone = false
		return
	}
	c.host.step("retire: removed")
	c.health.Retired++
}

// used reports whether a process's file that belongs to a file of names is there. One
// whose process has ended counts: it has yet to be taken over.
func (c *Collector) used(n *names) bool {
	list, err := c.list()
	if err != nil {
		return true
	}
	for _, f := range list {
		if f.kind != fileProc || f.uid != n.u.uid {
			continue
		}
		r, err := reader.OpenProc(c.path(f.name), f.uid, reader.Limits{Bytes: c.conf.MaxUserBytes})
		if err != nil {
			continue
		}
		nonce := r.Nonce
		_ = r.Close() // nothing of it is needed
		if nonce == n.r.Nonce {
			return true
		}
	}
	return false
}

// sweep removes what was left over: files that were never published, those that are not
// their user's, and, much later, those that are no segments. What does not look like a
// library's file stays.
func (c *Collector) sweep(list []entry) {
	left := maxRemoved
	for i := range list {
		f := &list[i]
		age := c.wall.Sub(f.made)
		_, refused := c.refused[f.name]
		switch {
		case left == 0:
			return
		case f.owner != f.uid:
		case f.kind == fileNew && age >= oldNew:
		case f.kind == fileProc && refused && age >= oldGarbage && c.isGarbage(f):
		default:
			continue
		}
		err := unix.Unlink(c.path(f.name))
		if err == unix.EISDIR || err == unix.EPERM {
			err = unix.Rmdir(c.path(f.name)) // fails while there is something in it
		}
		if err == nil {
			left--
			c.health.Swept++
			delete(c.refused, f.name)
		}
	}
}

// isGarbage reports whether a file that is not read can be removed: nobody holds its
// lock.
func (c *Collector) isGarbage(f *entry) bool {
	fd, err := unix.Open(c.path(f.name), unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: layout.AliveOffset, Len: 1}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &l) == nil && l.Type == unix.F_UNLCK
}
