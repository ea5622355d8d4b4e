// Package agent is the table of the agent rtarm: which metrics there are, and where in
// the collector's snapshot their values come from. Package collect reads segments and
// watches processes.
//
// The collector runs in a goroutine of its own and leaves snapshots that never change. The
// agent answers each request from the snapshot that was the latest when the request came, so
// all values of a fetch belong together and no fetch waits. An instance carries the place of
// its row in the snapshot's lists, which only grow.
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

// Agent is the agent rtarm. All fields belong to the serving goroutine, except those
// whose comments say otherwise.
type Agent struct {
	kit.Base
	conf collect.Config
	open func(collect.Config, collect.Options) (collector, error)

	collector collector         // set before any goroutine starts, and not changed later
	snap      *collect.Snapshot // the latest when the present request came
	rows      uint64            // of the snapshot whose rows became instances last
	taken     taken
	trans     *pmda.InDom[uint32] // an instance is a place in snap.Trans; below, in the other lists
	apps      *pmda.InDom[uint32]
	metrics   *pmda.InDom[uint32]
	pairs     *pmda.InDom[uint32]
	unnamed   int // rows that could not become instances
	traced    map[uint32]bool
	events    events
}

// New declares the agent.
func New() *pmda.Agent { return newAgent().declare() }

func newAgent() *Agent {
	a := &Agent{conf: collect.DefaultConfig(), snap: new(collect.Snapshot), traced: make(map[uint32]bool)}
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

// refresh takes the latest snapshot, from which the request will be answered.
func (a *Agent) refresh(*pmda.Request) {
	a.snap = a.collector.Snapshot()
	a.grow()
}
