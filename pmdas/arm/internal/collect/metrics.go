package collect

import (
	"math"

	"github.com/pcp-rtime/rtime/internal/armseg"
)

// add takes in what came to a metric of some cell, or was in the past. Values that were
// just being written are left out.
func (m *metricRow) add(t *armseg.MetricTotals, settled bool) {
	m.dirty = true
	m.Count += t.Count
	if m.Kind == KindCounter {
		m.Sum = finite(m.Sum + t.Sum)
	}
	if m.Kind == KindGauge {
		m.total = finite(m.total + t.Sum)
		m.Mean = m.total / float64(max(m.Count, 1))
	}
	if !settled {
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
