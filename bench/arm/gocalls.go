package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/bench/arm/internal/fastest"
)

const (
	goClock  = "the runtime's clock twice"
	nowPair  = "time.Now twice"
	goPair   = "Start and Stop"
	goReport = "Report"
)

var peerRows = [][]string{
	{"speed counter Up", "speed histogram Record"},
	{"Prometheus Observe alone", "timed with a Prometheus histogram", "timed with a native one", "OpenTelemetry span, batch"},
}

// golang measures package arm beside the clock and what Go programs use.
func (b *bench) golang() error {
	dir, _, err := b.segments("go")
	if err != nil {
		return err
	}
	speed, err := b.goProgram("speed", "", "./bench/arm/testdata/speed")
	if err != nil {
		return err
	}
	peers, err := b.goProgram("peers", "bench/arm/peers", ".")
	if err != nil {
		return err
	}
	app := arm.NewApplication("bench", arm.Dir(dir))
	defer app.Close()
	t := app.Transaction("go")
	if err := t.Err(); err != nil {
		return err
	}
	var calls, rates table
	for range b.rounds {
		f := fastest.Each(300, 1000, fastest.ClockPair, fastest.NowPair, pairs(t), reports(t))
		for i, row := range []string{goClock, nowPair, goPair, goReport} {
			calls.add(row, f[i])
		}
		rates.add("one goroutine", 1e3/fastest.Each(150, 10000, pairs(t))[0])
		rates.add("two goroutines", 2e3/together(t))
		for i, bin := range []string{speed, peers} {
			f, err := figures(len(peerRows[i]), []string{"PCP_TMP_DIR=" + b.dir}, bin)
			if err != nil {
				return err
			}
			for j, row := range peerRows[i] {
				calls.add(row, f[j])
			}
		}
	}
	calls.print("A transaction in Go, ns", goClock)
	rates.print("Pairs per microsecond on one transaction", "one goroutine")
	fmt.Println()
	calls.atMost(2, goPair, goClock)
	rates.atLeast(1.6, "two goroutines", "one goroutine")
	return nil
}

func pairs(t *arm.Transaction) fastest.Batch {
	ctx := context.Background()
	return func(n int) {
		for range n {
			t.Start(ctx).Stop(arm.Good)
		}
	}
}

func reports(t *arm.Transaction) fastest.Batch {
	return func(n int) {
		for range n {
			t.Report(time.Microsecond, arm.Good)
		}
	}
}

// together is the time of a pair in each of two goroutines that run at once, from when
// the first begins until the last ends, in the fastest batch.
func together(t *arm.Transaction) float64 {
	const times, n = 150, 10000
	work := pairs(t)
	var at [2]chan time.Time
	best := time.Hour
	for range times {
		var here, done sync.WaitGroup
		here.Add(len(at))
		for i := range at {
			at[i] = make(chan time.Time, 2)
			done.Go(func() {
				runtime.LockOSThread()
				here.Done()
				here.Wait()
				at[i] <- time.Now()
				work(n)
				at[i] <- time.Now()
			})
		}
		done.Wait()
		a, b := <-at[0], <-at[1]
		if b.Before(a) {
			a = b
		}
		c, d := <-at[0], <-at[1]
		if c.Before(d) {
			c = d
		}
		best = min(best, c.Sub(a))
	}
	return float64(best) / n
}
