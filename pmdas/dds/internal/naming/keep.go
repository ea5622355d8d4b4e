package naming

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming/kept"
)

// Keeper keeps the file of metrics that outlive their suppliers and the agent. A file is
// written by a goroutine of its own, at most once a second, and seldom where writing
// takes long.
type Keeper struct {
	names    *Names
	path     string
	todo     []kept.Metric // of the file, and not yet shown again
	busy     chan struct{} // holds an element while somebody writes, and guards what follows
	next     time.Time
	bad      error // of the last attempt
	readOnly bool
	tasks    sync.WaitGroup
}

// savePause is the least time between two writes, and of the time that passes writing
// takes no more than one part in saveShare.
const (
	savePause = time.Second
	saveShare = 20
)

// OpenKeeper reads which metrics were there when the agent ended. The file is in the
// folder of the numbers. A Keeper that is only to read writes nothing.
func OpenKeeper(n *Names, readOnly bool) *Keeper {
	k := &Keeper{names: n, busy: make(chan struct{}, 1), readOnly: readOnly}
	if n.Dir == "" {
		return k
	}
	k.path = filepath.Join(n.Dir, n.Agent+".kept")
	var err error
	if k.todo, err = kept.Read(k.path); err != nil {
		n.Log("%v", err)
	}
	n.Log("%d metrics are known from before", len(k.todo))
	return k
}

// Next returns a metric that is to be shown again, or nil.
func (k *Keeper) Next() *kept.Metric {
	if len(k.todo) == 0 {
		k.todo = nil
		return nil
	}
	m := &k.todo[0]
	k.todo = k.todo[1:]
	return m
}

// saves reports whether the file is this agent's to write: not while it only looks or has
// yet to show what is there, nor while another process has the numbers.
func (k *Keeper) saves() bool {
	return k.path != "" && !k.readOnly && len(k.todo) == 0
}

// Save has the file written with what list returns, if changed says so or the last
// attempt has failed. It reports whether it took the list.
func (k *Keeper) Save(changed bool, list func() []kept.Metric) bool {
	select {
	case k.busy <- struct{}{}:
	default:
		return false
	}
	if !changed && k.bad == nil || time.Now().Before(k.next) || !k.saves() {
		<-k.busy
		return false
	}
	metrics := list()
	k.tasks.Go(func() {
		k.write(metrics)
		<-k.busy
	})
	return true
}

// write wants busy held.
func (k *Keeper) write(list []kept.Metric) {
	start := time.Now()
	err := kept.Write(k.path, list)
	if err != nil && (k.bad == nil || k.bad.Error() != err.Error()) {
		k.names.Log("metrics without suppliers will be forgotten: %v", err)
	}
	k.bad = err
	k.next = time.Now().Add(max(savePause, saveShare*time.Since(start)))
}

// Wait waits until nobody writes.
func (k *Keeper) Wait() { k.tasks.Wait() }

// Close writes what has changed since the last time.
func (k *Keeper) Close(changed bool, list func() []kept.Metric) {
	k.tasks.Wait()
	if (changed || k.bad != nil) && k.saves() {
		k.write(list())
	}
}
