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

// Table is told which suppliers there are.
type Table interface {
	// Opened tells of a supplier. What it has follows when its turn comes, with Load.
	Opened(*Supplier) Source
}

// Source is told of one supplier. Of its volatile contexts the methods of
// reader.Volatile tell.
type Source interface {
	reader.Volatile

	// Load has about n more of its fixed contexts taken in and reports whether these are
	// all. The volatile ones follow.
	Load(n int) (done bool)

	// Unload has about n more of its contexts given up and reports whether none is left.
	Unload(n int) (done bool)

	Stale(reason string)         // it is told to go away; Unload has begun
	Back()                       // it is back after Stale; Load follows
	Left(state State, why error) // it is gone; Unload has begun, or Stale came before
}

// State is that of a supplier.
type State string

// The states of a supplier.
const (
	Ready   State = "ready"
	Stale   State = "stale"   // its time stamp is too old
	Died    State = "died"    // its process is gone
	Ended   State = "ended"   // as it should
	Damaged State = "damaged" // its segment is not well-formed, was truncated, or is beyond a limit
)

// Options are what a Supply is made with.
type Options struct {
	Dir      segdir.Dir // of the segments; see Directory
	Conf     *conf.Config
	Users    *account.Users
	Table    Table
	Now      func() time.Time
	Log      func(format string, args ...any)
	Complain func(uid uint32, format string, args ...any) // a line that a user has caused
	Trying   bool                                         // only looks: tells suppliers nothing, removes nothing

	// Budget bounds how much processor time one Look spends on what is new or has changed, for
	// all users together. Users take turns, and what is left has its turn with the next Look. The
	// first Look may take a second. 0: no bound.
	Budget time.Duration
	Clock  func() time.Duration // what Budget is measured with; nil: the process's processor time
}

// Counts are what a Supply has counted.
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
	dirError  string // last one logged
	mendError string
	list      lister
	suppliers map[string]*Supplier     // by file name
	timeouts  map[uint32]time.Duration // that users' programs ask for, -1 for none at all
	order     []*Supplier              // the same, for taking turns
	turn      int
	leaving   []*Supplier        // gone, and not all of theirs is given up
	end       time.Duration      // of the budget, by Clock
	looked    bool               // once at least
	behind    bool               // the last Look left something for the next
	fresh     int                // suppliers of which something is not taken in yet
	current   *Supplier          // whose turn it is
	round     int                // counts the turns of users
	refused   map[string]refusal // by file name
	strays    []string           // files to look at, see clean
	claims    []string           // the same, in the folder of claims
	claimsOn  bool               // which has not been read to its end
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

// firstLook is how much longer the first Look may take, for which pmcd waits five seconds.
const firstLook = time.Second

// processorTime returns how much processor time the process has used. A machine that is busy
// with something else does not use the budget up.
func processorTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) // every Linux has it
	return time.Duration(t.Nano())
}

// due reports whether the budget is used up.
func (p *Supply) due() bool {
	return p.Budget > 0 && !p.Trying && p.Clock() >= p.end
}

// Behind reports whether the last Look has left something for the next.
func (p *Supply) Behind() bool { return p.behind || p.list.waiting > 0 }

// Tick looks at everything, and removes some of what nobody holds.
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

// Again has the directory listed again, so that those that a limit had kept out get
// another chance.
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

// Waiting returns how many of them, but for the one whose turn it is, have not been taken in
// yet.
func (p *Supply) Waiting() int {
	if p.current != nil && p.current.fresh {
		return p.fresh - 1
	}
	return p.fresh
}

// takenIn notes that nothing of what a supplier came with is left to be taken in.
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

// Watching returns nil while the directory is there, or why it is not.
func (p *Supply) Watching() error {
	if p.dir == nil {
		return fmt.Errorf("%s", p.dirError)
	}
	return nil
}
