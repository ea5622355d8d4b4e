package pmapi

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pcp-rtime/rtime/pcp"
)

// Errors of Sample.Rate.
var (
	// ErrNoRate: there is no rate, and the text says why.
	ErrNoRate = errors.New("no rate")
	// ErrRestart: the counter has started again in between, or may have. It wraps ErrNoRate.
	ErrRestart = fmt.Errorf("%w: the counter has begun anew since the sample before", ErrNoRate)

	errNotCounter = fmt.Errorf("%w: the metric is not a counter", ErrNoRate)
	errNotNumber  = fmt.Errorf("%w: the values are not numbers", ErrNoRate)
	errOthers     = fmt.Errorf("%w: the sample before has other metrics", ErrNoRate)
	errNoValue    = fmt.Errorf("%w: one of the samples has no value", ErrNoRate)
	errInterval   = fmt.Errorf("%w: no time has passed between the samples", ErrNoRate)
)

// RateUnits returns the units of what Sample.Rate gives for a counter: the metric's units per
// second. The rate of a counter of time has no unit of time. It is a share, and 1 means that
// the counter grows by a second in each second.
func (m *Metric) RateUnits() pcp.Units {
	space, t, count := m.Units.Dims()
	if t != 1 {
		return m.Units.Per(pcp.Seconds)
	}
	spaceScale, _, countScale := m.Units.Scales()
	return pcp.MakeUnits(space, 0, count, spaceScale, 0, countScale)
}

// Rate returns by how much the j-th value of the i-th metric has grown per second since the
// sample before, which was fetched with the same metrics; RateUnits says in which units.
//
//	var now, before pmapi.Sample
//	for range ticker.C {
//		now, before = before, now
//		if err := c.Fetch(ctx, &now, nil, metrics...); err != nil {
//			...
//		}
//		rate, err := now.Rate(&before, 0, 0)
//
// There is a rate only if it is certain to be right. The error is ErrRestart if a counter is
// less than before, or if a notice of pmcd or a lost connection makes it possible that the
// agent was restarted. If a counter was in the last quarter of its type's range and is in the
// first now, it has wrapped, and its rate is still right. Other errors wrap ErrNoRate: for the
// first sample, for an instance that is new, and for a metric that is not a counter.
func (s *Sample) Rate(before *Sample, i, j int) (float64, error) {
	if i >= len(before.Sets) || i >= len(before.Metrics) {
		return 0, errNoValue
	}
	m := s.Metrics[i]
	v := s.Sets[i].Values[j]
	switch {
	case m.Sem != pcp.SemCounter:
		return 0, errNotCounter
	case before.Sets[i].PMID != m.PMID:
		return 0, errOthers
	case before.Changes.Agents != s.Changes.Agents:
		return 0, ErrRestart
	case !s.Time.After(before.Time):
		return 0, errInterval
	}
	old, ok := before.near(i, j, v.Inst)
	if !ok {
		return 0, errNoValue
	}
	d, err := growth(old, v.Value)
	if err != nil {
		return 0, err
	}
	interval := s.Time.Sub(before.Time).Seconds()
	if _, t, _ := m.Units.Dims(); t != 0 {
		_, scale, _ := m.Units.Scales()
		if interval, err = pcp.Seconds.Convert(interval, pcp.MakeUnits(0, 1, 0, 0, scale, 0)); err != nil {
			return 0, errNotNumber
		}
	}
	if rate := d / interval; !math.IsNaN(rate) && !math.IsInf(rate, 0) {
		return rate, nil
	}
	return 0, errNotNumber
}

// growth returns by how much a counter has grown.
func growth(before, after pcp.Value) (float64, error) {
	if before.Type() != after.Type() {
		return 0, errNotNumber
	}
	size := 64
	switch after.Type() {
	case pcp.Type32, pcp.TypeU32:
		size = 32
	case pcp.Type64, pcp.TypeU64:
	case pcp.TypeFloat, pcp.TypeDouble:
		a, _ := after.Float64()
		b, _ := before.Float64()
		if a < b {
			return 0, ErrRestart
		}
		return a - b, nil
	default:
		return 0, errNotNumber
	}
	// The signs are ignored, so that a counter that wraps into the negative range goes on.
	mask := ^uint64(0) >> (64 - size)
	b, a := before.Bits()&mask, after.Bits()&mask
	if quarter := mask>>2 + 1; a < b && (b <= mask-quarter || a >= quarter) {
		return 0, ErrRestart
	}
	return float64((a - b) & mask), nil
}

// Find returns the value of an instance of the i-th metric. It costs the logarithm of the
// number of values. If the values do not come in the order of their numbers, it also sorts
// them once for each sample.
func (s *Sample) Find(i int, inst int32) (pcp.Value, bool) {
	values := s.Sets[i].Values
	order := s.sorted(i)
	at, ok := slices.BinarySearchFunc(order, inst, func(k, inst int32) int { return cmp.Compare(values[k].Inst, inst) })
	if !ok {
		return pcp.Value{}, false
	}
	return values[order[at]].Value, true
}

// near is Find for a value that is likely to be the j-th.
func (s *Sample) near(i, j int, inst int32) (pcp.Value, bool) {
	if values := s.Sets[i].Values; j < len(values) && values[j].Inst == inst {
		return values[j].Value, true
	}
	return s.Find(i, inst)
}

// sorted returns the indices of the values of a metric, in the order of their instances.
func (s *Sample) sorted(i int) []int32 {
	for len(s.order) < len(s.Sets) {
		s.order = append(s.order, nil)
	}
	values := s.Sets[i].Values
	if len(s.order[i]) == len(values) {
		return s.order[i]
	}
	order := s.order[i][:0]
	for k := range values {
		order = append(order, int32(k))
	}
	byInst := func(a, b int32) int { return cmp.Compare(values[a].Inst, values[b].Inst) }
	if !slices.IsSortedFunc(order, byInst) {
		slices.SortFunc(order, byInst)
	}
	s.order[i] = order
	return order
}
