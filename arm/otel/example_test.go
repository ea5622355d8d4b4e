package armotel_test

import (
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/pcp-rtime/rtime/arm"
	armotel "github.com/pcp-rtime/rtime/arm/otel"
)

// One span in a hundred is sampled, and all are counted.
func Example() {
	app := arm.NewApplication("Web Shop")
	provider := trace.NewTracerProvider(
		trace.WithSampler(armotel.EverySpan(trace.ParentBased(trace.TraceIDRatioBased(0.01)))),
		trace.WithSpanProcessor(armotel.NewSpanProcessor(app)),
	)
	_ = provider
}
