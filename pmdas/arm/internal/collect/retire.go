package collect

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

const (
	oldNew     = 10 * time.Minute // after this a file that was not published is removed
	oldGarbage = time.Hour        // after this a published file that is no segment is removed
	maxRemoved = 1000             // files that one sweep removes
)

// retirer takes over ended processes, and removes files that nobody needs any more.
//
// It takes over a process that has ended, or whose file cannot be read any more, in these
// steps:
//
//   - the last counts of the process are in rows, and an entry has all that it had counted;
//   - the entry is added to the record of the past, in one write;
//   - the file of the process is removed.
//
// If the collector is killed before the write, the next one finds the file and begins again.
// If it is killed after the write, the next one finds the entry and only removes the file.
type retirer struct {
	dir      *directory
	reports  *reports
	step     func(string)
	conf     Config
	record   *past.Record
	recorded map[string]uint64 // files whose counts are in the record and that are still there, with inodes

	folds, retired, swept uint64
}

// entries makes the entry of a process whose file was read for the last time.
type entries interface {
	entry(*proc) *past.Entry
}

// recall notes the files of an entry that was in the record.
func (r *retirer) recall(e *past.Entry) {
	for _, f := range e.AllFiles() {
		r.recorded[f.File] = f.Inode
	}
}

// isThere reports whether a recorded file is still in the directory.
func (r *retirer) isThere(f past.File) bool {
	now, ok := r.dir.stat(f.File)
	return ok && now.inode == f.Inode
}

// removeRecorded removes files of a list whose counts are in the record already, and returns
// the others.
func (r *retirer) removeRecorded(list []entry, there map[string]uint64) []entry {
	for name, inode := range r.recorded {
		if there[name] != inode {
			delete(r.recorded, name)
		}
	}
	if len(r.recorded) == 0 {
		return list
	}
	rest := list[:0]
	for _, f := range list {
		if f.kind != fileProc || f.owner != f.uid || r.recorded[f.name] != f.inode {
			rest = append(rest, f)
			continue
		}
		if err := unix.Unlink(r.dir.path(f.name)); err != nil {
			r.reports.fail(&os.PathError{Op: "remove", Path: r.dir.path(f.name), Err: err})
			continue
		}
		delete(r.recorded, f.name)
	}
	return rest
}

// takeOver takes over the processes whose files were read for the last time. Averages of rows
// must be up to date, because they are recorded too.
func (r *retirer) takeOver(p *programs, e entries, choices *[]past.Choice, mono int64) {
	for _, u := range p.order {
		for _, q := range u.procs {
			if q.stage == stageLast {
				q.stage, q.entry = stageRead, e.entry(q)
			}
			if q.stage == stageRead && r.save(choices) && r.record.Add(u.uid, q.entry) { // otherwise again at the next look
				q.stage, q.entry = stagePast, nil
				r.step("fold: recorded")
			}
			if q.stage == stagePast {
				r.remove(q)
				p.closeProc(q, mono)
			}
		}
	}
}

// save records which names have rows of their own, before the counts that depend on that. It
// returns false if it could not.
func (r *retirer) save(choices *[]past.Choice) bool {
	if !r.record.Save(*choices) {
		return false
	}
	if len(*choices) > 0 {
		*choices = nil
		r.step("rows: recorded")
	}
	return true
}

// remove removes the file of a process that is in the record.
func (r *retirer) remove(q *proc) {
	if path := r.dir.path(q.file); !q.vanished && q.r.Is(path) {
		if err := unix.Unlink(path); err != nil {
			r.reports.fail(&os.PathError{Op: "remove", Path: path, Err: err})
			r.recorded[q.file] = q.inode
		}
	}
	r.step("fold: removed")
	r.folds++
}

// idle removes files of names that nobody has used for long. If their removal has begun, it
// removes them as soon as nobody uses them.
func (r *retirer) idle(users []*account, mono int64) {
	for _, u := range users {
		for _, n := range u.names {
			if n.procs > 0 || n.gone || n.bad {
				n.idle = mono
				continue
			}
			if n.aside && mono > n.idle || r.conf.Timeout > 0 && mono-n.idle >= int64(r.conf.Timeout) {
				n.idle = mono // if it is used after all, the time begins again
				r.reports.fail(r.retire(n))
			}
		}
	}
}

// retire removes a file of names, unless a process uses it. A process publishes its own file
// first and then looks whether the file of names still has its name; if not, it begins again.
// Here the file of names loses its name first, and then the files of processes are looked
// for. So a process that goes on to use the names is found. The file of names then stays under
// its other name until that process has ended, and the user's next process makes a new one.
func (r *retirer) retire(n *names) error {
	if r.used(n) {
		r.dir.changed = true
		return nil
	}
	path := r.dir.path(n.file)
	if !n.r.Is(path) {
		n.gone = true
		return nil
	}
	if !n.aside {
		to := layout.AsidePath(n.u.uid, n.r.Nonce)
		if err := unix.Rename(path, r.dir.path(to)); err != nil {
			return &os.LinkError{Op: "rename", Old: path, New: r.dir.path(to), Err: err}
		}
		n.file, n.aside, path = to, true, r.dir.path(to)
		r.step("retire: set aside")
		if r.used(n) {
			r.dir.changed = true
			return nil
		}
	}
	if err := unix.Unlink(path); err != nil {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	n.gone = true
	r.step("retire: removed")
	r.retired++
	return nil
}

// used reports whether the directory has a process's file that refers to a file of names. The
// file of a process that has ended counts, because it has yet to be taken over.
func (r *retirer) used(n *names) bool {
	list, err := r.dir.list(r.conf.eachUser())
	if err != nil {
		return true
	}
	if isCut(list, n.u.uid, r.conf.eachUser()) {
		return true // a file that was not listed may refer to it
	}
	for _, f := range list {
		if f.kind != fileProc || f.uid != n.u.uid {
			continue
		}
		p, err := reader.OpenProc(r.dir.path(f.name), f.uid, reader.Limits{Bytes: r.conf.MaxUserBytes})
		if err != nil {
			continue
		}
		nonce := p.Nonce
		_ = p.Close() // nothing of it is needed
		if nonce == n.r.Nonce {
			return true
		}
	}
	return false
}

// sweep removes what was left over: files that were never published, files that are not of
// the user in their name, and, much later, files that are no segments. It leaves alone what
// does not look like a library's file. refused are the files that are not read.
func (r *retirer) sweep(list []entry, refused map[string]refusal, wall time.Time) {
	left := maxRemoved
	for i := range list {
		f := &list[i]
		age := wall.Sub(f.made)
		_, bad := refused[f.name]
		switch {
		case left == 0:
			return
		case f.owner != f.uid:
		case f.kind == fileNew && age >= oldNew:
		case (f.kind == fileProc || f.kind == fileAside) && bad && age >= oldGarbage && r.isGarbage(f):
		default:
			continue
		}
		err := unix.Unlink(r.dir.path(f.name))
		if err == unix.EISDIR || err == unix.EPERM {
			err = unix.Rmdir(r.dir.path(f.name)) // fails while there is something in it
		}
		if err == nil {
			left--
			r.swept++
			delete(refused, f.name)
		}
	}
}

// isGarbage reports whether a file that is not read can be removed: it is no directory, and
// nobody holds its lock.
func (r *retirer) isGarbage(f *entry) bool {
	fd, err := unix.Open(r.dir.path(f.name), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
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
