package kit

import (
	"context"
	"time"

	"github.com/pcp-rtime/rtime/internal/health"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
)

// Number is one figure of an agent's own state. It is published as a metric, and in the MMV
// file that pmdammv serves as mmv.NAME.*, even while the agent is stuck.
type Number struct {
	Item          int
	Name          string
	Sem           pcp.Sem
	Units         pcp.Units
	OneLine, Help string
	Get           func() uint64 // called by the serving goroutine
}

// Gauge returns a number of things that there are at the moment.
func Gauge(item int, name, oneline, help string, get func() uint64) Number {
	return Number{Item: item, Name: name, Sem: pcp.SemInstant, Units: pcp.Count, OneLine: oneline, Help: help, Get: get}
}

// Counter returns a number of things that have happened since the agent was started.
func Counter(item int, name, oneline, help string, get func() uint64) Number {
	return Number{Item: item, Name: name, Sem: pcp.SemCounter, Units: pcp.Count, OneLine: oneline, Help: help, Get: get}
}

// In returns the number in other units.
func (n Number) In(u pcp.Units) Number {
	n.Units = u
	return n
}

// Truth returns 1 for true and 0 for false.
func Truth(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// NumberMetrics makes metrics of numbers; prefix stands before their names.
func NumberMetrics(prefix string, cluster int, numbers []Number) []pmda.Metric {
	var rows []pmda.Metric
	for _, n := range numbers {
		rows = append(rows, pmda.Metric{Name: prefix + n.Name, Cluster: cluster, Item: n.Item, Sem: n.Sem, Units: n.Units,
			OneLine: n.OneLine, Help: n.Help, Get: pmda.Value(func() (uint64, error) { return n.Get(), nil })})
	}
	return rows
}

// publish notes the numbers for the MMV file.
func (b *Base) publish() {
	b.published = b.published[:0]
	for _, n := range b.Numbers {
		b.published = append(b.published, n.Get())
	}
}

// items are the numbers for the MMV file. They are those of the latest second, so that the
// serving goroutine alone reads the agent's state.
func (b *Base) items() []health.Item {
	var items []health.Item
	for i, n := range b.Numbers {
		items = append(items, health.Item{Name: n.Name, Counter: n.Sem == pcp.SemCounter, OneLine: n.OneLine,
			Read: func() uint64 { return b.published[i] }})
	}
	return items
}

// labelEvery is the time between two announcements of new labels.
const labelEvery = 10 * time.Second

// Round does what is due once a second. Start has the serving goroutine call it.
func (b *Base) Round() {
	if b.Second != nil {
		b.Second()
	}
	b.publish()
	now := time.Now
	if b.Now != nil {
		now = b.Now
	}
	if now := now(); b.Relabel && now.Sub(b.labelled) >= labelEvery {
		b.Relabel, b.labelled = false, now
		b.Server.LabelsChanged()
	}
}

// tick has the serving goroutine do what is due each second, and then brings the MMV file
// up to date. An agent that is stuck does not bring it up to date, so mmv.NAME.alive falls
// behind.
func (b *Base) tick(ctx context.Context) {
	var state ownState
	state.open(b)
	defer state.close()
	every := b.Every
	if every == 0 {
		every = time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for round := 1; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		done := make(chan struct{})
		b.Server.Do(func() { b.Round(); close(done) })
		select {
		case <-ctx.Done():
			return
		case <-done:
		}
		if state.file == nil && round%openEvery == 0 {
			state.open(b)
		}
		state.update(b)
	}
}

// openEvery is after how many rounds an MMV file that could not be made is tried again. It may
// have been that of an agent that has ended since.
const openEvery = 10

// ownState is the agent's MMV file.
type ownState struct {
	file    *health.File // nil: there is none
	problem string       // why, as the log has it
}

// open makes the file. A reason why it cannot is logged once.
func (s *ownState) open(b *Base) {
	if b.Mute {
		return
	}
	file, err := health.Open(b.Name, b.items())
	if err == nil {
		s.file, s.problem = file, ""
	} else if err.Error() != s.problem {
		s.problem = err.Error()
		b.Server.Logf("no MMV file: %v", err)
	}
}

func (s *ownState) update(b *Base) {
	if s.file == nil {
		return
	}
	if err := s.file.Update(); err != nil {
		b.Server.Logf("MMV file: %v", err)
		s.close()
	}
}

func (s *ownState) close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}
