// Package fastest times calls of a few nanoseconds on a machine that others use, too: it
// keeps the fastest of many short batches, which nothing has come between.
package fastest

import (
	"math"
	"time"
)

// Batch is what is timed: it does its work n times. Having its own loop, it does not make
// a call of a function what is measured.
type Batch func(n int)

// Each runs every batch so many times, in turns, and returns the nanoseconds that once of n
// takes in the fastest. What comes between batches, such as collecting garbage, is left out.
func Each(times, n int, batches ...Batch) []float64 {
	best := make([]float64, len(batches))
	for i := range best {
		best[i] = math.Inf(1)
	}
	for range times {
		for i, f := range batches {
			begin := time.Now()
			f(n)
			best[i] = min(best[i], float64(time.Since(begin))/float64(n))
		}
	}
	return best
}

var began = time.Now()

// ClockPair reads the runtime's clock twice: what a start and a stop cost at least.
func ClockPair(n int) {
	var took time.Duration
	for range n {
		start := time.Since(began)
		took += time.Since(began) - start
	}
	forward(took)
}

// NowPair calls time.Now twice, which reads the wall clock besides.
func NowPair(n int) {
	var took time.Duration
	for range n {
		start := time.Now()
		end := time.Now()
		took += end.Sub(start)
	}
	forward(took)
}

// forward uses what was measured, so that none of it is left out as useless.
func forward(took time.Duration) {
	if took < 0 {
		panic("the clock went back")
	}
}
