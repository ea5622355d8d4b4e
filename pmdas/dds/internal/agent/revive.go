package agent

import (
	"errors"
	"strings"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming/kept"
)

// reviveAtOnce bounds how many metrics are shown again at the start, for which pmcd waits,
// and in each second thereafter.
const reviveAtOnce = 5000

// revive shows some of the metrics again that were there when the agent ended.
func (t *tree) revive(k *naming.Keeper) {
	now := t.now()
	for range reviveAtOnce {
		m := k.Next()
		if m == nil {
			return
		}
		if now.Sub(m.Since(now)) >= t.conf.Keep {
			continue
		}
		u := t.users.Of(m.UID)
		if err := t.reviveOne(m, u); err != nil {
			t.complain(m.UID, "metric %s of before: %v", m.Key, err)
		}
		t.users.Settle(u)
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
		return naming.ErrNumber // they were lost, and it may get another
	case u.Metrics >= t.conf.Metrics:
		return account.Over("metrics", t.conf.Metrics)
	case !layout.ValidPath(path) || !layout.ValidName(m.Stat) || !units.Valid() || pdu.CheckLabels(m.Labels) != nil:
		return errors.New("makes no sense")
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
	if col.there { // its supplier was faster
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
	col.away = m.Since(t.now())
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
		list = append(list, kept.Metric{Key: col.key, Name: m.Name, Context: col.group.path, Volatile: col.group.volatile, Label: col.label, Kind: col.kind, Stat: col.stat, Type: col.typ, Sem: m.Sem, Units: m.Units.Word(),
			OneLine: m.OneLine, Help: m.Help, Labels: m.Labels, UID: col.user.UID, Away: away})
	}
	return list
}
