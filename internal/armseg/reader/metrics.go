//go:build linux

package reader

import (
	"bytes"
	"math"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// MetricTotals is what a cell holds of one of an application's metrics.
type MetricTotals struct {
	Type  uint32  // 1 to 10; 0 if no value was given yet
	Count uint64  // values given
	Sum   float64 // a counter's growth within transactions, or the sum of a gauge's values
	MetricLatest
	raw uint64 // the word of the sum
}

// MetricLatest is the last value, in the fields that fit its type, and a gauge's extremes.
type MetricLatest struct {
	Last, Min, Max float64
	ID             uint64
	Text           string
}

// MetricDelta is what was added to one of an application's metrics since the last look.
type MetricDelta struct {
	Index int // 0 to 5, and 6 for the string
	MetricTotals
	// Whole is false if the values were being written. MetricLatest is then the one that
	// was read before.
	Whole bool
}

// metricsAt returns where a cell's metrics are, 0 where there are none.
func (p *Proc) metricsAt(c *seenCell) (off uint64, err error) {
	if off = p.word(c, layout.CellMetricsOff); off != 0 {
		err = p.has(off, (layout.Metrics+1)*layout.MetricLen)
	}
	return off, err
}

// metricsChanged reports whether a cell's metrics have changed. It may say so although nothing
// has changed, but it misses no change.
func (p *Proc) metricsChanged(c *seenCell) bool {
	off, err := p.metricsAt(c)
	if off == 0 {
		return false
	}
	if err != nil || c.metrics == nil {
		return true
	}
	for i := range c.metrics {
		if n, _ := p.m.Load64(off + uint64(i)*layout.MetricLen + layout.MetricCount); n != c.metrics[i].Count {
			return true
		}
	}
	return false
}

// readMetrics adds what changed in a cell's metrics to d, and remembers it.
func (p *Proc) readMetrics(c *seenCell, d *CellDelta) error {
	off, err := p.metricsAt(c)
	if off == 0 || err != nil {
		return err
	}
	if c.metrics == nil {
		c.metrics = new([layout.Metrics + 1]MetricTotals)
	}
	for i := range c.metrics {
		m, changed, err := p.readMetric(off+uint64(i)*layout.MetricLen, i, &c.metrics[i])
		if err != nil {
			return err
		}
		if changed {
			d.Metrics = append(d.Metrics, m)
		}
	}
	return nil
}

func (p *Proc) readMetric(off uint64, i int, was *MetricTotals) (d MetricDelta, changed bool, err error) {
	var b [layout.MetricLen]byte
	r := record(b[:])
	for range 3 {
		p.m.CopyWords(b[:], off)
		seq, _ := p.m.Load32(off + layout.MetricSeq)
		if d.Whole = seq&1 == 0 && seq == r.u32(layout.MetricSeq); d.Whole {
			break
		}
	}
	now := MetricTotals{Type: r.u32(layout.MetricType), Count: r.u64(layout.MetricCount), MetricLatest: was.MetricLatest}
	if now.Count < was.Count {
		return d, false, ErrBack
	}
	if now.Count == was.Count || !validType(i, now.Type) || was.Type != 0 && was.Type != now.Type {
		return d, false, nil
	}
	if i < layout.Metrics {
		now.raw = r.u64(layout.MetricSum)
	}
	sum, ok := sumDelta(now.Type, was.raw, now.raw)
	if !ok {
		return d, false, badFormat("a metric's sum is %#x", now.raw)
	}
	now.Sum = was.Sum + sum
	if d.Whole {
		now.MetricLatest = latest(now.Type, r)
	}
	d.Index, d.MetricTotals = i, now
	d.Count, d.Sum = now.Count-was.Count, sum
	*was = now
	return d, true, nil
}

// sumDelta returns what was added to a sum. If a program lets a counter go back, against the
// rules, that is 0. ok is false if the result is not a finite number.
func sumDelta(t uint32, was, now uint64) (delta float64, ok bool) {
	switch t {
	case layout.TypeCounter32, layout.TypeCounter64:
		return float64(max(int64(now-was), 0)), true
	case layout.TypeGauge32, layout.TypeGauge64:
		return float64(int64(now - was)), true
	case layout.TypeCntrDivr32, layout.TypeGaugeDivr32:
		delta = math.Float64frombits(now) - math.Float64frombits(was)
		if t == layout.TypeCntrDivr32 {
			delta = max(delta, 0)
		}
		return delta, !math.IsNaN(delta) && !math.IsInf(delta, 0)
	}
	return 0, true
}

func latest(t uint32, r record) (l MetricLatest) {
	value := func(off int) float64 {
		switch t {
		case layout.TypeCounter32, layout.TypeCounter64:
			return float64(r.u64(off))
		case layout.TypeGauge32, layout.TypeGauge64:
			return float64(int64(r.u64(off)))
		}
		v := math.Float64frombits(r.u64(off))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0
		}
		return v
	}
	switch t {
	case layout.TypeNumericID32, layout.TypeNumericID64:
		l.ID = r.u64(layout.MetricLast)
	case layout.TypeString8:
		l.Text = blanksOff(r[layout.MetricLast:][:8])
	case layout.TypeString32:
		l.Text = blanksOff(r[layout.MetricText:][:32])
	default:
		l.Last, l.Min, l.Max = value(layout.MetricLast), value(layout.MetricMin), value(layout.MetricMax)
	}
	return l
}

// blanksOff removes the blanks that fill up strings in data buffers.
func blanksOff(b []byte) string { return Text(bytes.TrimRight(b, " \x00")) }
