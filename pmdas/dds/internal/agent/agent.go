// Package agent is the table of the agent dds: which of the suppliers' contexts and
// statistics are exported, with their descriptions and values, and the agent's own state.
// Package supply reads suppliers; package naming gives names and numbers.
//
// Everything here belongs to the serving goroutine. Suppliers are looked at when a request
// comes in, and once a second.
package agent

import (
	"time"

	"github.com/pcp-rtime/rtime/internal/throttle"
	"github.com/pcp-rtime/rtime/internal/version"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
)

// Name and Domain are what pmcd.conf has for the agent. Root is the root of its dynamic
// names.
const (
	Name   = "dds"
	Domain = 472
	Root   = "dds"
)

// Agent is the agent dds.
type Agent struct {
	kit.Base
	conf     *conf.Config
	stateDir string
	now      func() time.Time
	budget   time.Duration // see supply.Options
	clock    func() time.Duration

	users  *account.Users
	supply *supply.Supply
	names  *naming.Names
	keeper *naming.Keeper
	roster *roster
	tree   *tree
	demand *demand
	lines  throttle.Log[uint32] // by the user who caused them
	going  bool                 // see goOn
	ended  bool                 // close was called
}

// New declares the agent.
func New() *pmda.Agent { return newAgent().declare() }

func newAgent() *Agent {
	c := conf.Defaults()
	a := &Agent{conf: &c, now: time.Now, budget: budget, demand: newDemand(&c)}
	now := func() time.Time { return a.now() }
	a.Base = kit.Base{Name: Name, Load: a.load, Second: a.second, Now: now,
		Dir: supply.Directory(), DirUse: "the suppliers' segments"}
	a.lines = throttle.Log[uint32]{Now: now, Print: func(line string) { a.Log.Print(line) }}
	a.users = &account.Users{Conf: a.conf, Now: now}
	if uid, _, err := pmda.PCPUser(); err == nil {
		a.users.PCP = uint32(uid)
	}
	a.roster = newRoster(a.users, now, a.complain)
	a.tree = newTree(a.users, a.roster, a.demand, now, a.complain)
	a.Numbers = a.numbers()
	return a
}

func (a *Agent) declare() *pmda.Agent {
	return &pmda.Agent{
		Name: Name, Domain: Domain, Version: version.String(), Metrics: a.metrics(), Roots: []string{Root},
		Flags: a.Flags, Setup: a.setup, Start: a.start, Refresh: a.refresh, Gone: a.demand.gone,
		Reload: a.reload, Stop: a.close, Try: a.try, TryColumns: tryColumns,
	}
}

func (a *Agent) start(s *pmda.Server) error {
	a.supply = supply.New(supply.Options{Dir: a.Dir, Conf: a.conf, Users: a.users, Table: a.tree,
		Now: a.Now, Log: s.Logf, Complain: a.complain, Trying: a.Trying, Budget: a.budget, Clock: a.clock})
	var err error
	a.names, err = naming.Open(naming.Options{Agent: Name, Root: Root, Dir: a.stateDir, Store: s, Users: a.users, Log: s.Logf,
		Complete: func() bool { return a.supply.Waiting() == 0 }})
	if err != nil {
		return err
	}
	if a.keeper, err = naming.OpenKeeper(a.names); err != nil {
		return err
	}
	a.tree.open(s, a.names, a.keeper)
	a.tree.revive()
	a.look()
	if err := a.Start(s); err != nil {
		return err
	}
	a.Log.Printf("%d suppliers in %s", a.supply.Len(), a.Dir.Path)
	return nil
}

// close tells suppliers that nobody asks for values any more. It changes nothing else of
// theirs.
func (a *Agent) close() {
	a.ended = true
	a.Stop()
	for s := range a.supply.All() {
		a.supply.Tell(s, supply.Demand{})
	}
	a.supply.Close()
	a.tree.note(0)
	a.keeper.Note()
}

// budget is how much processor time one request, or one turn between two requests, may spend
// on what suppliers have published or changed. pause is the time between two such turns, so
// that they take at most half of a processor.
const (
	budget = 20 * time.Millisecond
	pause  = 20 * time.Millisecond
)

// look brings what is exported up to date. Turns between requests take in what the budget
// leaves.
func (a *Agent) look() {
	a.supply.Look()
	a.tree.retry()
	a.goOn()
}

// goOn takes in what was left, whether or not a client asks.
func (a *Agent) goOn() {
	if !a.supply.Behind() || a.going || a.ended {
		return
	}
	a.going = true
	time.AfterFunc(pause, func() {
		a.tree.server.Do(func() {
			if a.going = false; !a.ended {
				a.look()
			}
		})
	})
}

// refresh brings everything up to date before a request is answered.
func (a *Agent) refresh(r *pmda.Request) {
	a.demand.close()
	a.look()
	if r.Fetch {
		a.tree.want(r.PMIDs)
		a.demand.begin(r, a.now())
	}
	a.tree.fetch++
}

// reload reads the configuration again. A bad file changes nothing. Lower limits apply only
// to what comes from now on.
func (a *Agent) reload() error {
	if err := a.Reload(); err != nil {
		return err
	}
	a.supply.Again()
	a.Log.Printf("configuration read: timeout %v, keep %v", a.conf.Timeout, a.conf.Keep)
	return nil
}

// second does what has to be done once a second, between two requests.
func (a *Agent) second() {
	a.demand.close()
	a.supply.Tick()
	a.goOn()
	a.tree.recheck()
	a.tree.retry()
	now := a.now()
	for s, d := range a.demand.sums(now, a.supply.All()) {
		a.supply.Tell(s, d)
	}
	a.tree.expire(now)
	a.tree.revive()
	a.tree.note(noteAfter)
	a.keeper.Note()
	a.roster.expire(now)
	if a.tree.relabel {
		a.tree.relabel, a.Relabel = false, true
	}
}

// complain logs a line that a user has caused. The lines of each user are limited, and so are
// the lines of all users together.
func (a *Agent) complain(uid uint32, format string, args ...any) {
	a.lines.Printf(uid, format, args...)
}
