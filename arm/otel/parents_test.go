//go:build linux

package armotel_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"

	"github.com/pcp-rtime/rtime/arm"
	armotel "github.com/pcp-rtime/rtime/arm/otel"
	"github.com/pcp-rtime/rtime/internal/armseg/measured"
)

// TestParents: a span is a child of the span or the transaction that it is part of, or
// linked with. What is known by a trace context alone is no transaction's child.
func TestParents(t *testing.T) {
	app, dir := application(t)
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(armotel.NewSpanProcessor(app,
		armotel.Naming(func(s trace.ReadOnlySpan) string {
			if s.Name() == "unnamed" {
				return ""
			}
			return s.Name()
		})))).Tracer("test")
	begin := func(ctx context.Context, name string, opts ...api.SpanStartOption) (context.Context, api.Span) {
		return tracer.Start(ctx, name, opts...)
	}
	end := func(ctx context.Context, name string, opts ...api.SpanStartOption) {
		_, s := begin(ctx, name, opts...)
		s.End()
	}
	ctx := context.Background()
	inside, order := begin(ctx, "first name")
	end(inside, "stock")
	_, late := begin(inside, "late")
	end(ctx, "linked", api.WithLinks(api.LinkFromContext(inside)))
	order.SetName("order")
	end(inside, "stock")
	order.End()
	late.End() // after its parent

	within, running := app.Transaction("handler").StartContext(ctx)
	end(within, "query")
	running.Stop(arm.Good)

	remote := api.NewSpanContext(api.SpanContextConfig{TraceID: api.TraceID{1}, SpanID: api.SpanID{2}, TraceFlags: api.FlagsSampled, Remote: true})
	end(api.ContextWithRemoteSpanContext(ctx, remote), "remote")
	end(api.ContextWithRemoteSpanContext(within, remote), "query") // who asked is nearer
	end(ctx, "linked", api.WithLinks(api.Link{SpanContext: remote}))
	end(ctx, "alone", api.WithLinks(api.Link{}))

	hidden, s := begin(ctx, "unnamed")
	end(hidden, "stock")
	s.End()

	want := map[string]uint64{"firstname > stock": 1, "order > stock": 1, "order > late": 1, "firstname > linked": 1, "handler > query": 2}
	if got := measured.Pairs(t, dir); !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	ended := map[string]measured.Ended{"order": {Good: 1}, "stock": {Good: 3}, "late": {Good: 1}, "linked": {Good: 2}, "handler": {Good: 1},
		"query": {Good: 2}, "remote": {Good: 1}, "alone": {Good: 1}}
	got := measured.Counts(t, dir)
	if delete(got, "firstname"); !maps.Equal(got, ended) {
		t.Errorf("%+v\nwant %+v", got, ended)
	}
}

// TestStatus: a span with an error is judged by what it says of the error.
func TestStatus(t *testing.T) {
	failed := func(attributes ...attribute.KeyValue) func(api.Span) {
		return func(s api.Span) { s.SetAttributes(attributes...); s.SetStatus(codes.Error, "no") }
	}
	recorded := func(err error) func(api.Span) {
		return func(s api.Span) { s.RecordError(err); s.SetStatus(codes.Error, err.Error()) }
	}
	for name, c := range map[string]struct {
		set  func(api.Span)
		want measured.Ended
	}{
		"unset":      {func(s api.Span) { s.SetAttributes(attribute.Int("http.response.status_code", 500)) }, measured.Ended{Good: 1}},
		"error":      {failed(), measured.Ended{Failed: 1}},
		"404":        {failed(attribute.Int("http.response.status_code", 404)), measured.Ended{Good: 1}},
		"500":        {failed(attribute.Int("http.response.status_code", 500)), measured.Ended{Failed: 1}},
		"503":        {failed(attribute.Int("http.status_code", 503)), measured.Ended{Aborted: 1}},
		"200":        {failed(attribute.Int("http.response.status_code", 200)), measured.Ended{Failed: 1}},
		"late":       {failed(attribute.Int("rpc.grpc.status_code", 4)), measured.Ended{Aborted: 1}},
		"not found":  {failed(attribute.Int("rpc.grpc.status_code", 5)), measured.Ended{Good: 1}},
		"database":   {failed(attribute.String("db.system.name", "postgresql")), measured.Ended{Aborted: 1}},
		"timeout":    {failed(attribute.String("error.type", "timeout")), measured.Ended{Aborted: 1}},
		"java":       {failed(attribute.String("error.type", "java.net.SocketTimeoutException")), measured.Ended{Aborted: 1}},
		"other type": {failed(attribute.String("error.type", "ValueError")), measured.Ended{Failed: 1}},
		"deadline":   {recorded(context.DeadlineExceeded), measured.Ended{Aborted: 1}},
		"recorded":   {recorded(errors.New("timeout")), measured.Ended{Failed: 1}}, // the type counts
	} {
		app, dir := application(t)
		tracer := trace.NewTracerProvider(trace.WithSpanProcessor(armotel.NewSpanProcessor(app))).Tracer("test")
		span(tracer, "span", 1, context.Background(), c.set)
		if got := measured.Counts(t, dir)["span"]; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
