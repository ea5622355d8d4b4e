// Package agent is the table of the agent rtarm: which metrics there are, and where in
// the collector's snapshot their values come from. Segments and processes are package
// collect's.
//
// The collector runs apart and leaves snapshots that never change. Each request is
// answered from the one that was the latest when it came, so all values of a fetch belong
// together and no fetch waits. An instance carries the place of its row in the snapshot's
// lists, which only grow.
package agent

import (
	"context"
	"flag"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// Name and Domain are the agent's in pmcd.conf.
const (
	Name   = "rtarm"
	Domain = 471
)

// collector is what the agent needs of a collect.Collector.
type collector interface {
	Run(context.Context) error
	Snapshot() *collect.Snapshot
	Configure(collect.Config)
	Trace(name string, on bool)
}

// Agent is the agent rtarm. All fields belong to the serving goroutine but for those
// that say otherwise.
type Agent struct {
	configFile string
	dirPath    string
	conf       collect.Config
	trying     bool    // only looks
	mute       bool    // no MMV file
	warnings   []error // until there is a server with a log
	log        *log.Logger
	open       func(collect.Config, collect.Options) (collector, error)

	server    *pmda.Server
	collector collector         // set before any goroutine starts, and not changed
	snap      *collect.Snapshot // the latest, as of the present request
	rows      uint64            // of the snapshot that grow took in
	taken     taken
	trans     *pmda.InDom[int] // place in snap.Trans, as the others in theirs
	apps      *pmda.InDom[int]
	metrics   *pmda.InDom[int]
	pairs     *pmda.InDom[int]
	relabel   bool      // instances came since labels were last announced
	labelAt   time.Time // when that was
	unnamed   int       // rows that could not become instances
	traced    map[int]bool
	events    events

	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// New declares the agent.
func New() *pmda.Agent { return newAgent().declare() }

func newAgent() *Agent {
	a := &Agent{conf: collect.DefaultConfig(), dirPath: os.Getenv(layout.DirEnv), log: log.Default(),
		snap: new(collect.Snapshot), traced: make(map[int]bool)}
	if a.dirPath == "" {
		a.dirPath = layout.DefaultDir
	}
	a.open = func(c collect.Config, o collect.Options) (collector, error) { return collect.New(c, o) }
	a.declareInDoms()
	return a
}

func (a *Agent) declare() *pmda.Agent {
	return &pmda.Agent{
		Name: Name, Domain: Domain, Metrics: a.table(),
		Flags: a.flags, Setup: a.setup, Start: a.start, Refresh: a.refresh, Reload: a.reload, Stop: a.close,
		Try: a.try, TryColumns: tryColumns,
	}
}

func (a *Agent) flags(f *flag.FlagSet) {
	dir := os.Getenv("PCP_SYSCONF_DIR")
	if dir == "" {
		dir = "/etc/pcp"
	}
	f.StringVar(&a.configFile, "config", filepath.Join(dir, Name, Name+".conf"), "configuration file")
	f.StringVar(&a.dirPath, "dir", a.dirPath, "directory of the programs' segments")
}

// refresh takes the latest snapshot, which is what the request will be answered from.
func (a *Agent) refresh(*pmda.Request) {
	a.snap = a.collector.Snapshot()
	a.grow()
}
