package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
)

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
	r, err := reader.Open(a.dir.Path(file), reader.Limits{
		Size: a.conf.Bytes - u.bytes, Contexts: a.conf.Contexts, Stats: a.conf.Statistics})
	if err != nil {
		return nil, err
	}
	if r.Info().UID != u.uid {
		r.Close()
		return nil, fmt.Errorf("%w: user %d, and its name says %d", reader.ErrOwner, r.Info().UID, u.uid)
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
