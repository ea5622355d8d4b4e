// Grpc prints what a call of gRPC takes in a process that is its server and its client, in
// nanoseconds: as it is, with package armgrpc on both sides, and with OpenTelemetry's
// handlers on both sides, whose spans go to a batch processor with an exporter that does
// nothing.
package main

import (
	"context"
	"fmt"
	"log"
	"net"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	api "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armgrpc"
	"github.com/pcp-rtime/rtime/bench/arm/internal/fastest"
)

func main() {
	server, client := arm.NewApplication("bench server"), arm.NewApplication("bench client")
	if err := server.Err(); err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(nowhere{}))
	with := []otelgrpc.Option{otelgrpc.WithTracerProvider(provider), otelgrpc.WithPropagators(propagation.TraceContext{})}
	f := fastest.Each(200, 50,
		calls(nil, nil),
		calls([]grpc.ServerOption{grpc.ChainUnaryInterceptor(armgrpc.UnaryServerInterceptor(server))},
			[]grpc.DialOption{grpc.WithChainUnaryInterceptor(armgrpc.UnaryClientInterceptor(client))}),
		calls([]grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(with...))},
			[]grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(with...))}),
		// What the batches before have left is no part of any call.
		func(int) { _ = provider.ForceFlush(context.Background()) })
	fmt.Printf("%.0f %.0f %.0f\n", f[0], f[1], f[2])
}

type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []trace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                          { return nil }

// calls are made to a server of their own, by way of memory.
func calls(serve []grpc.ServerOption, dial []grpc.DialOption) fastest.Batch {
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer(serve...)
	api.RegisterHealthServer(s, health.NewServer())
	go func() { log.Fatal(s.Serve(l)) }()
	conn, err := grpc.NewClient("passthrough:memory", append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))...)
	if err != nil {
		log.Fatal(err)
	}
	c, ctx := api.NewHealthClient(conn), context.Background()
	return func(n int) {
		for range n {
			if _, err := c.Check(ctx, new(api.HealthCheckRequest)); err != nil {
				log.Fatal(err)
			}
		}
	}
}
