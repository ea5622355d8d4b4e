package agent

import (
	"errors"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming/kept"
)

// reviveAtOnce bounds how many metrics are shown again at the start, while pmcd waits, and in
// each second after that.
const reviveAtOnce = 5000

// revive shows again some of the metrics that were there when the agent ended.
func (t *tree) revive() {
	now := t.now()
	for range reviveAtOnce {
		m := t.keeper.Next()
		if m == nil {
			return
		}
		if now.Sub(m.Since(now)) >= t.conf.Keep {
			t.keeper.Forget(m.Key, true)
			continue
		}
		u := t.users.Of(m.UID)
		if err := t.reviveOne(m, u); err != nil {
			t.complain(m.UID, "metric %s, which was kept for its name, is dropped: %v", m.Key, err)
			t.keeper.Forget(m.Key, m.Away != 0)
		}
		t.users.Forget(u)
	}
}

// reviveOne exports a metric without supplier.
func (t *tree) reviveOne(m *kept.Metric, u *account.User) error {
	path := m.Context
	if path == "" { // as earlier versions wrote it
		path, m.Volatile = strings.CutSuffix(m.Group, "/*")
	}
	if m.Label == "" {
		m.Label = m.Stat
	}
	units := pcp.UnitsFromWord(m.Units)
	switch {
	case !t.names.Known(m.Key):
		return naming.ErrNumber // the number was lost, and the metric may get another
	case u.Metrics >= t.conf.Metrics:
		return account.Over("metrics", "maxmetrics", t.conf.Metrics)
	case !layout.ValidPath(path) || !layout.ValidName(m.Stat) || !units.Valid() || pdu.CheckLabels(m.Labels) != nil:
		return errors.New("its kept record has a path, name, unit or label that is not valid")
	}
	g := t.group(path, m.Volatile)
	defer t.tidy(g)
	if m.Volatile {
		if err := t.domain(g, u); err != nil {
			return err
		}
	}
	col, err := g.column(m.Label)
	if err != nil {
		return err
	}
	if col.there { // its supplier came first
		col.noted = m.Away != 0
		return nil
	}
	name := m.Name
	if name == "" {
		if name, err = t.name(col, u); err != nil {
			return err
		}
	}
	col.stat, col.kind = m.Stat, m.Kind
	err = t.enter(col, u, pmda.Metric{Name: name, Sem: m.Sem, Units: units, OneLine: m.OneLine, Help: m.Help, Labels: m.Labels}, m.Key, m.Type)
	col.away, col.noted = m.Since(t.now()), m.Away != 0
	return err
}

// kept returns what the agent must know of a metric to show it again.
func (col *column) kept() *kept.Metric {
	m := &col.metric
	return &kept.Metric{Key: col.key, Name: m.Name, Context: col.group.path, Volatile: col.group.volatile, Label: col.label,
		Kind: col.kind, Stat: col.stat, Type: col.typ, Sem: m.Sem, Units: m.Units.Word(), OneLine: m.OneLine, Help: m.Help,
		Labels: m.Labels, UID: col.user.UID}
}

// noteAfter is how long a metric must have been without a supplier before the agent writes that
// down. So suppliers that come and go all the time cost nothing. For a metric that is not
// noted, the time starts again when the agent starts.
const noteAfter = time.Minute

// note writes down which metrics have been without a supplier for long, and which have one again.
func (t *tree) note(long time.Duration) {
	now := t.now()
	for _, col := range t.used {
		switch {
		case col.users > 0 && col.noted:
			t.keeper.Away(col.key, time.Time{})
			col.noted = false
		case col.users == 0 && !col.noted && now.Sub(col.away) >= long:
			t.keeper.Away(col.key, col.away)
			col.noted = true
		}
	}
}
