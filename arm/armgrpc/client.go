package armgrpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/internal/protocol"
)

// UnaryClientInterceptor returns an interceptor that measures the calls that a client
// makes. Unless the program has set it, traceparent in the metadata tells the server of
// the transaction.
func UnaryClientInterceptor(app *arm.Application, opts ...Option) grpc.UnaryClientInterceptor {
	n := newNames(app, opts)
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		tr := n.of(method)
		if tr == nil {
			return invoker(ctx, method, req, reply, cc, opts...)
		}
		ctx, running := tr.StartContext(protocol.Traced(ctx))
		err := invoker(send(ctx), method, req, reply, cc, opts...)
		running.Stop(n.judge(err))
		return err
	}
}

// StreamClientInterceptor returns an interceptor that measures the streams that a client
// opens, as UnaryClientInterceptor does with calls.
func StreamClientInterceptor(app *arm.Application, opts ...Option) grpc.StreamClientInterceptor {
	n := newNames(app, opts)
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		tr := n.of(method)
		if tr == nil {
			return streamer(ctx, desc, cc, method, opts...)
		}
		ctx, running := tr.StartContext(protocol.Traced(ctx))
		inner, err := streamer(send(ctx), desc, cc, method, opts...)
		if err != nil {
			running.Stop(n.judge(err))
			return nil, err
		}
		s := &clientStream{ClientStream: inner, names: n, running: running, many: desc.ServerStreams}
		s.forget = context.AfterFunc(ctx, func() { running.Stop(arm.Aborted) })
		return s, nil
	}
}

// send returns the context with its correlator in the metadata.
func send(ctx context.Context) context.Context {
	header, ok := arm.CorrelatorFromContext(ctx).Traceparent()
	if !ok {
		return ctx
	}
	if md, ok := metadata.FromOutgoingContext(ctx); ok && len(md["traceparent"]) > 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "traceparent", header)
}

// clientStream stops a stream's transaction when its status is known.
type clientStream struct {
	grpc.ClientStream
	names   *names
	running arm.Running
	many    bool        // the server answers with a stream
	forget  func() bool // no longer waits for the context's end
}

// RecvMsg implements grpc.ClientStream. Its first error has the stream's status; a server
// that does not stream answers once.
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	switch {
	case errors.Is(err, io.EOF):
		s.stop(nil)
	case err != nil || !s.many:
		s.stop(err)
	}
	return err
}

// Header implements grpc.ClientStream. It has an error only if the stream is over.
func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err != nil {
		s.stop(err)
	}
	return md, err
}

// SendMsg implements grpc.ClientStream. io.EOF says that RecvMsg has the status.
func (s *clientStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	if err != nil && !errors.Is(err, io.EOF) {
		s.stop(err)
	}
	return err
}

// stop ends the transaction; it does nothing the second time.
func (s *clientStream) stop(err error) {
	s.forget()
	s.running.Stop(s.names.judge(err))
}
