package agent

import (
	"context"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/internal/health"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// firstLook is how long the agent's start waits for the first look, which takes a few
// milliseconds: clients that are there already, when a killed agent is started again, so
// miss no value. pmcd waits for the agent meanwhile, and not for long.
const firstLook = 500 * time.Millisecond

// start begins to collect.
func (a *Agent) start(s *pmda.Server) error {
	a.server = s
	for _, w := range a.warnings {
		s.Logf("%v", w)
	}
	first, once := make(chan struct{}), sync.Once{}
	c, err := a.open(a.conf, collect.Options{
		Dir: a.dirPath, Log: a.log, OnEvent: a.events.add, OnMissed: a.events.miss,
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
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	for _, run := range []func(context.Context){a.collect, a.tick} {
		a.tasks.Add(1)
		go func() {
			defer a.tasks.Done()
			run(ctx)
		}()
	}
	select {
	case <-first:
	case <-time.After(firstLook):
	}
	a.refresh(nil)
	if !a.trying {
		s.Logf("%d transactions of %d processes in %s", len(a.snap.Trans), a.snap.Health.Processes, a.dirPath)
	}
	return nil
}

// collect ends the agent where nothing can be collected, so that pmcd starts another.
func (a *Agent) collect(ctx context.Context) {
	if err := a.collector.Run(ctx); err != nil {
		a.server.Logf("collecting has ended: %v", err)
		a.server.Stop()
	}
}

// close ends collecting.
func (a *Agent) close() {
	a.stop()
	a.tasks.Wait()
}

// reload reads the configuration again. A bad file changes nothing.
func (a *Agent) reload() error {
	apart := a.conf.UsersApart
	if err := a.load(); err != nil {
		return err
	}
	if a.conf.UsersApart != apart {
		a.server.Logf("the keyword users takes effect when the agent is started again")
		a.conf.UsersApart = apart
	}
	a.collector.Configure(a.conf)
	a.server.Logf("configuration read: interval %v, window %v in %d, weight %v", a.conf.Interval, a.conf.Window,
		a.conf.Buffers, 100*a.conf.Weight)
	return nil
}

// tick publishes the agent's state once a second, and has new instances taken in whether
// or not anybody asks.
func (a *Agent) tick(ctx context.Context) {
	var file *health.File
	if !a.mute {
		var err error
		if file, err = health.Open(Name, a.healthItems()); err != nil {
			a.server.Logf("no MMV file: %v", err)
		} else {
			defer file.Close()
		}
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		a.server.Do(a.second)
		if file != nil {
			if err := file.Update(); err != nil {
				a.server.Logf("MMV file: %v", err)
				file.Close()
				file = nil
			}
		}
	}
}

// labelEvery bounds how often clients are told to read all labels again, which is dear
// where transactions come all the time.
const labelEvery = 10 * time.Second

// second is done once a second, between two requests.
func (a *Agent) second() {
	a.refresh(nil)
	if now := time.Now(); a.relabel && now.Sub(a.labelAt) >= labelEvery {
		a.relabel, a.labelAt = false, now
		a.server.LabelsChanged()
	}
}
