package collect

import (
	"math"
	"slices"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// average keeps a weighted average in the order in which transactions ended. The rings
// of the cells give that order for the latest 16 of each thread. Older transactions count
// first, each with their mean. So at most weight^16 of the total weight, 1 % at the default,
// is not in its proper order.
type average struct {
	ended []layout.Ended
	n     uint64  // of all since the last look
	sum   float64 // of their times
	last  int64   // when the latest ended
}

// add notes what came to a cell.
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
		t.Last = uint64(max(a.sum, 0) / float64(a.n)) // nothing better is known
	}
	*a = average{ended: a.ended[:0], last: a.last}
	if cap(a.ended) > 4*layout.RingLen {
		a.ended = nil
	}
}

// observe takes weight parts of the previous average and the rest of the new time, as
// SpmiArmd did. The first time is the first average.
func (t *tranRow) observe(ns, weight float64) {
	if !t.Seen {
		t.Seen, t.AvgNS = true, ns
		return
	}
	t.AvgNS = weight*t.AvgNS + (1-weight)*ns
}
