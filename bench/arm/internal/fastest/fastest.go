// Package fastest times calls of a few nanoseconds on a machine that does other work, too.
// It keeps the fastest of many short batches: nothing interrupted that one.
package fastest

import (
	"math"
	"time"
)

// Batch is the work to be timed, done n times. It has its own loop, so that no function
// call is measured with it.
type Batch func(n int)

// Each runs every batch several times, in turns, and returns the nanoseconds of one of the
// n times in the fastest run. Work between batches, such as collecting garbage, is left
// out.
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

// forward uses the results, so that the compiler does not leave the work out.
func forward(took time.Duration) {
	if took < 0 {
		panic("the clock went back")
	}
}
