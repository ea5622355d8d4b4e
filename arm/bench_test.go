//go:build linux

package arm_test

import (
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/arm"
)

// BenchmarkClockPair measures two readings of the clock, the least that a start and a
// stop can cost.
func BenchmarkClockPair(b *testing.B) {
	begin := time.Now()
	var took time.Duration
	for b.Loop() {
		start := time.Since(begin)
		took += time.Since(begin) - start
	}
	if took < 0 {
		b.Error(took)
	}
}

func BenchmarkStartStop(b *testing.B) {
	tr := open(b, segments(b), "app").Transaction("t")
	for b.Loop() {
		tr.Start(ctx).Stop(arm.Good)
	}
}

// BenchmarkStartStopParallel measures one transaction in as many goroutines as can run at
// once.
func BenchmarkStartStopParallel(b *testing.B) {
	tr := open(b, segments(b), "app").Transaction("t")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			tr.Start(ctx).Stop(arm.Good)
		}
	})
}

func BenchmarkReport(b *testing.B) {
	tr := open(b, segments(b), "app").Transaction("t")
	for b.Loop() {
		tr.Report(time.Millisecond, arm.Good)
	}
}

func BenchmarkStartContext(b *testing.B) {
	tr := open(b, segments(b), "app").Transaction("t")
	for b.Loop() {
		_, r := tr.StartContext(ctx)
		r.Stop(arm.Good)
	}
}
