//go:build linux

package armgrpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armgrpc"
	"github.com/pcp-rtime/rtime/internal/armseg/measured"
)

// wait is how long a test waits for what must come.
const wait = 30 * time.Second

// world is a server and its client over the loopback device. Each has an application, in a
// directory of its own: both are in this process.
type world struct {
	t              *testing.T
	dir            string
	server, client *arm.Application
	conn           *grpc.ClientConn
	called         chan metadata.MD // what handlers were sent
	ended          chan struct{}    // a server's call was counted
	inside         func(context.Context)
}

// start starts both with these options.
func start(t *testing.T, opts ...armgrpc.Option) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), called: make(chan metadata.MD, 100), ended: make(chan struct{}, 100), inside: func(context.Context) {}}
	w.server = arm.NewApplication("server", arm.Dir(w.dir))
	w.client = arm.NewApplication("client", arm.Dir(w.dir))
	t.Cleanup(func() { w.server.Close(); w.client.Close() })
	if err := errors.Join(w.server.Err(), w.client.Err()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(
		grpc.ChainUnaryInterceptor(w.aroundCall, armgrpc.UnaryServerInterceptor(w.server, opts...)),
		grpc.ChainStreamInterceptor(w.aroundStream, armgrpc.StreamServerInterceptor(w.server, opts...)),
	)
	s.RegisterService(&service, w)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	w.conn = w.dial(l.Addr().String(), opts...)
	return w
}

func (w *world) dial(address string, opts ...armgrpc.Option) *grpc.ClientConn {
	w.t.Helper()
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(armgrpc.UnaryClientInterceptor(w.client, opts...)),
		grpc.WithChainStreamInterceptor(armgrpc.StreamClientInterceptor(w.client, opts...)),
	)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	return conn
}

// aroundCall keeps a panic from ending the test, and says when the call was counted.
func (w *world) aroundCall(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (_ any, err error) {
	defer func() {
		if recover() != nil {
			err = status.Error(codes.Internal, "panic")
		}
		w.ended <- struct{}{}
	}()
	return handler(ctx, req)
}

func (w *world) aroundStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if recover() != nil {
			err = status.Error(codes.Internal, "panic")
		}
		w.ended <- struct{}{}
	}()
	return handler(srv, stream)
}

// over waits until so many calls were counted by the server.
func (w *world) over(n int) {
	w.t.Helper()
	for range n {
		select {
		case <-w.ended:
		case <-time.After(wait):
			w.t.Fatal("a call of the server does not end")
		}
	}
}

// counts returns what each side has counted, by methods.
func (w *world) counts() (server, client map[string]measured.Ended) {
	w.t.Helper()
	return measured.CountsOf(w.t, w.dir, "server"), measured.CountsOf(w.t, w.dir, "client")
}

// service answers as the message asks: with a code of gRPC, or as a word says.
var service = grpc.ServiceDesc{
	ServiceName: "test.Words",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		var in wrapperspb.StringValue
		if err := dec(&in); err != nil {
			return nil, err
		}
		return interceptor(ctx, &in, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/test.Words/Call"},
			func(ctx context.Context, req any) (any, error) {
				return &in, srv.(*world).do(ctx, req.(*wrapperspb.StringValue).Value)
			})
	}}},
	Streams: []grpc.StreamDesc{
		{StreamName: "Answer", Handler: stream, ServerStreams: true},
		{StreamName: "Ask", Handler: stream, ClientStreams: true},
		{StreamName: "Talk", Handler: stream, ServerStreams: true, ClientStreams: true},
	},
}

// stream answers what comes, until the end or a word that asks for something else.
func stream(srv any, s grpc.ServerStream) error {
	w := srv.(*world)
	for {
		var in wrapperspb.StringValue
		err := s.RecvMsg(&in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = w.do(s.Context(), in.Value)
		}
		if err == nil {
			err = s.SendMsg(&in)
		}
		if err != nil {
			return err
		}
	}
}

func (w *world) do(ctx context.Context, word string) error {
	md, _ := metadata.FromIncomingContext(ctx)
	w.called <- md
	w.inside(ctx)
	if code, err := strconv.Atoi(word); err == nil {
		return status.Error(codes.Code(code), "as asked")
	}
	switch word {
	case "error":
		return errors.New("an error of Go")
	case "panic":
		panic("as asked")
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func text(s string) *wrapperspb.StringValue { return wrapperspb.String(s) }

// call makes a call and returns its error.
func (w *world) call(ctx context.Context, word string) error {
	return w.conn.Invoke(ctx, "/test.Words/Call", text(word), new(wrapperspb.StringValue))
}

// open opens a stream.
func (w *world) open(ctx context.Context, name string) grpc.ClientStream {
	w.t.Helper()
	for i := range service.Streams {
		if desc := &service.Streams[i]; desc.StreamName == name {
			s, err := w.conn.NewStream(ctx, desc, "/test.Words/"+name)
			if err != nil {
				w.t.Fatal(err)
			}
			return s
		}
	}
	w.t.Fatal("no stream ", name)
	return nil
}

// send sends words to a stream.
func (w *world) send(s grpc.ClientStream, words ...string) {
	w.t.Helper()
	for _, word := range words {
		if err := s.SendMsg(text(word)); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := s.CloseSend(); err != nil {
		w.t.Fatal(err)
	}
}

// read reads a stream until its first error.
func read(s grpc.ClientStream) (n int, err error) {
	for {
		if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
			return n, err
		}
		n++
	}
}
