package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg"
	"github.com/pcp-rtime/rtime/internal/shm"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/segdir"
)

// watch hears what happened in the directory.
func (a *Agent) watch() {
	if a.dir == nil && !a.openDir() {
		return
	}
	names, err := a.dir.Events()
	if len(names) > 0 {
		list := slices.Collect(maps.Keys(names))
		a.dir.ByAge(list)
		for _, name := range list {
			a.visit(name, false)
		}
	}
	switch {
	case errors.Is(err, segdir.ErrGone):
		a.dir.Close()
		a.dir = nil
		a.openDir()
	case err != nil:
		a.listAt = time.Time{}
	}
	// Also those get another turn that a limit had kept out.
	if now := a.now(); a.dir != nil && now.Sub(a.listAt) >= listEvery {
		a.listAt = now
		a.list()
	}
}

const listEvery = 30 * time.Second

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
	a.dir, a.dirError, a.listAt = d, "", time.Time{}
	return true
}

// list looks at all files. The oldest come first, so that of several suppliers of one
// path the same one has it after a restart of the agent.
func (a *Agent) list() {
	a.mend()
	names, others, err := a.dir.List()
	if err != nil {
		a.complain("%v", err)
		return
	}
	a.dir.ByAge(names)
	known := make(map[string]refusal)
	for _, name := range names {
		if r, ok := a.refused[name]; ok {
			known[name] = r
		}
	}
	a.refused = known
	for _, name := range names {
		if a.suppliers[name] == nil {
			a.visit(name, true)
		}
	}
	a.findStrays(names, others)
}

// visit looks at a file that something has happened to. One that was refused is refused
// without another look while it is as it was, unless again is true: closing it after the
// look makes something happen to it once more.
func (a *Agent) visit(name string, again bool) {
	s := a.suppliers[name]
	if s != nil && a.check(s, a.now()) {
		if s.r.Is(a.dir.Path(name)) {
			return
		}
		a.vanish(s, stateEnded, nil)
	}
	if r, ok := a.refused[name]; ok && !again && r.mark == a.dir.Mark(name) {
		return
	}
	a.admit(name)
}

// admit opens a segment.
func (a *Agent) admit(file string) {
	if a.suppliers[file] != nil {
		return
	}
	uid, ok := owner(file)
	if !ok {
		return
	}
	u := a.account(uid)
	defer a.settle(u)
	s, err := a.openSupplier(file, u)
	if err != nil {
		a.refuse(file, err)
		return
	}
	delete(a.refused, file)
	a.suppliers[file] = s
	a.order = append(a.order, s)
	u.suppliers++
	u.bytes += s.bytes
	s.row = a.newRow(s)
	a.counts.opened++
	a.server.Logf("supplier %s: %s of %s, process %d", s.row.title, s.file, u.name, s.r.Info().PID)
	s.note(1)
	a.fresh = append(a.fresh, s)
}

// welcomeAtOnce bounds how many metrics and contexts of suppliers that came together are
// taken in before a request is answered, for which pmcd waits five seconds; the last of
// the suppliers is taken in whole. The others have their turn with the next request, or
// within a second.
const welcomeAtOnce = 20000

// welcome takes in what the suppliers have that were opened. Those that came together
// have been noted all of them by then, so that it does not matter in which order they
// are dealt with whose volatile contexts are below fixed ones of others.
func (a *Agent) welcome() {
	size := func() int { return len(a.tree.used) + a.tree.exports }
	for before := size(); len(a.fresh) > 0 && (a.trying || size()-before < a.atOnce); {
		s := a.fresh[0]
		a.fresh = a.fresh[1:]
		if s.gone || s.stale || s.loaded {
			continue
		}
		if err := s.load(); err != nil {
			a.vanish(s, stateDamaged, err)
			continue
		}
		a.check(s, a.now())
	}
	if len(a.fresh) == 0 {
		a.fresh = nil
	}
}

// note tells the tree of the fixed contexts, and tells it that they are gone.
func (s *supplier) note(n int) {
	for i := range s.r.Contexts() {
		if c := &s.r.Contexts()[i]; !c.Template {
			s.agent.tree.note(c.Path, n)
		}
	}
}

// owner returns the user that a segment's name names: UID-PID-RANDOM.dds.
func owner(file string) (uint32, bool) {
	digits, _, ok := strings.Cut(file, "-")
	uid, err := strconv.ParseUint(digits, 10, 32)
	return uint32(uid), ok && err == nil
}

func (a *Agent) account(uid uint32) *account {
	u := a.users[uid]
	if u == nil {
		u = &account{uid: uid, name: userName(uid)}
		a.users[uid] = u
	}
	return u
}

// settle forgets a user who has nothing.
func (a *Agent) settle(u *account) {
	if u.suppliers == 0 && u.metrics == 0 && u.rows == 0 && u.domains == 0 {
		delete(a.users, u.uid)
	}
}

// openSupplier opens a segment, within what the user has left.
func (a *Agent) openSupplier(file string, u *account) (*supplier, error) {
	if u.suppliers >= a.conf.Suppliers {
		return nil, overLimit("suppliers", a.conf.Suppliers)
	}
	r, err := ddsseg.OpenReader(a.dir.Path(file), ddsseg.Limits{
		Size: a.conf.Bytes - u.bytes, Contexts: a.conf.Contexts, Stats: a.conf.Statistics})
	if err != nil {
		return nil, err
	}
	if r.Info().UID != u.uid {
		r.Close()
		return nil, fmt.Errorf("%w: user %d, and its name says %d", ddsseg.ErrOwner, r.Info().UID, u.uid)
	}
	if alive, err := r.Alive(); err != nil || !alive {
		r.Close()
		a.remove(file)
		return nil, errors.Join(errDead, err)
	}
	s := &supplier{agent: a, file: file, r: r, uid: u.uid, user: u, bytes: r.Bytes(),
		slots: make(map[uint32]*live), forms: make(map[formKey]*form)}
	s.name = supplierName(r.Info())
	return s, nil
}

var errDead = errors.New("its process is gone")

// remove removes the file that a supplier left behind.
func (a *Agent) remove(file string) {
	if a.trying {
		return
	}
	if err := a.dir.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.complain("%s: %v", file, err)
	}
}

// refuse notes a segment that is not taken.
func (a *Agent) refuse(file string, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errDead), errors.Is(err, ddsseg.ErrEnded), errors.Is(err, ddsseg.ErrNotReady):
		return
	case errors.Is(err, ddsseg.ErrFormat), errors.Is(err, shm.ErrFault):
		defer func(n uint64) { a.counts.damaged += a.counts.refused - n }(a.counts.refused)
	}
	why, old := err.Error(), a.refused[file].why
	if old == "" && len(a.refused) >= maxRefused {
		return
	}
	if old == wasOpen {
		why = wasOpen
	}
	a.refused[file] = refusal{why, a.dir.Mark(file)}
	if old != why {
		a.counts.refused++
		a.complain("refused: %v", err)
	}
}

// maxRefused bounds how many refused segments are remembered, so as to be logged once.
const maxRefused = 10000

// wasOpen stands for why a segment is refused that was open and is damaged now, as has
// been counted and logged already.
const wasOpen = "damaged"
