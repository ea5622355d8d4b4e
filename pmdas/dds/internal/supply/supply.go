// Package supply reads what dynamic data suppliers publish: it watches the directory of
// their segments, decides which segment is taken, looks whether suppliers live and still
// do their work, and removes files that no process holds. It reports the suppliers and their
// contexts to a Table. It knows nothing of PCP.
//
// Everything here belongs to the agent's serving goroutine. Look is called when a request
// comes in, and Tick once a second.
package supply

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply/segments"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// Table learns from a Supply which suppliers there are.
type Table interface {
	// Opened reports a new supplier. Load takes in what the supplier has when its turn comes.
	Opened(*Supplier) Source
}

// Source learns what happens to one supplier. The methods of reader.Volatile report its
// volatile contexts.
type Source interface {
	reader.Volatile

	// Load takes in about n more of its fixed contexts and reports whether these were the last.
	// The volatile ones follow.
	Load(n int) (done bool)

	// Unload gives up about n more of its contexts and reports whether none is left.
	Unload(n int) (done bool)

	Stale(reason string)         // it was told to go away; Unload follows
	Back()                       // it is back after Stale; Load follows
	Left(state State, why error) // it is gone; Unload follows, unless Stale came before
}

// State is the state of a supplier.
type State string

// The states of a supplier.
const (
	Ready   State = "ready"
	Stale   State = "stale"   // its time stamp is too old
	Died    State = "died"    // its process is gone
	Ended   State = "ended"   // it ended as it should
	Damaged State = "damaged" // its segment is not well-formed, was truncated, or is beyond a limit
)

// Options are the options of New.
type Options struct {
	Dir      segdir.Dir // of the segments; see Directory
	Conf     *conf.Config
	Users    *account.Users
	Table    Table
	Now      func() time.Time
	Log      func(format string, args ...any)
	Complain func(uid uint32, format string, args ...any) // logs a line that a user has caused
	Trying   bool                                         // only looks: tells suppliers nothing, removes nothing

	// Budget bounds how much processor time one Look spends on what is new or has changed, for
	// all users together. Users take turns; the next Look goes on with what is left. The first
	// Look may take a second. 0: no bound.
	Budget time.Duration
	Clock  func() time.Duration // measures Budget; nil: the process's processor time
}

// Counts are what a Supply counts.
type Counts struct {
	Opened, Refused, Damaged, Stale, Died, Removed uint64

	Names  uint64 // names of files heard of or read
	Visits uint64 // files looked at
}

// Supply is all suppliers whose segments are in one directory.
type Supply struct {
	Options
	Counts Counts

	dir       *segments.Dir
	dirError  string // the last one logged
	mendError string
	list      lister
	suppliers map[string]*Supplier     // by file name
	timeouts  map[uint32]time.Duration // time-outs that users' programs ask for; -1: for none at all
	order     []*Supplier              // the same suppliers, in the order of their turns
	turn      int
	leaving   []*Supplier        // suppliers that are gone but not yet given up completely
	end       time.Duration      // of the budget, by Clock
	looked    bool               // Look was called at least once
	behind    bool               // the last Look left something for the next
	fresh     int                // suppliers of which something is not taken in yet
	current   *Supplier          // whose turn it is
	round     int                // counts the turns of users
	refused   map[string]refusal // by file name
	strays    []string           // files to look at, see clean
	claims    []string           // the same, in the folder of claims
	claimsOn  bool               // the folder of claims has not been read to its end
	claimsAt  time.Time
}

// New returns a Supply that has not looked at its directory yet.
func New(o Options) *Supply {
	if o.Clock == nil {
		o.Clock = processorTime
	}
	return &Supply{Options: o, suppliers: make(map[string]*Supplier), timeouts: make(map[uint32]time.Duration), refused: make(map[string]refusal),
		list: lister{queue: make(map[uint32][]candidate)}}
}

// Look finds suppliers that came and went, and what they changed, within the budget.
func (p *Supply) Look() {
	p.behind = false
	if p.Budget > 0 {
		p.end = p.Clock() + p.Budget
		if !p.looked {
			p.end += firstLook
		}
	}
	p.looked = true
	p.watch()
	for i := 0; i < len(p.order); i++ {
		if s := p.order[i]; s.fault != nil {
			p.vanish(s, Damaged, s.fault)
			i--
		}
	}
	p.work()
	// Each request pays for a few of the checks that otherwise come once a second.
	for range min(len(p.order), 4) {
		p.turn++
		if p.turn >= len(p.order) {
			p.turn = 0
		}
		if p.turn < len(p.order) {
			p.checkAlive(p.order[p.turn])
		}
	}
}

// firstLook is how much longer the first Look may take. pmcd waits five seconds for it.
const firstLook = time.Second

// processorTime returns how much processor time the process has used. A machine that is busy
// with something else does not use the budget up.
func processorTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) // every Linux has this clock
	return time.Duration(t.Nano())
}

// due reports whether the budget is used up.
func (p *Supply) due() bool {
	return p.Budget > 0 && !p.Trying && p.Clock() >= p.end
}

// Behind reports whether the last Look has left something for the next.
func (p *Supply) Behind() bool { return p.behind || p.list.waiting > 0 }

// Tick looks at all suppliers, and removes some of the files that nobody holds.
func (p *Supply) Tick() {
	if p.dir == nil {
		p.mend()
	}
	p.Look()
	p.clean()
	now := p.Now()
	for _, s := range p.order {
		p.check(s, now)
	}
	p.work() // some may have come back
}

// Again makes the next look list the directory again, so that suppliers that a limit has kept
// out get another chance.
func (p *Supply) Again() { p.list.again = true }

// Close closes all segments and leaves them as they are.
func (p *Supply) Close() {
	for _, s := range p.suppliers {
		s.r.Close()
	}
	if p.dir != nil {
		p.dir.Close()
	}
}

// All returns the suppliers that are there, stale ones included.
func (p *Supply) All() iter.Seq[*Supplier] { return slices.Values(p.order) }

// Len returns how many there are.
func (p *Supply) Len() int { return len(p.suppliers) }

// Waiting returns how many of them have not been taken in yet, without the one whose turn it
// is.
func (p *Supply) Waiting() int {
	if p.current != nil && p.current.fresh {
		return p.fresh - 1
	}
	return p.fresh
}

// takenIn notes that all that a supplier came with is taken in.
func (p *Supply) takenIn(s *Supplier) {
	if s.fresh {
		s.fresh = false
		p.fresh--
	}
}

// Bytes returns the size of all their segments.
func (p *Supply) Bytes() (n int64) {
	for _, s := range p.order {
		n += s.bytes
	}
	return n
}

// Watching returns nil while the directory is watched, and otherwise why it is not.
func (p *Supply) Watching() error {
	if p.dir == nil {
		return fmt.Errorf("%s", p.dirError)
	}
	return nil
}
