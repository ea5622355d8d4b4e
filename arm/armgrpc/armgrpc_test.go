//go:build linux

package armgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armgrpc"
	"github.com/pcp-rtime/rtime/internal/armseg/measured"
)

var ctx = context.Background()

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestCalls: each call is counted on both sides, by its status.
func TestCalls(t *testing.T) {
	w := start(t)
	for code := range codes.Unauthenticated + 1 {
		if err := w.call(ctx, fmt.Sprint(int(code))); status.Code(err) != code {
			t.Errorf("%v: %v", code, err)
		}
	}
	if err := w.call(ctx, "error"); status.Code(err) != codes.Unknown {
		t.Error(err)
	}
	if err := w.call(ctx, "panic"); status.Code(err) != codes.Internal {
		t.Error(err)
	}
	w.over(int(codes.Unauthenticated) + 3)
	want := map[string]measured.Ended{"test.Words/Call": {Good: 8, Aborted: 5, Failed: 6}}
	server, client := w.counts()
	if !maps.Equal(server, want) || !maps.Equal(client, want) {
		t.Errorf("server %+v, client %+v, want %+v", server, client, want)
	}
}

// TestWaiting: a call that nobody waits for any longer is aborted, on both sides.
func TestWaiting(t *testing.T) {
	w := start(t)
	limited, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	// The deadline may pass before the server has the call.
	if err := w.call(limited, "wait"); status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
	want := map[string]measured.Ended{"test.Words/Call": {Aborted: 1}}
	if _, got := w.counts(); !maps.Equal(got, want) {
		t.Errorf("client %+v", got)
	}

	w = start(t)
	left, leave := context.WithCancel(ctx)
	go func() {
		<-w.called
		leave()
	}()
	if err := w.call(left, "wait"); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	w.over(1)
	server, client := w.counts()
	if !maps.Equal(server, want) || !maps.Equal(client, want) {
		t.Errorf("server %+v, client %+v", server, client)
	}
}

// TestRefused: where nobody listens, a call and a stream are aborted.
func TestRefused(t *testing.T) {
	w := start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	w.conn = w.dial(address)
	if err := w.call(ctx, "0"); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	if _, err := w.conn.NewStream(ctx, &service.Streams[0], "/test.Words/Answer"); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	want := map[string]measured.Ended{"test.Words/Call": {Aborted: 1}, "test.Words/Answer": {Aborted: 1}}
	if _, got := w.counts(); !maps.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestStreams: a stream of each kind lasts until its status is there.
func TestStreams(t *testing.T) {
	w := start(t)
	answer := w.open(ctx, "Answer")
	w.send(answer, "a")
	if n := measured.Running(t, w.dir); n < 1 {
		t.Errorf("%d run", n)
	}
	if n, err := read(answer); n != 1 || !errors.Is(err, io.EOF) {
		t.Error(n, err)
	}
	ask := w.open(ctx, "Ask")
	w.send(ask, "a")
	if err := ask.RecvMsg(new(wrapperspb.StringValue)); err != nil {
		t.Error(err)
	}
	talk := w.open(ctx, "Talk")
	w.send(talk, "a", "b", "13")
	if n, err := read(talk); n != 2 || status.Code(err) != codes.Internal {
		t.Error(n, err)
	}
	panics := w.open(ctx, "Talk")
	w.send(panics, "panic")
	if _, err := read(panics); status.Code(err) != codes.Internal {
		t.Error(err)
	}
	wrong := w.open(ctx, "Talk")
	w.send(wrong, "5")
	if _, err := wrong.Header(); err == nil { // it has none, and the status instead
		if _, err := read(wrong); status.Code(err) != codes.NotFound {
			t.Error(err)
		}
	}
	w.over(5)
	server, client := w.counts()
	want := map[string]measured.Ended{"test.Words/Answer": {Good: 1}, "test.Words/Ask": {Good: 1}, "test.Words/Talk": {Good: 1, Failed: 2}}
	if !maps.Equal(server, want) || !maps.Equal(client, want) {
		t.Errorf("server %+v, client %+v, want %+v", server, client, want)
	}
	if n := measured.Running(t, w.dir); n != 0 {
		t.Errorf("%d run after their end", n)
	}
}

// TestLeft: a stream that is left by its context ends, though nobody reads it.
func TestLeft(t *testing.T) {
	w := start(t)
	left, leave := context.WithCancel(ctx)
	s := w.open(left, "Talk")
	if err := s.SendMsg(text("wait")); err != nil {
		t.Fatal(err)
	}
	<-w.called
	leave()
	w.over(1)
	for deadline := time.Now().Add(wait); measured.Running(t, w.dir) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it still runs")
		}
	}
	want := map[string]measured.Ended{"test.Words/Talk": {Aborted: 1}}
	server, client := w.counts()
	if !maps.Equal(server, want) || !maps.Equal(client, want) {
		t.Errorf("server %+v, client %+v, want %+v", server, client, want)
	}
}

// TestTrace: one trace goes from what calls through the client and the server to what the
// handler starts; a traceparent of the program's own is left alone.
func TestTrace(t *testing.T) {
	w := start(t)
	w.inside = func(ctx context.Context) {
		header, _ := arm.CorrelatorFromContext(ctx).Traceparent()
		md, _ := metadata.FromIncomingContext(ctx)
		sent := md.Get("traceparent")
		if len(sent) != 1 || len(header) != 55 || header[:36] != sent[0][:36] || header[36:52] == sent[0][36:52] {
			t.Errorf("%q after %q", header, sent)
		}
		w.server.Transaction("inner").Start(ctx).Stop(arm.Good)
	}
	parent, err := arm.CorrelatorFromTraceparent(traceparent)
	if err != nil {
		t.Fatal(err)
	}
	traced, running := w.client.Transaction("outer").StartContext(arm.ContextWithCorrelator(ctx, parent))
	own := metadata.AppendToOutgoingContext(ctx, "traceparent", traceparent)
	for _, c := range []struct {
		ctx context.Context
		ok  func(header string) bool
	}{
		{traced, func(h string) bool { return h[:36] == traceparent[:36] && h[36:52] != traceparent[36:52] }},
		{ctx, func(h string) bool { return h[3:35] != traceparent[3:35] && strings.HasSuffix(h, "-00") }},
		{own, func(h string) bool { return h == traceparent }},
	} {
		if err := w.call(c.ctx, "0"); err != nil {
			t.Error(err)
		}
		s := w.open(c.ctx, "Answer")
		w.send(s, "0")
		if _, err := read(s); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		for range 2 {
			if sent := (<-w.called).Get("traceparent"); len(sent) != 1 || !c.ok(sent[0]) {
				t.Errorf("%q was sent", sent)
			}
		}
	}
	running.Stop(arm.Good)
	w.over(6)
	got := measured.Pairs(t, w.dir)
	for pair, want := range map[string]uint64{
		"outer > test.Words/Call": 1, "outer > test.Words/Answer": 1, "test.Words/Call > inner": 3, "test.Words/Answer > inner": 3,
	} {
		if got[pair] != want {
			t.Errorf("%s: %d, want %d", pair, got[pair], want)
		}
	}
}

// TestOptions: names and statuses are the program's; "" is not measured.
func TestOptions(t *testing.T) {
	var asked atomic.Int64
	w := start(t,
		armgrpc.Naming(func(method string) string {
			asked.Add(1)
			return map[string]string{"/test.Words/Call": "call", "/test.Words/Talk": "talk"}[method]
		}),
		armgrpc.Judging(func(err error) arm.Status {
			if status.Code(err) == codes.NotFound {
				return arm.Failed
			}
			return arm.Good
		}))
	for _, word := range []string{"5", "0", "13"} {
		if err := w.call(ctx, word); (err == nil) != (word == "0") {
			t.Error(err)
		}
		for _, name := range []string{"Talk", "Answer"} {
			s := w.open(ctx, name)
			w.send(s, word)
			if _, err := read(s); err == nil {
				t.Error("no end")
			}
		}
	}
	w.over(9)
	want := map[string]measured.Ended{"call": {Good: 2, Failed: 1}, "talk": {Good: 2, Failed: 1}}
	server, client := w.counts()
	if !maps.Equal(server, want) || !maps.Equal(client, want) {
		t.Errorf("server %+v, client %+v", server, client)
	}
	if n := asked.Load(); n != 6 { // three methods on each side
		t.Errorf("%d names were asked for", n)
	}
}

func TestStatusOf(t *testing.T) {
	for err, want := range map[error]arm.Status{
		nil: arm.Good, errors.New("x"): arm.Failed, context.DeadlineExceeded: arm.Aborted,
		status.Error(codes.NotFound, "x"):                         arm.Good,
		fmt.Errorf("so %w", status.Error(codes.Unavailable, "x")): arm.Aborted,
		status.Error(codes.Code(99), "x"):                         arm.Failed,
	} {
		if got := armgrpc.StatusOf(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
