package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/arm"
)

// cycle measures what an interval costs the agent.
func (b *bench) cycle() error {
	const n, measured = 10000, 6 * time.Second
	dir, list, done, err := b.supply(n)
	if err != nil {
		return err
	}
	defer done()
	a, err := b.startArm(dir, n, "1")
	if err != nil {
		return err
	}
	defer a.stop()
	fmt.Printf("\nThe agent at %d transactions, interval 1 s: ms of CPU per interval\n", n)
	for _, state := range []struct {
		name  string
		often func()
	}{
		{"none active", func() {}},
		{"each ends four times per interval", func() { endAll(list) }},
		{"all running, none ends", startAll(list)},
	} {
		stop := again(state.often)
		time.Sleep(2 * time.Second) // the interval before is over
		ms, err := a.perCycle(measured)
		stop()
		if err != nil {
			return err
		}
		fmt.Printf("%36s  %.2f\n", state.name, ms)
	}
	return nil
}

func (a *agent) perCycle(length time.Duration) (ms float64, err error) {
	first, err := a.value(cycles)
	if err != nil {
		return 0, err
	}
	cpu := a.cpu()
	time.Sleep(length)
	cpu = a.cpu() - cpu
	last, err := a.value(cycles)
	if err == nil && last == first {
		err = fmt.Errorf("no interval ended in %v", length)
	}
	return cpu.Seconds() * 1e3 / float64(last-first), err
}

func endAll(list []*arm.Transaction) {
	for _, t := range list {
		t.Start(context.Background()).Stop(arm.Good)
	}
}

// startAll returns what begins an execution of each transaction, when it is called first.
func startAll(list []*arm.Transaction) func() {
	return sync.OnceFunc(func() {
		for _, t := range list {
			t.Start(context.Background())
		}
	})
}

// again does something four times a second until it is stopped.
func again(f func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second / 4)
		defer tick.Stop()
		for {
			f()
			select {
			case <-tick.C:
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}
