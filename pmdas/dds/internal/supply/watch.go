package supply

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/internal/shm"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply/segments"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// The limits of one look at the directory. pmcd waits only five seconds for an answer, and any
// user may put files there. Files wait for their turn in a queue for each owner, and owners
// take turns, so that the files of one do not delay those of another.
const (
	ListEvery    = 30 * time.Second
	NamesAtOnce  = 2000  // names read from the directory
	VisitsAtOnce = 1000  // files looked at
	maxQueue     = 5000  // files of one owner that may wait
	maxRefused   = 50000 // refused segments that are remembered
	atStart      = 50    // the first look reads so many times NamesAtOnce
)

// lister reads the directory little by little.
type lister struct {
	at      time.Time              // when the last pass began
	on      bool                   // a pass is under way
	again   bool                   // another one is due
	pass    uint64                 // counts them
	files   map[uint32]int         // listed in this pass, by owner
	queue   map[uint32][]candidate // by owner
	waiting int
}

// candidate is a file to look at.
type candidate struct {
	name   string
	entry  segments.Entry
	listed bool // found in the directory, not reported by the kernel
	over   bool // its owner has too many
}

// refusal is the reason for which a file was refused, and the file's state at that time.
type refusal struct {
	why   string
	mark  segments.Mark
	retry bool   // it may be taken later, unchanged
	pass  uint64 // the last pass that found it
}

// watch reads which files have changed in the directory.
func (p *Supply) watch() {
	if p.dir == nil && !p.openDir() {
		return
	}
	names, err := p.dir.Events()
	for name := range names {
		p.Counts.Names++
		p.enqueue(candidate{name: name, entry: p.dir.Look(name)})
	}
	switch {
	case errors.Is(err, segdir.ErrGone):
		p.dir.Close()
		p.dir = nil
		p.openDir()
	case err != nil:
		p.list.again = true
	}
	if p.dir == nil {
		return
	}
	// Files that a limit has kept out get another chance, too.
	if now := p.Now(); !p.list.on && (p.list.again || now.Sub(p.list.at) >= ListEvery) {
		p.mend()
		p.list.at, p.list.on, p.list.again, p.list.files = now, true, false, make(map[uint32]int)
		p.list.pass++
	}
	// The first look waits for all names, so that age decides among them.
	for n := 0; p.list.on && (n == 0 || p.list.pass == 1 && n < atStart); n++ {
		p.readOn()
	}
	p.visits()
}

func (p *Supply) openDir() bool {
	d, err := segments.Open(p.Dir.Path)
	if err != nil {
		if p.dirError != err.Error() {
			p.dirError = err.Error()
			p.Log("%v", err)
		}
		return false
	}
	if p.dirError != "" {
		p.Log("%s is there", p.Dir.Path)
	}
	p.dir, p.dirError, p.list.on, p.list.again = d, "", false, true
	return true
}

// readOn reads some more of the directory.
func (p *Supply) readOn() {
	names, others, last, err := p.dir.List(NamesAtOnce)
	if err != nil {
		p.Complain(nobody, "%v", err)
	}
	p.Counts.Names += uint64(len(names) + len(others))
	for _, name := range names {
		if p.suppliers[name] != nil {
			continue
		}
		c := candidate{name: name, entry: p.dir.Look(name), listed: true}
		p.list.files[c.entry.UID]++
		c.over = p.list.files[c.entry.UID] > p.Conf.Suppliers
		if r, ok := p.refused[name]; ok {
			r.pass = p.list.pass
			p.refused[name] = r
			if !c.over && !r.retry && r.mark == c.entry.Mark {
				p.stray(name)
				continue
			}
		}
		p.enqueue(c)
		p.stray(name)
	}
	for _, name := range others {
		p.stray(name)
	}
	if last || err != nil {
		p.readAll()
	}
}

// readAll ends a pass.
func (p *Supply) readAll() {
	p.list.on = false
	if !p.Trying {
		p.dropNotices()
	}
	for name, r := range p.refused {
		if r.pass != p.list.pass {
			delete(p.refused, name)
		}
	}
}

// byAge puts the older of two files first.
func byAge(x, y candidate) int {
	return cmp.Or(cmp.Compare(x.entry.Made, y.entry.Made), cmp.Compare(x.name, y.name))
}

// enqueue puts a file into its owner's queue. If the queue is full, a later pass finds the
// file.
func (p *Supply) enqueue(c candidate) {
	q := p.list.queue[c.entry.UID]
	if len(q) >= maxQueue {
		p.list.again = true
		return
	}
	p.list.queue[c.entry.UID] = append(q, c)
	p.list.waiting++
}

// visits looks at the files whose turn it is. Owners take turns; the oldest file of an owner
// comes first.
func (p *Supply) visits() {
	for _, q := range p.list.queue {
		if !slices.IsSortedFunc(q, byAge) {
			slices.SortFunc(q, byAge)
		}
	}
	for n := 0; p.list.waiting > 0; {
		for uid, q := range p.list.queue {
			if n > 0 && p.due() || n == VisitsAtOnce {
				p.behind = true
				return
			}
			if p.list.queue[uid] = q[1:]; len(q) == 1 {
				delete(p.list.queue, uid)
			}
			p.list.waiting--
			n++
			p.Counts.Visits++
			p.visit(q[0])
		}
	}
}

// visit looks at a file. If the file was refused before and has not changed, visit refuses it
// again and does not open it: closing it would be an event that makes the agent visit it
// again.
func (p *Supply) visit(c candidate) {
	s := p.suppliers[c.name]
	if s != nil && p.check(s, p.Now()) {
		if s.r.Is(p.dir.Path(c.name)) {
			return
		}
		p.vanish(s, Ended, nil)
	}
	if c.over && !p.Trying && p.dir.RemoveFree(c.name) {
		p.Counts.Removed++
		delete(p.refused, c.name)
		return
	}
	if r, ok := p.refused[c.name]; ok && r.mark == p.dir.Look(c.name).Mark && !(r.retry && c.listed) {
		return
	}
	p.admit(c.name, p.dir.Look(c.name).Made)
}

// final are the reasons for which a segment is refused until it changes.
var final = []error{reader.ErrFormat, reader.ErrOwner, shm.ErrFault, shm.ErrSmall, shm.ErrNotRegular, shm.ErrLinks, fs.ErrPermission}

// refuse notes a segment that is not taken.
func (p *Supply) refuse(file string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDead) {
		delete(p.refused, file)
		return
	}
	old, there := p.refused[file]
	if !there && len(p.refused) >= maxRefused {
		return
	}
	r := refusal{why: err.Error(), mark: p.dir.Look(file).Mark, pass: p.list.pass}
	if old.why == wasOpen {
		r.why = wasOpen
	}
	quiet := errors.Is(err, reader.ErrEnded) || errors.Is(err, reader.ErrNotReady)
	r.retry = !slices.ContainsFunc(final, func(e error) bool { return errors.Is(err, e) })
	p.refused[file] = r
	if quiet || old.why == r.why {
		return
	}
	p.Counts.Refused++
	if errors.Is(err, reader.ErrFormat) || errors.Is(err, shm.ErrFault) {
		p.Counts.Damaged++
	}
	p.Complain(p.dir.Look(file).UID, "refused: %v", err)
}

// wasOpen is the reason to refuse a segment that was open before and is damaged now. That
// damage has been counted and logged already.
const wasOpen = "damaged"
