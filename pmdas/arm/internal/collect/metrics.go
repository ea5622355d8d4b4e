package collect

import (
	"strings"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/past"
)

// add takes in what came to a metric of a cell, or what is in the past. If whole is false, the
// latest values were just being written, and only counts and sums are taken.
func (m *metricRow) add(t *reader.MetricTotals, whole bool) {
	m.dirty = true
	m.Count += t.Count
	if m.Kind == reader.KindCounter {
		m.Sum = past.Finite(m.Sum + t.Sum)
	}
	if m.Kind == reader.KindGauge {
		m.total = past.Finite(m.total + t.Sum)
		m.Mean = m.total / float64(max(m.Count, 1))
	}
	if !whole {
		return
	}
	m.Last, m.LastID, m.Text = t.Last, t.ID, t.Text
	if m.Kind != reader.KindGauge {
		return
	}
	if !m.ranged {
		m.ranged, m.Min, m.Max = true, t.Min, t.Max
	}
	m.Min, m.Max = min(m.Min, t.Min), max(m.Max, t.Max)
}

// metricOf returns the row of a transaction's metric, or nil if the transaction has too many.
func (r *rows) metricOf(t *tranRow, label string, typ uint32) *metricRow {
	name := t.Name + "/" + strings.NewReplacer(" ", "", "/", "_").Replace(label)
	k := reader.KindOf(typ)
	m := r.met[name]
	if m != nil && m.Kind != k {
		name += "." + k.String()
		m = r.met[name]
	}
	if m != nil || t.over || len(t.mets) >= MaxMetrics {
		return m
	}
	m = &metricRow{Metric: Metric{Name: name, Tran: t.i, Label: label, Type: typ, Kind: k}, i: len(r.mets), dirty: true}
	r.met[name] = m
	r.mets = append(r.mets, m)
	t.mets = append(t.mets, m)
	r.grown = true
	return m
}
