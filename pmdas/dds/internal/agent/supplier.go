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

// supplier is a program whose segment is open.
type supplier struct {
	agent  *Agent
	file   string
	r      *ddsseg.Reader
	uid    uint32
	user   *account
	name   string // made printable
	row    *row
	fixed  []*live
	slots  map[uint32]*live
	forms  map[formKey]*form
	values int
	bytes  int64
	stale  bool
	gone   bool

	stamp   time.Time // as last seen
	stampAt time.Time // when it was first seen so

	touched uint64 // the fetch that asked for values
	asked   int    // of which so many were this supplier's
	told    told
}

// account is what a user's suppliers use of what the limits grant.
type account struct {
	uid       uint32
	name      string
	suppliers int
	contexts  int
	values    int
	metrics   int
	rows      int
	bytes     int64
	domains   int // ever
	churn     bucket
	names     bucket
}

// bucket bounds what a user can cause: so much at once, and so much a second later on.
type bucket struct {
	left float64
	at   time.Time
}

// fill returns what is left at now.
func (b *bucket) fill(now time.Time, burst, rate float64) float64 {
	if b.at.IsZero() {
		b.left = burst
	} else {
		b.left = min(b.left+max(now.Sub(b.at).Seconds(), 0)*rate, burst)
	}
	b.at = now
	return b.left
}

const (
	churnBurst = 400000 // changes of slots at once
	churnRate  = 20000  // and in each second thereafter
)

// Why a supplier or one of its contexts is refused.
var (
	errTaken  = errors.New("the name belongs to another supplier")
	errTyped  = errors.New("another supplier has a statistic of that name and another type")
	errNumber = errors.New("no number at present")
)

func overLimit(what string, n int) error {
	return fmt.Errorf("%w: more than %d %s of one user", ddsseg.ErrLimit, n, what)
}

// look finds suppliers that came and went, and what they changed.
func (a *Agent) look() {
	a.watch()
	for i := 0; i < len(a.order); i++ {
		s := a.order[i]
		yes, err := s.r.Changed()
		if err == nil && yes && !s.stale {
			err = s.scan()
		}
		if err != nil {
			a.vanish(s, stateDamaged, err)
			i--
		}
	}
	// Each request pays for a few of the checks that otherwise come once a second.
	for range min(len(a.order), 4) {
		a.turn++
		if a.turn >= len(a.order) {
			a.turn = 0
		}
		if a.turn < len(a.order) {
			a.checkAlive(a.order[a.turn])
		}
	}
	a.sweep()
}

// watch hears what happened in the directory.
func (a *Agent) watch() {
	if a.dir == nil && !a.openDir() {
		return
	}
	names, err := a.dir.Events()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a.visit(name)
	}
	a.welcome()
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
	a.dir, a.dirError, a.listAt = d, "", time.Time{}
	return true
}

func (a *Agent) list() {
	names, err := a.dir.List()
	if err != nil {
		a.complain("%v", err)
		return
	}
	slices.Sort(names)
	known := make(map[string]string)
	for _, name := range names {
		if why := a.refused[name]; why != "" {
			known[name] = why
		}
	}
	a.refused = known
	for _, name := range names {
		if a.suppliers[name] == nil {
			a.visit(name)
		}
	}
	a.welcome()
}

// visit looks at a file that something has happened to.
func (a *Agent) visit(name string) {
	s := a.suppliers[name]
	if s != nil && a.check(s, a.now()) {
		if s.r.Is(a.dir.Path(name)) {
			return
		}
		a.vanish(s, stateEnded, nil)
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

// welcome takes in what the suppliers have that were opened. Those that came together
// have been noted all of them by then, so that it does not matter in which order they
// are dealt with whose volatile contexts are below fixed ones of others.
func (a *Agent) welcome() {
	for _, s := range a.fresh {
		if s.gone {
			continue
		}
		if err := s.load(); err != nil {
			a.vanish(s, stateDamaged, err)
			continue
		}
		a.check(s, a.now())
	}
	a.fresh = a.fresh[:0]
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
	if why := err.Error(); a.refused[file] != why && len(a.refused) < maxRefused {
		a.refused[file] = why
		a.counts.refused++
		a.complain("refused: %s", why)
	}
}

// maxRefused bounds how many refused segments are remembered, so as to be logged once.
const maxRefused = 10000

// load takes in all contexts.
func (s *supplier) load() error {
	for i := range s.r.Contexts() {
		c := &s.r.Contexts()[i]
		if !c.Template {
			s.addFixed(c)
		}
	}
	return s.scan()
}

// unload gives all contexts up.
func (s *supplier) unload() {
	for slot := range s.slots {
		s.Gone(slot)
	}
	for _, l := range s.fixed {
		s.agent.tree.drop(l)
	}
	s.fixed = nil
	s.note(-1)
}

// scan follows what changed in the slots.
func (s *supplier) scan() error {
	n, err := s.r.Scan(s, int(s.user.churn.fill(s.agent.now(), churnBurst, churnRate)))
	s.user.churn.left -= float64(n)
	if grown := s.r.Bytes() - s.bytes; grown > 0 {
		s.bytes += grown
		s.user.bytes += grown
	}
	if err == nil && s.user.bytes > s.agent.conf.Bytes {
		err = fmt.Errorf("%w: more than %d bytes of one user", ddsseg.ErrLimit, s.agent.conf.Bytes)
	}
	return err
}

// Gone is told that a volatile context is gone.
func (s *supplier) Gone(slot uint32) {
	if l := s.slots[slot]; l != nil {
		delete(s.slots, slot)
		s.agent.tree.drop(l)
	}
}

// Came is told of a volatile context.
func (s *supplier) Came(slot uint32, c *ddsseg.Context, err error) {
	if err != nil {
		s.fault("slot "+strconv.FormatUint(uint64(slot), 10), err)
		return
	}
	l := &live{tree: &s.agent.tree, sup: s, c: c}
	s.slots[slot] = l
	s.agent.tree.add(l)
}

func (s *supplier) addFixed(c *ddsseg.Context) {
	if len(c.Stats) == 0 {
		return
	}
	l := &live{tree: &s.agent.tree, sup: s, c: c}
	s.fixed = append(s.fixed, l)
	s.agent.tree.add(l)
}

// fault notes something of the supplier's that is not exported.
func (s *supplier) fault(what string, err error) {
	s.row.errors++
	s.row.reason = fmt.Sprintf("%s: %v", what, err)
	s.agent.complain("supplier %s: %s", s.row.title, s.row.reason)
}

// checkAlive reports whether the supplier's process lives; otherwise all of its goes.
func (a *Agent) checkAlive(s *supplier) bool {
	if s.gone {
		return false
	}
	alive, err := s.r.Alive()
	if err == nil && alive {
		return true
	}
	state, _ := s.r.State()
	if state == ddsseg.StateEnded {
		a.vanish(s, stateEnded, nil)
	} else {
		a.vanish(s, stateDied, err)
	}
	return false
}

// check looks whether a supplier still does its work. It reports whether it is there.
func (a *Agent) check(s *supplier, now time.Time) bool {
	if s.gone {
		return false
	}
	state, err := s.r.State()
	if err == nil && state != ddsseg.StateReady {
		a.vanish(s, stateEnded, nil)
		return false
	}
	if err == nil && !a.checkAlive(s) {
		return false
	}
	if err == nil {
		err = s.checkStamp(now)
	}
	if err != nil {
		a.vanish(s, stateDamaged, err)
		return false
	}
	return true
}

// checkStamp looks at the time stamp. A clock that is set, or a machine that slept,
// makes no supplier old: a stamp counts as new whenever it is another than before. Only
// one that is seen for the first time is compared with the clock.
func (s *supplier) checkStamp(now time.Time) error {
	stamp, err := s.r.Stamp()
	if err != nil {
		return err
	}
	if s.stampAt.IsZero() || !stamp.Equal(s.stamp) {
		first := s.stampAt.IsZero()
		s.stamp, s.stampAt = stamp, now
		if old := now.Round(0).Sub(stamp); first && !stamp.IsZero() && old > 0 && old < 24*time.Hour {
			s.stampAt = now.Add(-old)
		}
	}
	timeout := s.agent.conf.Timeout
	old := timeout > 0 && now.Sub(s.stampAt) > timeout
	switch {
	case old && !s.stale:
		return s.retire(now)
	case !old && s.stale:
		return s.returned()
	}
	return nil
}

// retire tells a supplier to go away, and takes its contexts away.
func (s *supplier) retire(now time.Time) error {
	s.stale = true
	s.unload()
	s.row.state = stateStale
	s.row.reason = fmt.Sprintf("no new time stamp for %v", now.Sub(s.stampAt).Round(time.Second))
	s.agent.counts.stale++
	s.agent.complain("supplier %s: %s: told to go away", s.row.title, s.row.reason)
	if s.agent.trying {
		return nil
	}
	return s.r.SetGoAway()
}

// returned takes a supplier in again that has come to life, and has itself withdrawn
// what it was told.
func (s *supplier) returned() error {
	away, err := s.r.GoAway()
	if err != nil || away {
		return err
	}
	s.stale = false
	s.row.state, s.row.reason = stateReady, ""
	s.r.Rewind()
	s.note(1)
	s.agent.complain("supplier %s: is back", s.row.title)
	return s.load()
}

// vanish takes a supplier away. What it left behind is removed, unless it still runs.
func (a *Agent) vanish(s *supplier, state string, why error) {
	if s.gone {
		return
	}
	s.gone = true
	if !s.stale {
		s.unload()
	}
	s.row.leave(state, why, a.now())
	switch state {
	case stateDied:
		a.counts.died++
		a.remove(s.file)
	case stateDamaged:
		a.counts.damaged++
	}
	if state != stateEnded {
		a.complain("supplier %s: %s", s.row.title, s.row.why())
	}
	s.r.Close()
	delete(a.suppliers, s.file)
	s.user.suppliers--
	s.user.bytes -= s.bytes
	if i := slices.Index(a.order, s); i >= 0 {
		a.order = slices.Delete(slices.Clone(a.order), i, i+1)
	}
	a.demand.forget(s)
}

// sweep deals with what getting values has found, and gives those a turn that waited
// for a name to become free.
func (a *Agent) sweep() {
	for _, s := range a.tree.broken {
		a.vanish(s, stateDamaged, s.row.fault)
	}
	a.tree.broken = a.tree.broken[:0]
	a.tree.retry()
}
