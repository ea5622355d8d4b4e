package agent

import (
	"math"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// perTran is the Getter of a number of each transaction: get returns the one at a place in a
// block, and false if there is none.
//
// It keeps the numbers in an array, in the form in which they are exported. When the metric is
// asked for, it computes anew only the blocks that have changed since it was asked for before.
// So a fetch walks through arrays, and a metric that nobody asks for costs nothing.
func perTran[N number](a *Agent, get func(b *collect.Block, i int) (N, bool)) pmda.Getter {
	c := new(column)
	has := func(place uint32) bool { return c.has[place] }
	return pmda.Indexed(pcp.TypeOf[N](), a.trans, func() ([]uint64, func(uint32) bool) {
		recompute(c, a.snap, get)
		if c.none == 0 {
			return c.bits, nil
		}
		return c.bits, has
	})
}

// number is what numbers of transactions are exported as.
type number interface{ uint32 | uint64 | float64 }

// word returns a number as pcp.RawNumber takes it.
func word[N number](n N) uint64 {
	switch v := any(n).(type) {
	case float64:
		return math.Float64bits(v)
	case uint64:
		return v
	}
	return uint64(n)
}

// column has a number of each transaction, by its place in the snapshot.
type column struct {
	seq  uint64   // of the snapshot that the numbers come from
	bits []uint64 // as pcp.RawNumber takes them
	has  []bool   // whether there is a number
	none int      // how many places have no number
}

// recompute computes what has changed until a snapshot.
func recompute[N number](c *column, s *collect.Snapshot, get func(*collect.Block, int) (N, bool)) {
	if s.Seq == c.seq {
		return
	}
	if more := len(s.Trans) - len(c.has); more > 0 {
		c.none += more
		c.bits = append(c.bits, make([]uint64, more)...)
		c.has = append(c.has, make([]bool, more)...)
	}
	for k, b := range s.Blocks {
		if b.Seq <= c.seq {
			continue
		}
		first := k * collect.BlockLen
		last := min(first+collect.BlockLen, len(s.Trans))
		bits, has := c.bits[first:last], c.has[first:last]
		for i := range bits {
			n, ok := get(b, i)
			bits[i] = word(n)
			if ok != has[i] {
				c.change(&has[i], ok)
			}
		}
	}
	c.seq = s.Seq
}

func (c *column) change(has *bool, now bool) {
	*has = now
	if now {
		c.none--
	} else {
		c.none++
	}
}
