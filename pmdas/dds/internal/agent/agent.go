// Package agent is the table of the agent dds: what of the suppliers' contexts and
// statistics is exported, with its descriptions and values, and the agent's own state.
// Package supply reads suppliers, package naming gives names and numbers.
//
// Everything here belongs to the serving goroutine. Suppliers are looked at when a
// request comes in, and once a second.
package agent

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/internal/health"
	"github.com/pcp-rtime/rtime/internal/throttle"
	"github.com/pcp-rtime/rtime/internal/version"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/supply/segdir"
)

// Name and Domain are the agent's in pmcd.conf, Root is where its dynamic names are.
const (
	Name   = "dds"
	Domain = 472
	Root   = "dds"
)

// Agent is the agent dds.
type Agent struct {
	configFile string
	dirPath    string
	conf       *conf.Config
	stateDir   string
	trying     bool // only looks: tells suppliers nothing, removes nothing
	mute       bool // no MMV file
	now        func() time.Time
	every      time.Duration // between two looks at everything
	atOnce     int           // see supply.Options
	warnings   []error       // until there is a server with a log

	server  *pmda.Server
	users   *account.Users
	supply  *supply.Supply
	names   *naming.Names
	keeper  *naming.Keeper
	roster  *roster
	tree    *tree
	demand  *demand
	lines   throttle.Log[uint32] // by the user who caused them
	labelAt time.Time            // when clients were last told of new labels

	health *health.File // the ticker's alone
	shared sharedCounts
	stop   context.CancelFunc
	tasks  sync.WaitGroup
}

// New declares the agent.
func New() *pmda.Agent { return newAgent().declare() }

func newAgent() *Agent {
	c := conf.Defaults()
	a := &Agent{conf: &c, dirPath: segdir.Default(), now: time.Now, every: time.Second, atOnce: supply.WelcomeAtOnce, demand: newDemand(&c)}
	now := func() time.Time { return a.now() }
	a.lines = throttle.Log[uint32]{Now: now, Print: func(line string) { a.server.Logf("%s", line) }}
	a.users = &account.Users{Conf: a.conf, Now: now, PCP: account.PCPUser()}
	a.roster = newRoster(a.users, now, a.complain)
	a.tree = newTree(a.users, a.roster, a.demand, now, a.complain)
	return a
}

func (a *Agent) declare() *pmda.Agent {
	return &pmda.Agent{
		Name: Name, Domain: Domain, Version: version.String(), Metrics: a.metrics(), Roots: []string{Root},
		Flags: a.flags, Setup: a.setup, Start: a.start, Refresh: a.refresh, Gone: a.demand.gone,
		Reload: a.reload, Stop: a.close, Try: a.try, TryColumns: tryColumns,
	}
}

func (a *Agent) flags(f *flag.FlagSet) {
	dir := os.Getenv("PCP_SYSCONF_DIR")
	if dir == "" {
		dir = "/etc/pcp"
	}
	f.StringVar(&a.configFile, "config", filepath.Join(dir, Name, Name+".conf"), "configuration file")
	f.StringVar(&a.dirPath, "dir", a.dirPath, "directory of the suppliers' segments")
}

func (a *Agent) start(s *pmda.Server) error {
	a.server = s
	for _, w := range a.warnings {
		s.Logf("%v", w)
	}
	a.supply = supply.New(supply.Options{Path: a.dirPath, Conf: a.conf, Users: a.users, Table: a.tree,
		Now: func() time.Time { return a.now() }, Log: s.Logf, Complain: a.complain, Trying: a.trying, AtOnce: a.atOnce})
	var err error
	a.names, err = naming.Open(naming.Options{Agent: Name, Root: Root, Dir: a.stateDir, Store: s, Users: a.users, Log: s.Logf,
		Settled: func() bool { return a.supply.Waiting() == 0 }})
	if err != nil {
		return err
	}
	if a.keeper, err = naming.OpenKeeper(a.names); err != nil {
		return err
	}
	a.tree.open(s, a.names, a.keeper)
	a.tree.revive()
	a.look()
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.tasks.Add(1)
	go func() {
		defer a.tasks.Done()
		a.tick(ctx)
	}()
	s.Logf("%d suppliers in %s", a.supply.Len(), a.dirPath)
	return nil
}

// close leaves all suppliers as they are, but for what they are told about demand.
func (a *Agent) close() {
	a.stop()
	a.tasks.Wait()
	for s := range a.supply.All() {
		a.supply.Tell(s, supply.Demand{})
	}
	a.supply.Close()
	a.tree.note(0)
}

// look brings what is exported up to date.
func (a *Agent) look() {
	a.supply.Look()
	a.tree.retry()
}

// refresh brings everything up to date before a request is answered.
func (a *Agent) refresh(r *pmda.Request) {
	a.demand.settle()
	a.look()
	if r.Fetch {
		a.tree.want(r.PMIDs)
		a.demand.begin(r, a.now())
	}
	a.tree.fetch++
}

// reload reads the configuration again. A bad file changes nothing. Lower limits hold
// for what comes from now on.
func (a *Agent) reload() error {
	if err := a.load(); err != nil {
		return err
	}
	a.supply.Again()
	a.server.Logf("configuration read: timeout %v, keep %v", a.conf.Timeout, a.conf.Keep)
	return nil
}

// tick looks at everything once in a while, whether or not somebody asks.
func (a *Agent) tick(ctx context.Context) {
	if !a.mute {
		var err error
		if a.health, err = health.Open(Name, a.healthItems()); err != nil {
			a.server.Logf("no MMV file: %v", err)
		} else {
			defer a.health.Close()
		}
	}
	ticker := time.NewTicker(a.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		a.server.Do(a.second)
		if a.health != nil {
			if err := a.health.Update(); err != nil {
				a.server.Logf("MMV file: %v", err)
				a.health.Close()
				a.health = nil
			}
		}
	}
}

// second is done once a second, between two requests.
func (a *Agent) second() {
	a.demand.settle()
	a.supply.Tick()
	a.tree.recheck()
	a.tree.retry()
	now := a.now()
	for s, d := range a.demand.sums(now, a.supply.All()) {
		a.supply.Tell(s, d)
	}
	a.tree.expire(now)
	a.tree.revive()
	a.tree.note(noteAfter)
	a.roster.expire(now)
	if a.tree.relabel && now.Sub(a.labelAt) >= labelEvery {
		a.tree.relabel, a.labelAt = false, now
		a.server.LabelsChanged()
	}
	a.publishCounts()
}

// labelEvery bounds how often clients are told to read all labels again, which is dear
// where contexts come and go all the time.
const labelEvery = 10 * time.Second

// complain writes a line that a user has caused. Lines of each user are limited, and so are
// those of all together.
func (a *Agent) complain(uid uint32, format string, args ...any) {
	a.lines.Printf(uid, format, args...)
}
