package collect

import (
	"os"
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

// lookAtIdle removes a file of names that nobody has used for long, and one whose removal
// has begun as soon as nobody uses it.
func (c *Collector) lookAtIdle(n *names) {
	if n.procs > 0 || n.gone || n.bad {
		n.idle = c.mono
		return
	}
	if n.aside && c.mono > n.idle || c.conf.Timeout > 0 && c.mono-n.idle >= int64(c.conf.Timeout) {
		n.idle = c.mono // if it is used after all, the time begins again
		c.fail(c.retire(n))
	}
}

// retire removes a file of names, unless a process uses it. A process publishes its own
// file first and then looks whether the file of names still has its name; if not, it begins
// anew. Here the file of names loses its name first, and processes' files are looked for
// after that. So a process that goes on to use the names is found. Its file of names then
// stays under the other name until it has ended; the user's next process makes a new one.
func (c *Collector) retire(n *names) error {
	if c.used(n) {
		c.changed = true
		return nil
	}
	if !n.r.Is(c.path(n.file)) {
		n.gone = true
		return nil
	}
	if !n.aside {
		to := layout.AsidePath(n.u.uid, n.r.Nonce)
		if err := unix.Rename(c.path(n.file), c.path(to)); err != nil {
			return &os.LinkError{Op: "rename", Old: c.path(n.file), New: c.path(to), Err: err}
		}
		n.file, n.aside = to, true
		c.host.step("retire: set aside")
		if c.used(n) {
			c.changed = true
			return nil
		}
	}
	if err := unix.Unlink(c.path(n.file)); err != nil {
		return &os.PathError{Op: "remove", Path: c.path(n.file), Err: err}
	}
	n.gone = true
	c.host.step("retire: removed")
	c.health.Retired++
	return nil
}

// used reports whether a process's file that belongs to a file of names is there. One
// whose process has ended counts: it has yet to be taken over.
func (c *Collector) used(n *names) bool {
	list, err := c.list()
	if err != nil {
		return true
	}
	if c.cut(list, n.u.uid) {
		return true // a file of the process may be among those that were not listed
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
		case (f.kind == fileProc || f.kind == fileAside) && refused && age >= oldGarbage && c.isGarbage(f):
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

// isGarbage reports whether a file that is not read can be removed: it is no directory, and
// nobody holds its lock.
func (c *Collector) isGarbage(f *entry) bool {
	fd, err := unix.Open(c.path(f.name), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return false
	}
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: layout.AliveOffset, Len: 1}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &l) == nil && l.Type == unix.F_UNLCK
}
