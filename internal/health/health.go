// Package health publishes an agent's own state in an MMV file, beside the agent's own
// metrics. pmdammv serves the file as mmv.NAME.*, even while the agent is stuck. No other
// package uses the speed library: its updates are too slow for anything that happens
// more often than once a second.
package health

import (
	"errors"
	"fmt"
	"time"

	"github.com/performancecopilot/speed/v4"
)

// Item is one number that is published.
type Item struct {
	Name    string // of the metric below mmv.NAME; speed derives the metric's number from it
	Counter bool   // the number only grows
	OneLine string
	Read    func() uint64
}

// File is an open MMV file. One goroutine at a time may call its methods.
type File struct {
	client  *speed.PCPClient
	path    string
	items   []Item
	metrics []*speed.PCPSingletonMetric
}

// Open makes the file NAME in PCP's folder for MMV files. The folder must exist and be
// writable. If another process publishes in a file of that name, Open leaves the file
// alone and returns an error; it replaces the file of a process that is stopped or has
// ended. Close removes the file; pmdammv ignores a file whose process has ended.
func Open(name string, items []Item) (*File, error) {
	path, err := place(name)
	if err == nil {
		err = free(path)
	}
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	c, err := speed.NewPCPClient(name)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	items = append([]Item{{
		Name: "alive", Counter: true, OneLine: "time of the last update in seconds since 1970; an agent that is stuck falls behind",
		Read: func() uint64 { return uint64(time.Now().Unix()) },
	}}, items...)
	f := &File{client: c, path: path, items: items}
	seen := make(map[uint32]string)
	for _, it := range items {
		sem := speed.InstantSemantics
		if it.Counter {
			sem = speed.CounterSemantics
		}
		m, err := speed.NewPCPSingletonMetric(it.Read(), it.Name, speed.Uint64Type, sem, speed.OneUnit, it.OneLine)
		if err != nil {
			return nil, fmt.Errorf("health: %s: %w", it.Name, err)
		}
		if other, taken := seen[m.ID()]; taken {
			return nil, fmt.Errorf("health: %s and %s get the same number %d from speed: rename one of them", it.Name, other, m.ID())
		}
		seen[m.ID()] = it.Name
		if err := c.Register(m); err != nil {
			return nil, fmt.Errorf("health: %s: %w", it.Name, err)
		}
		f.metrics = append(f.metrics, m)
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	return f, nil
}

// Update reads all items and publishes them.
func (f *File) Update() error {
	var bad []error
	for i, it := range f.items {
		bad = append(bad, f.metrics[i].Set(it.Read()))
	}
	return errors.Join(bad...)
}

// Close removes the file, unless another process has taken its name over.
func (f *File) Close() error {
	speed.EraseFileOnStop = ours(f.path)
	return f.client.Stop()
}
