// Package collect adds up what the ARM libraries of all processes on this host measure:
// it finds their segments, reads them, tells which processes live, takes over what dead
// ones had counted, and leaves a Snapshot. It knows no PCP numbers.
//
// One goroutine, that of Run, touches the segments. All that it learns from them is
// copied and checked; what a segment does wrong costs its owner's values only.
package collect

import (
	"context"
	"log"
)

// Options are what a Collector is made with.
type Options struct {
	Dir string // of the segments; "" for what the libraries use. Must be there.
	Log *log.Logger
	// ReadOnly only looks, for pmdartarm --try, which may run beside the agent: nothing is
	// written, removed or taken over, neither of the segments nor of the past, whose record
	// and dead processes' files are read where they are. Dir need not have a past.
	ReadOnly bool
	OnEvent  func(*Event) // called by Run's goroutine; must not wait
	// OnMissed is told, by Run's goroutine, how many events were overwritten unread.
	OnMissed func(n uint64)
	// OnSnapshot is called by Run's goroutine after each new snapshot. It must not wait.
	OnSnapshot func(*Snapshot)
}

// Collector reads a directory of segments. Run's goroutine does; all other methods may
// be called by any goroutine.
type Collector struct{}

// New makes a Collector. It reads the record of the past, and waits for the disk.
func New(c Config, o Options) (*Collector, error) { return &Collector{}, nil }

// Run looks once per interval, and when a file is published, until the context ends.
// It returns nil then, having given back all that it held.
func (c *Collector) Run(ctx context.Context) error { return nil }

// Snapshot returns the latest. It never waits, and is never nil.
func (c *Collector) Snapshot() *Snapshot { return nil }

// Configure changes the configuration from the next look on.
func (c *Collector) Configure(conf Config) {}

// Trace asks that all instances of a transaction be traced, or no longer. name is that
// of its row. The wish lasts as long as the Collector, also for transactions that are
// not there yet.
func (c *Collector) Trace(name string, on bool) {}

// Traced returns the names of what is asked to be traced, sorted.
func (c *Collector) Traced() []string { return nil }
