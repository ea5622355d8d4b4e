package agent

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ids"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/kept"
)

// keeper writes the file of metrics that outlive their suppliers and the agent. A file is
// written by a goroutine of its own, at most once a second, and seldom where writing
// takes long.
type keeper struct {
	path string
	todo []kept.Metric // of the file, and not yet shown again
	busy chan struct{} // holds an element while somebody writes, and guards what follows
	next time.Time
	bad  error // of the last attempt
}

// reviveAtOnce bounds how many metrics are shown again at the start, for which pmcd waits,
// and in each second thereafter.
const reviveAtOnce = 5000

// savePause is the least time between two writes, and of the time that passes writing
// takes no more than one part in saveShare.
const (
	savePause = time.Second
	saveShare = 20
)

// open reads which metrics were there when the agent ended.
func (k *keeper) open(a *Agent) {
	k.busy = make(chan struct{}, 1)
	if a.stateDir == "" {
		return
	}
	k.path = filepath.Join(a.stateDir, Name+".kept")
	var err error
	if k.todo, err = kept.Read(k.path); err != nil {
		a.server.Logf("%v", err)
	}
	a.server.Logf("%d metrics are known from before", len(k.todo))
	k.revive(a)
}

// revive shows some of them again.
func (k *keeper) revive(a *Agent) {
	now := a.now()
	for n := 0; n < reviveAtOnce && len(k.todo) > 0; n++ {
		m := &k.todo[0]
		k.todo = k.todo[1:]
		if now.Sub(m.Since(now)) >= a.conf.Keep {
			continue
		}
		u := a.account(m.UID)
		if err := a.tree.revive(m, u); err != nil {
			a.complain("%s: %s: %v", k.path, m.Key, err)
		}
		a.settle(u)
	}
	if len(k.todo) == 0 {
		k.todo = nil
	}
}

// revive exports a metric without supplier.
func (t *tree) revive(m *kept.Metric, u *account) error {
	path, volatile := strings.CutSuffix(m.Group, "/*")
	units := pcp.UnitsFromWord(m.Units)
	_, known := t.items.Lookup(m.Key)
	switch {
	case !known:
		return errNumber // they were lost, and it may get another
	case u.metrics >= t.agent.conf.Metrics:
		return overLimit("metrics", t.agent.conf.Metrics)
	case !layout.ValidPath(path) || !layout.ValidName(m.Stat) || !units.Valid() || pdu.CheckLabels(m.Labels) != nil:
		return errors.New("makes no sense")
	}
	g := t.group(path, m.Group)
	defer t.tidy(g)
	if volatile {
		if err := t.domain(g, u); err != nil {
			return err
		}
	}
	col, err := g.column(m.Stat)
	if err != nil {
		return err
	}
	if col.there { // its supplier was faster
		return nil
	}
	err = t.enter(col, u, pmda.Metric{Sem: m.Sem, Units: units, OneLine: m.OneLine, Help: m.Help, Labels: m.Labels}, m.Key, m.Type)
	col.away = m.Since(t.agent.now())
	return err
}

// snapshot lists all metrics below dds, with or without supplier.
func (t *tree) snapshot() []kept.Metric {
	list := make([]kept.Metric, 0, min(len(t.used), kept.MaxMetrics))
	for _, col := range t.used {
		if len(list) == kept.MaxMetrics {
			break
		}
		away := int64(0)
		if col.users == 0 {
			away = col.away.Unix()
		}
		m := &col.metric
		list = append(list, kept.Metric{Key: col.key, Group: col.group.key, Stat: col.stat, Type: col.typ, Sem: m.Sem, Units: m.Units.Word(),
			OneLine: m.OneLine, Help: m.Help, Labels: m.Labels, UID: col.user.uid, Away: away})
	}
	return list
}

// saves reports whether the file is this agent's to write: not while it only looks or has
// yet to show what is there, nor while another process has the numbers.
func (k *keeper) saves(a *Agent) bool {
	items, ok := a.tree.items.(*ids.Map)
	return ok && k.path != "" && !a.trying && len(k.todo) == 0 && items.Err() == nil
}

// save has the file written, if something has changed.
func (k *keeper) save(a *Agent) {
	select {
	case k.busy <- struct{}{}:
	default:
		return
	}
	if (!a.tree.unsaved && k.bad == nil) || time.Now().Before(k.next) || !k.saves(a) {
		<-k.busy
		return
	}
	list := a.tree.snapshot()
	a.tree.unsaved = false
	a.tasks.Add(1)
	go func() {
		defer a.tasks.Done()
		k.write(a, list)
		<-k.busy
	}()
}

// write wants busy held. The numbers go first: a metric whose number is not known is not
// shown again.
func (k *keeper) write(a *Agent, list []kept.Metric) {
	start := time.Now()
	var err error
	for _, n := range []numbers{a.tree.items, a.tree.serials, a.tree.names, a.tree.instances} {
		if m, ok := n.(*ids.Map); ok && err == nil {
			err = m.Sync()
		}
	}
	if err == nil {
		err = kept.Write(k.path, list)
	}
	if err != nil && (k.bad == nil || k.bad.Error() != err.Error()) {
		a.server.Logf("metrics without suppliers will be forgotten: %v", err)
	}
	k.bad = err
	k.next = time.Now().Add(max(savePause, saveShare*time.Since(start)))
}

// close writes what has changed since the last time. All tasks have ended.
func (k *keeper) close(a *Agent) {
	if (a.tree.unsaved || k.bad != nil) && k.saves(a) {
		k.write(a, a.tree.snapshot())
	}
}
