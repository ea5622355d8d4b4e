package agent

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/internal/shm"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/segdir"
)

// What one look at the directory does at most, as pmcd waits five seconds for an answer
// and anybody may put files there. Files that wait for their turn do so for each owner
// apart, and owners take turns: what one makes delays nobody else's.
const (
	listEvery    = 30 * time.Second
	namesAtOnce  = 2000  // read from the directory
	visitsAtOnce = 1000  // files looked at
	maxQueue     = 5000  // files of one owner that wait
	maxRefused   = 50000 // refused segments that are remembered
	atStart      = 50    // times namesAtOnce are read by the first look
)

// lister reads the directory little by little.
type lister struct {
	at      time.Time // when the last pass began
	on      bool      // a pass is under way
	again   bool      // another one is due
	pass    uint64    // counts them
	files   map[uint32]int
	queue   map[uint32][]candidate // by owner
	waiting int
	names   uint64 // heard of or read, ever
	visits  uint64 // files looked at, ever
}

// candidate is a file to look at.
type candidate struct {
	name   string
	entry  segdir.Entry
	listed bool // not heard of
	over   bool // its owner has too many
}

// refusal is why a file is not taken, and what it was then.
type refusal struct {
	why   string
	mark  segdir.Mark
	retry bool   // it may be taken later on, unchanged
	pass  uint64 // the last one that found it
}

// watch hears what happened in the directory.
func (a *Agent) watch() {
	if a.dir == nil && !a.openDir() {
		return
	}
	names, err := a.dir.Events()
	for name := range names {
		a.list.names++
		a.enqueue(candidate{name: name, entry: a.dir.Look(name)})
	}
	switch {
	case errors.Is(err, segdir.ErrGone):
		a.dir.Close()
		a.dir = nil
		a.openDir()
	case err != nil:
		a.list.again = true
	}
	if a.dir == nil {
		return
	}
	// Also those get another turn that a limit had kept out.
	if now := a.now(); !a.list.on && (a.list.again || now.Sub(a.list.at) >= listEvery) {
		a.mend()
		a.list.at, a.list.on, a.list.again, a.list.files = now, true, false, make(map[uint32]int)
		a.list.pass++
	}
	// The first look waits for all names, so that age decides among them.
	for n := 0; a.list.on && (n == 0 || a.list.pass == 1 && n < atStart); n++ {
		a.readOn()
	}
	for _, c := range a.next() {
		a.list.visits++
		a.visit(c)
	}
}

func (a *Agent) openDir() bool {
	d, err := segdir.Open(a.dirPath)
	if err != nil {
		if a.dirError != err.Error() {
			a.dirError = err.Error()
			a.server.Logf("%v", err)
		}
		return false
	}
	if a.dirError != "" {
		a.server.Logf("%s is there", a.dirPath)
	}
	a.dir, a.dirError, a.list.on, a.list.again = d, "", false, true
	return true
}

// readOn reads some more of the directory.
func (a *Agent) readOn() {
	names, others, last, err := a.dir.List(namesAtOnce)
	if err != nil {
		a.complain("%v", err)
	}
	a.list.names += uint64(len(names) + len(others))
	for _, name := range names {
		if a.suppliers[name] != nil {
			continue
		}
		c := candidate{name: name, entry: a.dir.Look(name), listed: true}
		a.list.files[c.entry.UID]++
		c.over = a.list.files[c.entry.UID] > a.conf.Suppliers
		if r, ok := a.refused[name]; ok {
			r.pass = a.list.pass
			a.refused[name] = r
			if !c.over && !r.retry && r.mark == c.entry.Mark {
				a.stray(name)
				continue
			}
		}
		a.enqueue(c)
		a.stray(name)
	}
	for _, name := range others {
		a.stray(name)
	}
	if last || err != nil {
		a.readAll()
	}
}

// readAll ends a pass.
func (a *Agent) readAll() {
	a.list.on = false
	for name, r := range a.refused {
		if r.pass != a.list.pass {
			delete(a.refused, name)
		}
	}
	for _, q := range a.list.queue {
		slices.SortFunc(q, byAge)
	}
}

// byAge has the older of two files first.
func byAge(x, y candidate) int {
	return cmp.Or(cmp.Compare(x.entry.Made, y.entry.Made), cmp.Compare(x.name, y.name))
}

// enqueue has a file wait for its turn. Where too many of its owner's do, a later pass
// finds it.
func (a *Agent) enqueue(c candidate) {
	q := a.list.queue[c.entry.UID]
	if len(q) >= maxQueue {
		a.list.again = true
		return
	}
	a.list.queue[c.entry.UID] = append(q, c)
	a.list.waiting++
}

// next takes the files whose turn it is out of the queue. The oldest come first, so that
// of several suppliers of one path the same one has it after a restart of the agent.
func (a *Agent) next() (list []candidate) {
	share := visitsAtOnce / max(len(a.list.queue), 1)
	for uid, q := range a.list.queue {
		n := len(q)
		if a.list.waiting > visitsAtOnce {
			n = min(n, max(share, 1), visitsAtOnce-len(list))
		}
		list = append(list, q[:n]...)
		if a.list.queue[uid] = q[n:]; n == len(q) {
			delete(a.list.queue, uid)
		}
	}
	a.list.waiting -= len(list)
	slices.SortFunc(list, byAge)
	return list
}

// visit looks at a file. One that was refused is refused without another look while it is
// as it was: closing it after the look makes something happen to it once more.
func (a *Agent) visit(c candidate) {
	s := a.suppliers[c.name]
	if s != nil && a.check(s, a.now()) {
		if s.r.Is(a.dir.Path(c.name)) {
			return
		}
		a.vanish(s, stateEnded, nil)
	}
	if c.over && !a.trying && a.dir.RemoveFree(c.name) {
		a.counts.removed++
		delete(a.refused, c.name)
		return
	}
	if r, ok := a.refused[c.name]; ok && r.mark == a.dir.Look(c.name).Mark && !(r.retry && c.listed) {
		return
	}
	a.admit(c.name)
}

// final are the reasons to refuse a segment that hold until it changes.
var final = []error{reader.ErrFormat, reader.ErrOwner, shm.ErrFault, shm.ErrSmall, shm.ErrNotRegular, shm.ErrLinks, fs.ErrPermission}

// refuse notes a segment that is not taken.
func (a *Agent) refuse(file string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDead) {
		delete(a.refused, file)
		return
	}
	old, there := a.refused[file]
	if !there && len(a.refused) >= maxRefused {
		return
	}
	r := refusal{why: err.Error(), mark: a.dir.Look(file).Mark, pass: a.list.pass}
	if old.why == wasOpen {
		r.why = wasOpen
	}
	quiet := errors.Is(err, reader.ErrEnded) || errors.Is(err, reader.ErrNotReady)
	r.retry = !slices.ContainsFunc(final, func(e error) bool { return errors.Is(err, e) })
	a.refused[file] = r
	if quiet || old.why == r.why {
		return
	}
	a.counts.refused++
	if errors.Is(err, reader.ErrFormat) || errors.Is(err, shm.ErrFault) {
		a.counts.damaged++
	}
	a.complain("refused: %v", err)
}

// wasOpen stands for why a segment is refused that was open and is damaged now, as has
// been counted and logged already.
const wasOpen = "damaged"
