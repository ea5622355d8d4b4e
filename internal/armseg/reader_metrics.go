//go:build linux

package armseg

import (
	"bytes"
	"math"
)

// MetricTotals is what a cell holds of one of an application's metrics.
type MetricTotals struct {
	Type  uint32  // 1 to 10; 0 for one that was never given
	Count uint64  // values given
	Sum   float64 // of a counter, what it grew by in transactions; of a gauge, of all values
	MetricLatest
	raw uint64 // the word of the sum
}

// MetricLatest is what was given last, as the type has it, and for gauges the extremes.
type MetricLatest struct {
	Last, Min, Max float64
	ID             uint64
	Text           string
}

// MetricDelta is what came to one of an application's metrics since the last look.
type MetricDelta struct {
	Index int // 0 to 5, and 6 for the string
	MetricTotals
	// Settled is false where the values were being written, and MetricLatest is not set.
	Settled bool
}

// metricsAt returns where a cell's metrics are, 0 where there are none.
func (p *ProcReader) metricsAt(c *seenCell) (off uint64, err error) {
	if off = p.word(c, CellMetricsOff); off != 0 {
		err = p.has(off, (Metrics+1)*MetricLen)
	}
	return off, err
}

// metricsChanged may be wrong in saying yes.
func (p *ProcReader) metricsChanged(c *seenCell) bool {
	off, err := p.metricsAt(c)
	if off == 0 {
		return false
	}
	if err != nil || c.metrics == nil {
		return true
	}
	for i := range c.metrics {
		if n, _ := p.m.Load64(off + uint64(i)*MetricLen + MetricCount); n != c.metrics[i].Count {
			return true
		}
	}
	return false
}

// readMetrics adds what changed in a cell's metrics to d, and remembers it.
func (p *ProcReader) readMetrics(c *seenCell, d *CellDelta) error {
	off, err := p.metricsAt(c)
	if off == 0 || err != nil {
		return err
	}
	if c.metrics == nil {
		c.metrics = new([Metrics + 1]MetricTotals)
	}
	for i := range c.metrics {
		m, changed, err := p.readMetric(off+uint64(i)*MetricLen, i, &c.metrics[i])
		if err != nil {
			return err
		}
		if changed {
			d.Metrics = append(d.Metrics, m)
		}
	}
	return nil
}

func (p *ProcReader) readMetric(off uint64, i int, was *MetricTotals) (d MetricDelta, changed bool, err error) {
	var b [MetricLen]byte
	r := record(b[:])
	for range 3 {
		p.m.CopyWords(b[:], off)
		seq, _ := p.m.Load32(off + MetricSeq)
		if d.Settled = seq&1 == 0 && seq == r.u32(MetricSeq); d.Settled {
			break
		}
	}
	now := MetricTotals{Type: r.u32(MetricType), Count: r.u64(MetricCount), MetricLatest: was.MetricLatest}
	if now.Count < was.Count {
		return d, false, ErrBack
	}
	if now.Count == was.Count || !validType(i, now.Type) || was.Type != 0 && was.Type != now.Type {
		return d, false, nil
	}
	if i < Metrics {
		now.raw = r.u64(MetricSum)
	}
	sum, ok := sumDelta(now.Type, was.raw, now.raw)
	if !ok {
		return d, false, badFormat("a metric's sum is %#x", now.raw)
	}
	now.Sum = was.Sum + sum
	if d.Settled {
		now.MetricLatest = latest(now.Type, r)
	}
	d.Index, d.MetricTotals = i, now
	d.Count, d.Sum = now.Count-was.Count, sum
	*was = now
	return d, true, nil
}

// sumDelta returns what came to a sum. A counter that a program let go back, against the
// rules, adds nothing. ok is false for what is no number.
func sumDelta(t uint32, was, now uint64) (delta float64, ok bool) {
	switch t {
	case TypeCounter32, TypeCounter64:
		return float64(max(int64(now-was), 0)), true
	case TypeGauge32, TypeGauge64:
		return float64(int64(now - was)), true
	case TypeCntrDivr32, TypeGaugeDivr32:
		delta = math.Float64frombits(now) - math.Float64frombits(was)
		if t == TypeCntrDivr32 {
			delta = max(delta, 0)
		}
		return delta, !math.IsNaN(delta) && !math.IsInf(delta, 0)
	}
	return 0, true
}

func latest(t uint32, r record) (l MetricLatest) {
	value := func(off int) float64 {
		switch t {
		case TypeCounter32, TypeCounter64:
			return float64(r.u64(off))
		case TypeGauge32, TypeGauge64:
			return float64(int64(r.u64(off)))
		}
		v := math.Float64frombits(r.u64(off))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0
		}
		return v
	}
	switch t {
	case TypeNumericID32, TypeNumericID64:
		l.ID = r.u64(MetricLast)
	case TypeString8:
		l.Text = blanksOff(r[MetricLast:][:8])
	case TypeString32:
		l.Text = blanksOff(r[MetricText:][:32])
	default:
		l.Last, l.Min, l.Max = value(MetricLast), value(MetricMin), value(MetricMax)
	}
	return l
}

// blanksOff takes off the blanks with which strings in data buffers are filled up.
func blanksOff(b []byte) string { return Text(bytes.TrimRight(b, " \x00")) }
