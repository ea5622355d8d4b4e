// Peers prints what other libraries take to time a piece of work in a Go program, in
// nanoseconds: a pair of readings of the runtime's clock with a histogram of Prometheus,
// the same with a native histogram, and a span of OpenTelemetry with a batch processor whose
// exporter does nothing. It is a module of its own, so that the tree does not depend on them.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/pcp-rtime/rtime/bench/arm/internal/fastest"
)

func main() {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "classic", Help: "h", Buckets: prometheus.DefBuckets})
	native := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "native", Help: "h", NativeHistogramBucketFactor: 1.1})
	for _, ns := range fastest.Each(300, 1000, observe(h), timed(h), timed(native)) {
		fmt.Printf("%.2f ", ns)
	}
	fmt.Printf("%.2f\n", span())
}

func observe(h prometheus.Histogram) fastest.Batch {
	return func(n int) {
		for i := range n {
			h.Observe(float64(i) * 1e-6)
		}
	}
}

// timed is what a program does to time something.
func timed(h prometheus.Histogram) fastest.Batch {
	return func(n int) {
		for range n {
			begin := time.Now()
			h.Observe(time.Since(begin).Seconds())
		}
	}
}

type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []trace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                          { return nil }

// span is begun and ended in batches that fit into the processor's queue.
func span() float64 {
	ctx := context.Background()
	provider := trace.NewTracerProvider(trace.WithBatcher(nowhere{}))
	defer func() { _ = provider.Shutdown(ctx) }()
	tracer := provider.Tracer("bench")
	flush := func(int) { _ = provider.ForceFlush(ctx) }
	return fastest.Each(100, 200, func(n int) {
		for range n {
			_, s := tracer.Start(ctx, "span")
			s.End()
		}
	}, flush)[0]
}
