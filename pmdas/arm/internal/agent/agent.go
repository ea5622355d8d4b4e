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
	"os"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/version"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
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
	kit.Base
	conf collect.Config
	open func(collect.Config, collect.Options) (collector, error)

	collector collector         // set before any goroutine starts, and not changed
	snap      *collect.Snapshot // the latest, as of the present request
	rows      uint64            // of the snapshot that grow took in
	taken     taken
	trans     *pmda.InDom[int] // place in snap.Trans, as the others in theirs
	apps      *pmda.InDom[int]
	metrics   *pmda.InDom[int]
	pairs     *pmda.InDom[int]
	unnamed   int // rows that could not become instances
	traced    map[int]bool
	events    events
}

// New declares the agent.
func New() *pmda.Agent { return newAgent().declare() }

func newAgent() *Agent {
	a := &Agent{conf: collect.DefaultConfig(), snap: new(collect.Snapshot), traced: make(map[int]bool)}
	a.Base = kit.Base{Name: Name, Load: a.load, Second: func() { a.refresh(nil) },
		Dir: segdir.Dir{Path: os.Getenv(layout.DirEnv), Mode: layout.DirMode}, DirUse: "the programs' segments"}
	if a.Dir.Path == "" {
		a.Dir.Path = layout.DefaultDir
	}
	a.Numbers = a.numbers()
	a.open = func(c collect.Config, o collect.Options) (collector, error) { return collect.New(c, o) }
	a.declareInDoms()
	return a
}

func (a *Agent) declare() *pmda.Agent {
	return &pmda.Agent{
		Name: Name, Domain: Domain, Version: version.String(), Metrics: a.table(),
		Flags: a.Flags, Setup: a.setup, Start: a.start, Refresh: a.refresh, Reload: a.reload, Stop: a.Stop,
		Try: a.try, TryColumns: tryColumns,
	}
}

// refresh takes the latest snapshot, which is what the request will be answered from.
func (a *Agent) refresh(*pmda.Request) {
	a.snap = a.collector.Snapshot()
	a.grow()
}
