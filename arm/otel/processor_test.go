//go:build linux

package armotel_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/pcp-rtime/rtime/arm"
	armotel "github.com/pcp-rtime/rtime/arm/otel"
	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// counted is what was counted of a transaction.
type counted struct{ good, aborted, failed, ns uint64 }

// counts reads the files of this process's user.
func counts(t *testing.T, dir string) map[string]counted {
	t.Helper()
	uid := uint32(os.Geteuid())
	n, err := reader.OpenNames(filepath.Join(dir, fmt.Sprint(uid)+layout.NamesSuffix), uid)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	names := map[uint32]string{}
	if err := n.Update(func(uint32, *reader.App) {}, func(id uint32, i *reader.Tran) { names[id] = i.Key }); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"+layout.ProcSuffix))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	p, err := reader.OpenProc(paths[0], uid, reader.Limits{Bytes: 1 << 30, Cells: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]counted{}
	err = p.Changed(true, 0, func(d *reader.CellDelta) {
		was := all[names[d.Tran]]
		all[names[d.Tran]] = counted{was.good + d.Count, was.aborted + d.Aborted, was.failed + d.Failed,
			was.ns + d.GoodNS + d.AbortedNS + d.FailedNS}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func application(t *testing.T) (*arm.Application, string) {
	t.Helper()
	dir := t.TempDir()
	app := arm.NewApplication("app", arm.Dir(dir))
	t.Cleanup(func() { app.Close() })
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
	return app, dir
}

// span makes a span of exactly that length.
func span(tracer api.Tracer, name string, d time.Duration, parent context.Context, f func(api.Span)) context.Context {
	begin := time.Unix(1e9, 0)
	ctx, s := tracer.Start(parent, name, api.WithTimestamp(begin))
	if f != nil {
		f(s)
	}
	s.End(api.WithTimestamp(begin.Add(d)))
	return ctx
}

// TestEverySpan: all spans are counted, whatever is sampled; only what is sampled is
// exported.
func TestEverySpan(t *testing.T) {
	const all = 100
	half := sampleEverySecond()
	for what, c := range map[string]struct {
		sampler  trace.Sampler
		counted  uint64
		exported int
	}{
		"always":               {armotel.EverySpan(trace.AlwaysSample()), all, all},
		"never":                {armotel.EverySpan(trace.NeverSample()), all, 0},
		"every second":         {armotel.EverySpan(half), all, all / 2},
		"parents decide":       {armotel.EverySpan(trace.ParentBased(trace.NeverSample())), all, 0},
		"every second, by SDK": {sampleEverySecond(), all / 2, all / 2},
	} {
		app, dir := application(t)
		exporter := tracetest.NewInMemoryExporter()
		provider := trace.NewTracerProvider(trace.WithSampler(c.sampler),
			trace.WithSpanProcessor(armotel.NewSpanProcessor(app)), trace.WithSyncer(exporter))
		tracer := provider.Tracer("test")
		for range all / 2 {
			ctx := span(tracer, "outer", 3*time.Millisecond, context.Background(), nil)
			span(tracer, "inner", time.Millisecond, ctx, nil)
		}
		if n := len(exporter.GetSpans()); n != c.exported {
			t.Errorf("%s: %d spans are exported, not %d", what, n, c.exported)
		}
		if err := provider.ForceFlush(context.Background()); err != nil {
			t.Error(err)
		}
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		got := counts(t, dir)
		if got["outer"].good+got["inner"].good != c.counted {
			t.Errorf("%s: %+v", what, got)
		}
		if c.counted == all && got["outer"] != (counted{good: 50, ns: 150e6}) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// everySecond samples every second span.
type everySecond struct{ n *int }

func sampleEverySecond() trace.Sampler { return everySecond{new(int)} }

func (e everySecond) ShouldSample(p trace.SamplingParameters) trace.SamplingResult {
	*e.n++
	if *e.n%2 == 0 {
		return trace.AlwaysSample().ShouldSample(p)
	}
	return trace.NeverSample().ShouldSample(p)
}
func (e everySecond) Description() string { return "every second" }

// TestJudged: names and statuses are those at the end; a program may say otherwise.
func TestJudged(t *testing.T) {
	spans := func(app *arm.Application, opts ...armotel.Option) {
		tracer := trace.NewTracerProvider(trace.WithSpanProcessor(armotel.NewSpanProcessor(app, opts...))).Tracer("test")
		span(tracer, "a", 2, context.Background(), func(s api.Span) { s.SetStatus(codes.Error, "no") })
		span(tracer, "a", 3, context.Background(), func(s api.Span) { s.SetStatus(codes.Ok, "") })
		span(tracer, "a", 4, context.Background(), func(s api.Span) { s.SetName("GET /b") })
		span(tracer, strings.Repeat("x", 200), 5, context.Background(), nil)
		span(tracer, " ", 6, context.Background(), nil) // no name of ARM's
	}
	app, dir := application(t)
	spans(app)
	want := map[string]counted{"a": {good: 1, failed: 1, ns: 5}, "GET/b": {good: 1, ns: 4}, strings.Repeat("x", 31): {good: 1, ns: 5}}
	if got := counts(t, dir); !maps.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}

	app, dir = application(t)
	spans(app,
		armotel.Naming(func(s trace.ReadOnlySpan) string { return strings.Trim(s.Name()[:1], "G ") }),
		armotel.Judging(func(trace.ReadOnlySpan) arm.Status { return arm.Aborted }))
	want = map[string]counted{"a": {aborted: 2, ns: 5}, "x": {aborted: 1, ns: 5}}
	if got := counts(t, dir); !maps.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestDescription(t *testing.T) {
	if got := armotel.EverySpan(trace.NeverSample()).Description(); got != "EverySpan{AlwaysOffSampler}" {
		t.Error(got)
	}
}
