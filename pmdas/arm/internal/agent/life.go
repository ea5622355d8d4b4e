package agent

import (
	"context"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// firstLook is how long the agent's start waits for the first look, which takes a few
// milliseconds. So clients miss no value if they are connected when a killed agent is
// started again. pmcd waits meanwhile, and would give the agent up after a long wait.
const firstLook = 500 * time.Millisecond

// start begins to collect.
func (a *Agent) start(s *pmda.Server) error {
	first, once := make(chan struct{}), sync.Once{}
	c, err := a.open(a.conf, collect.Options{
		Dir: a.Dir.Path, Log: a.Log, OnEvent: a.events.add, OnMissed: a.events.miss,
		OnSnapshot: func(s *collect.Snapshot) {
			if s.Health.Cycles > 0 {
				once.Do(func() { close(first) })
			}
		},
	})
	if err != nil {
		return err
	}
	a.collector = c
	a.events.wake = func() { s.Do(a.queueEvents) }
	if err := a.Start(s); err != nil {
		return err
	}
	a.Go(a.collect)
	select {
	case <-first:
	case <-time.After(firstLook):
	}
	a.refresh(nil)
	if !a.Trying {
		a.Log.Printf("%d transactions of %d processes in %s", len(a.snap.Trans), a.snap.Health.Processes, a.Dir.Path)
	}
	return nil
}

// collect runs the collector. If that fails, it ends the agent, so that pmcd starts another.
func (a *Agent) collect(ctx context.Context) {
	if err := a.collector.Run(ctx); err != nil {
		a.Log.Printf("collecting has ended: %v", err)
		a.Server.Stop()
	}
}

// reload reads the configuration again. A bad file changes nothing.
func (a *Agent) reload() error {
	apart := a.conf.UsersApart
	if err := a.Reload(); err != nil {
		return err
	}
	if a.conf.UsersApart != apart {
		a.Log.Printf("the new value of the keyword users takes effect when the agent is started again")
		a.conf.UsersApart = apart
	}
	a.collector.Configure(a.conf)
	a.Log.Printf("configuration read: interval %v, window %v in %d, weight %v", a.conf.Interval, a.conf.Window,
		a.conf.Buffers, 100*a.conf.Weight)
	return nil
}
