// Package supply reads what dynamic data suppliers publish: it watches the directory of
// their segments, decides which segment is taken, looks whether suppliers live and still
// do their work, and removes what nobody holds. Of what suppliers have it tells a Table.
// It knows no PCP.
//
// Everything here belongs to the agent's serving goroutine. Look is called when a request
// comes in, and Tick once a second.
package supply

import (
	"fmt"
	"iter"
	"slices"
	"time"

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
	// Size is how many metrics and contexts there are, see Options.AtOnce.
	Size() int
}

// Source is told of one supplier. Of its volatile contexts the methods of
// reader.Volatile tell.
type Source interface {
	reader.Volatile
	Load()                       // its fixed contexts are to be taken in; the volatile ones follow
	Unload()                     // nothing that it has is to be shown any more
	Stale(reason string)         // it is told to go away; Unload came before
	Back()                       // it is back after Stale; Load follows
	Left(state State, why error) // it is gone; Unload or Stale came before
}

// State is that of a supplier.
type State string

// The states of a supplier.
const (
	Ready   State = "ready"
	Stale   State = "stale"   // its time stamp is too old
	Died    State = "died"    // its process is gone
	Ended   State = "ended"   // as it should
	Damaged State = "damaged" // its segment makes no sense
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

	// AtOnce bounds how many metrics and contexts of suppliers that came together are
	// taken in before a request is answered, for which pmcd waits five seconds; the last
	// of the suppliers is taken in whole. The others have their turn with the next
	// request, or within a second.
	AtOnce int
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
	suppliers map[string]*Supplier // by file name
	order     []*Supplier          // the same, for taking turns
	turn      int
	fresh     []*Supplier        // opened, and not yet taken in
	refused   map[string]refusal // by file name
	strays    []string           // files to look at, see clean
	claims    []string           // the same, in the folder of claims
	claimsOn  bool               // which has not been read to its end
	claimsAt  time.Time
}

// New returns a Supply that has not looked at its directory yet.
func New(o Options) *Supply {
	return &Supply{Options: o, suppliers: make(map[string]*Supplier), refused: make(map[string]refusal),
		list: lister{queue: make(map[uint32][]candidate)}}
}

// Look finds suppliers that came and went, and what they changed.
func (p *Supply) Look() {
	p.watch()
	p.welcome()
	for i := 0; i < len(p.order); i++ {
		s := p.order[i]
		err := s.fault
		if err == nil {
			err = p.follow(s)
		}
		if err != nil {
			p.vanish(s, Damaged, err)
			i--
		}
	}
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

// Waiting returns how many of them have not been taken in yet.
func (p *Supply) Waiting() int { return len(p.fresh) }

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
