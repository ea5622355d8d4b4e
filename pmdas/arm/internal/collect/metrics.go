package collect

import (
	"math"
	"strings"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// add takes in what came to a metric of some cell, or was in the past. Values that were
// just being written are left out.
func (m *metricRow) add(t *reader.MetricTotals, whole bool) {
	m.dirty = true
	m.Count += t.Count
	if m.Kind == KindCounter {
		m.Sum = finite(m.Sum + t.Sum)
	}
	if m.Kind == KindGauge {
		m.total = finite(m.total + t.Sum)
		m.Mean = m.total / float64(max(m.Count, 1))
	}
	if !whole {
		return
	}
	m.Last, m.LastID, m.Text = t.Last, t.ID, t.Text
	if m.Kind != KindGauge {
		return
	}
	if !m.ranged {
		m.ranged, m.Min, m.Max = true, t.Min, t.Max
	}
	m.Min, m.Max = min(m.Min, t.Min), max(m.Max, t.Max)
}

// finite keeps a sum within what can be written down.
func finite(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }

// metricOf returns the row of a transaction's metric, or nil if the transaction has too many.
func (r *rows) metricOf(t *tranRow, label string, typ uint32) *metricRow {
	name := t.Name + "/" + strings.NewReplacer(" ", "", "/", "_").Replace(label)
	k := kindOf(typ)
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

func kindOf(typ uint32) Kind {
	switch typ {
	case layout.TypeCounter32, layout.TypeCounter64, layout.TypeCntrDivr32:
		return KindCounter
	case layout.TypeGauge32, layout.TypeGauge64, layout.TypeGaugeDivr32:
		return KindGauge
	case layout.TypeNumericID32, layout.TypeNumericID64:
		return KindID
	}
	return KindString
}

// String returns the kind as it stands in names.
func (k Kind) String() string {
	switch k {
	case KindCounter:
		return "counter"
	case KindGauge:
		return "gauge"
	case KindID:
		return "id"
	case KindString:
		return "string"
	}
	return "unknown"
}
