package collect

import (
	"math"
	"slices"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// average collects what a row's weighted average needs. The average depends on the order in
// which transactions ended. The rings of the cells tell that order for the latest 16
// transactions of each thread. All older ones count before these, each with the mean of their
// times. So at most weight^16 of the total weight, 1 % at the default, is out of order.
type average struct {
	ended []layout.Ended
	n     uint64  // transactions since the last look
	sum   float64 // of their times
	last  int64   // when the latest of all ended
}

// add takes in what came to a cell: n transactions that took ns together.
func (a *average) add(n, ns uint64, ended []layout.Ended) {
	a.n += n
	a.sum += float64(ns)
	a.ended = append(a.ended, ended...)
}

// updateAverage brings a row's average and latest time up to date.
func (t *tranRow) updateAverage(weight float64) {
	a := &t.average
	slices.SortStableFunc(a.ended, func(x, y layout.Ended) int {
		switch {
		case x.At < y.At:
			return -1
		case x.At > y.At:
			return 1
		}
		return 0
	})
	older, sum := float64(a.n)-float64(len(a.ended)), a.sum
	for _, e := range a.ended {
		sum -= float64(e.NS)
	}
	if older > 0 {
		t.observe(max(sum, 0)/older, math.Pow(weight, older))
	}
	for _, e := range a.ended {
		t.observe(float64(e.NS), weight)
	}
	if k := len(a.ended); k > 0 && a.ended[k-1].At >= a.last {
		t.Last, a.last = a.ended[k-1].NS, a.ended[k-1].At
	} else if k == 0 && a.n > 0 {
		t.Last = uint64(max(a.sum, 0) / float64(a.n)) // the mean is the best that is known
	}
	*a = average{ended: a.ended[:0], last: a.last}
	if cap(a.ended) > 4*layout.RingLen {
		a.ended = nil
	}
}

// observe adds a time to the average as SpmiArmd did: the average keeps the part weight of its
// previous value and takes the rest from the new time. The first time is the first average.
func (t *tranRow) observe(ns, weight float64) {
	if !t.Seen {
		t.Seen, t.AvgNS = true, ns
		return
	}
	t.AvgNS = weight*t.AvgNS + (1-weight)*ns
}
