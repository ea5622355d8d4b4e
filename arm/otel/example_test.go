package armotel_test

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/pcp-rtime/rtime/arm"
	armotel "github.com/pcp-rtime/rtime/arm/otel"
)

// One span in a hundred is sampled, and all are counted.
func Example() {
	app := arm.NewApplication("Web Shop")
	defer app.Close()
	provider := trace.NewTracerProvider(
		trace.WithSampler(armotel.EverySpan(trace.ParentBased(trace.TraceIDRatioBased(0.01)))),
		trace.WithSpanProcessor(armotel.NewSpanProcessor(app)),
	)
	tracer := provider.Tracer("shop")
	for range 1000 {
		ctx, order := tracer.Start(context.Background(), "Order")
		_, stock := tracer.Start(ctx, "Stock")
		time.Sleep(2 * time.Millisecond) // the work
		stock.End()
		order.End()
	}
}
