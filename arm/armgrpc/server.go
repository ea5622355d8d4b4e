package armgrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/internal/protocol"
)

// UnaryServerInterceptor returns an interceptor that measures the calls that a server
// answers. The handler's context carries the transaction's correlator, so that what is
// started with it is a child.
func UnaryServerInterceptor(app *arm.Application, opts ...Option) grpc.UnaryServerInterceptor {
	n := newNames(app, opts)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		tr := n.of(info.FullMethod)
		if tr == nil {
			return handler(ctx, req)
		}
		c := n.serve(ctx, tr)
		defer c.end(&err)
		resp, err = handler(c.ctx, req)
		c.done = true
		return resp, err
	}
}

// StreamServerInterceptor returns an interceptor that measures the streams that a server
// serves, as UnaryServerInterceptor does with calls.
func StreamServerInterceptor(app *arm.Application, opts ...Option) grpc.StreamServerInterceptor {
	n := newNames(app, opts)
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
		tr := n.of(info.FullMethod)
		if tr == nil {
			return handler(srv, stream)
		}
		c := n.serve(stream.Context(), tr)
		defer c.end(&err)
		err = handler(srv, &serverStream{stream, c.ctx})
		c.done = true
		return err
	}
}

// served is a call that a handler is at.
type served struct {
	names   *names
	ctx     context.Context // of the transaction
	running arm.Running
	done    bool
}

func (n *names) serve(ctx context.Context, tr *arm.Transaction) *served {
	inner, running := tr.StartContext(protocol.Received(ctx, metadata.ValueFromIncomingContext(ctx, "traceparent")))
	return &served{names: n, ctx: inner, running: running}
}

func (s *served) end(err *error) {
	switch {
	case s.ctx.Err() != nil:
		s.running.Stop(arm.Aborted) // who called has gone, or waits no longer
	case !s.done:
		s.running.Stop(arm.Failed) // it panics
	default:
		s.running.Stop(s.names.judge(*err))
	}
}

// serverStream has the transaction's context.
type serverStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *serverStream) Context() context.Context { return s.ctx }
