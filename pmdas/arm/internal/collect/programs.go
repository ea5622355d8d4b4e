package collect

import (
	"fmt"
	"os/user"
	"strconv"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

const (
	// maxNames is how many files of names of one user are read. A user has one, one more for
	// each that was removed while processes used it, and one for each process that began before
	// there was a directory.
	maxNames = 128

	retry = int64(10 * time.Second) // after this time a file that was refused is tried again
)

// programs are the files of programs that are open, by their users. They open what the
// directory has, within the limits, and know which processes are alive. They do not know what
// the files say.
type programs struct {
	dir     *directory
	reports *reports
	alive   func(*reader.ProcInfo) bool
	conf    Config
	most    int  // of files that may be open
	begun   bool // the first look is over
	users   map[uint32]*account
	order   []*account
	open    int // processes' files
	refused map[string]refusal
}

// account is what belongs to a user.
type account struct {
	uid    uint32
	name   string // login name or number
	names  []*names
	procs  []*proc
	events int // that this look has handed out
}

// names is a user's file of names that is open.
type names struct {
	r     *reader.Names
	u     *account
	file  string
	inode uint64
	procs int   // open files that refer to it
	idle  int64 // since when there are none
	aside bool  // it no longer has the name by which programs find it
	gone  bool  // it has no name in the directory any more
	bad   bool  // it cannot be read any more
	full  bool  // it has no room for another application or transaction

	named    named
	switches layout.Switches // what is to be traced
	switched bool            // the agent's file does not say so yet
}

// proc is a process's file that is open.
type proc struct {
	file     string
	inode    uint64
	r        *reader.Proc // nil when the process has been taken over
	u        *account
	n        *names
	old      bool // it was there before this program
	vanished bool // its owner has removed the file
	dead     bool // the process has ended
	counted  counted

	stage stage
	entry *past.Entry // what it had counted, at stageRead
}

// stage is how far a process has been taken over.
type stage int

const (
	stageLive stage = iota
	stageLast       // its file was read for the last time
	stageRead       // all of that is in rows, and its entry is made
	stagePast       // its entry is in the record of the past
)

// refusal is a file that is not read.
type refusal struct {
	inode uint64
	at    int64
}

func (p *programs) account(uid uint32) *account {
	u := p.users[uid]
	if u == nil {
		u = &account{uid: uid, name: loginName(uid)}
		p.users[uid] = u
		p.order = append(p.order, u)
	}
	return u
}

func loginName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return reader.Text([]byte(u.Username))
	}
	return id
}

// find returns the file of names with a nonce, or nil.
func (u *account) find(nonce uint64) *names {
	for _, n := range u.names {
		if n.r.Nonce == nonce {
			return n
		}
	}
	return nil
}

// take opens the files of a list that are new, and notes which of the open ones are gone.
func (p *programs) take(list []entry, there map[string]uint64, mono int64) {
	p.vanish(there)
	for _, kind := range []fileKind{fileNames, fileAside, fileProc} {
		for i := range list {
			if f := &list[i]; f.kind == kind {
				p.takeFile(f, mono)
			}
		}
	}
}

// takeFile opens a file, or reports why not.
func (p *programs) takeFile(f *entry, mono int64) {
	was, known := p.refused[f.name]
	if known && was.inode == f.inode && mono-was.at < retry {
		return
	}
	var err error
	switch {
	case f.owner != f.uid:
		err = reader.ErrOwner
	case f.kind == fileProc:
		err = p.openProc(f, mono)
	default:
		err = p.openNames(f, mono)
	}
	if err == nil {
		delete(p.refused, f.name)
		return
	}
	if !known || was.inode != f.inode {
		p.reports.refuse(f.name, f.owner, err)
	}
	p.refused[f.name] = refusal{f.inode, mono}
}

// vanish notes which files their owners have removed.
func (p *programs) vanish(there map[string]uint64) {
	for name, r := range p.refused {
		if there[name] != r.inode {
			delete(p.refused, name)
		}
	}
	for _, u := range p.order {
		for _, q := range u.procs {
			if there[q.file] != q.inode && !q.r.Is(p.dir.path(q.file)) { // the list may be cut short
				q.vanished = true
			}
		}
		for _, n := range u.names {
			if there[n.file] != n.inode && !n.r.Is(p.dir.path(n.file)) {
				n.gone = true
			}
		}
	}
}

// openNames opens a file of names.
func (p *programs) openNames(f *entry, mono int64) error {
	u := p.account(f.uid)
	for _, n := range u.names {
		if !n.gone && n.inode == f.inode {
			return nil
		}
	}
	if len(u.names) >= maxNames {
		return fmt.Errorf("user %d has %d files of names, and no more are read; remove those that no program uses", u.uid, len(u.names))
	}
	r, err := reader.OpenNames(p.dir.path(f.name), f.uid)
	if err != nil {
		return err
	}
	if same := u.find(r.Nonce); same != nil {
		r.Close()
		return fmt.Errorf("it has the nonce of %s, so one of the two is a copy; remove it", same.file)
	}
	u.names = append(u.names, &names{r: r, u: u, file: f.name, inode: f.inode, idle: mono, aside: f.kind == fileAside})
	return nil
}

// openProc opens a process's file.
func (p *programs) openProc(f *entry, mono int64) error {
	u := p.account(f.uid)
	for _, q := range u.procs {
		if q.file == f.name && q.inode == f.inode {
			return nil
		}
	}
	if err := p.admit(u, f.size); err != nil {
		return err
	}
	r, err := reader.OpenProc(p.dir.path(f.name), f.uid, reader.Limits{Bytes: p.conf.MaxUserBytes})
	if err != nil {
		return err
	}
	n := u.find(r.Nonce)
	if n == nil { // the names may have come while the directory was listed
		if f, ok := p.dir.stat(strconv.FormatUint(uint64(f.uid), 10) + layout.NamesSuffix); ok && f.owner == f.uid && p.openNames(&f, mono) == nil {
			n = u.find(r.Nonce)
		}
	}
	if n == nil {
		r.Close()
		return fmt.Errorf("%s: the file of names that it refers to is not there", f.name)
	}
	q := &proc{file: f.name, inode: f.inode, r: r, u: u, n: n, old: !p.begun}
	if q.old {
		if err := r.SkipEvents(); err != nil {
			r.Close()
			return err
		}
	}
	u.procs = append(u.procs, q)
	n.procs++
	p.open++
	return nil
}

// admit checks whether another file of a user may be opened.
func (p *programs) admit(u *account, size int64) error {
	open := p.open
	for _, u := range p.order {
		open += len(u.names)
	}
	switch {
	case open >= p.most:
		return fmt.Errorf("the agent has %d files of programs open, as many as its limit of open files lets it; raise that (ulimit -n)", open)
	case p.open >= p.conf.MaxFiles:
		return fmt.Errorf("%d files of processes are read; the limit is maxprocesses in rtarm.conf", p.open)
	case len(u.procs) >= p.conf.MaxUserFiles:
		return fmt.Errorf("user %d has %d files of processes that are read; the limit is maxuserprocesses in rtarm.conf", u.uid, len(u.procs))
	}
	for _, q := range u.procs {
		size += q.r.Bytes()
	}
	if size > p.conf.MaxUserBytes {
		return fmt.Errorf("the files of user %d would have %d bytes with it; the limit maxuserbytes in rtarm.conf is %d", u.uid, size, p.conf.MaxUserBytes)
	}
	return nil
}

// dead reports whether a process has ended: its lock is free, and no process with its pid and
// start is there.
func (p *programs) dead(q *proc) (bool, error) {
	locked, err := q.r.Alive()
	if err != nil || locked {
		return false, err
	}
	return !p.alive(&q.r.ProcInfo), nil
}

// closeProc closes the file of a process that has been taken over.
func (p *programs) closeProc(q *proc, mono int64) {
	_ = q.r.Close() // nothing of it is needed
	q.r = nil
	q.n.procs--
	q.n.idle = mono
	p.open--
}

// drop forgets the files that are not needed any more, and calls gone with each file of names
// before it closes it.
func (p *programs) drop(gone func(*names)) {
	for _, u := range p.order {
		procs := u.procs[:0]
		for _, q := range u.procs {
			if q.r != nil {
				procs = append(procs, q)
			}
		}
		clear(u.procs[len(procs):])
		u.procs = procs
		list := u.names[:0]
		for _, n := range u.names {
			if n.procs == 0 && n.gone {
				gone(n)
				_ = n.r.Close() // nothing of it is needed
				continue
			}
			list = append(list, n)
		}
		clear(u.names[len(list):])
		u.names = list
	}
}

// close closes all files.
func (p *programs) close(gone func(*names)) {
	for _, u := range p.order {
		for _, q := range u.procs {
			if q.r != nil {
				_ = q.r.Close()
			}
		}
		for _, n := range u.names {
			gone(n)
			_ = n.r.Close()
		}
	}
	clear(p.users)
	p.order = nil
}

// summary adds to h how many files there are and what they hold.
func (p *programs) summary(h *Health) {
	h.Files = p.open
	for _, u := range p.order {
		for _, q := range u.procs {
			if q.stage == stageLive {
				h.Processes++
			}
			if q.r.Over() {
				h.Partial++
			}
			h.Bytes += uint64(q.r.Bytes())
		}
		h.NameFiles += len(u.names)
		for _, n := range u.names {
			h.Bytes += uint64(n.r.Bytes())
			if n.full {
				h.NamesFull++
			}
		}
	}
}
