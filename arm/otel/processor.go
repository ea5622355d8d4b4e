package armotel

import (
	"context"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"

	"github.com/pcp-rtime/rtime/arm"
)

// Option is an option of NewSpanProcessor.
type Option func(*processor)

// Naming has a function name the transactions in place of the span's name; a span named
// "" is not counted. Several goroutines may call it at once.
func Naming(f func(trace.ReadOnlySpan) string) Option { return func(p *processor) { p.name = f } }

// Judging has a function say how spans ended. Several goroutines may call it at once.
func Judging(f func(trace.ReadOnlySpan) arm.Status) Option {
	return func(p *processor) { p.status = f }
}

// NewSpanProcessor returns a processor that counts every span it is told of in the
// application. It may be registered beside any others. Shutting it down leaves the
// application as it is.
func NewSpanProcessor(app *arm.Application, opts ...Option) trace.SpanProcessor {
	p := &processor{app: app, name: trace.ReadOnlySpan.Name, status: status}
	for _, opt := range opts {
		opt(p)
	}
	return p
}

const nameMax = 127 // bytes of a transaction's name

type processor struct {
	app    *arm.Application
	name   func(trace.ReadOnlySpan) string
	status func(trace.ReadOnlySpan) arm.Status
	living sync.Map // id to *living
}

// id names a span.
type id struct {
	trace api.TraceID
	span  api.SpanID
}

func idOf(c api.SpanContext) id { return id{c.TraceID(), c.SpanID()} }

// living is a span from its start to its end. One of the two is its parent, or none.
type living struct {
	span  trace.ReadOnlySpan
	inner trace.ReadOnlySpan // a span of this process, which may have ended meanwhile
	outer arm.Correlator     // what is not a span of this process
}

// OnStart implements trace.SpanProcessor.
func (p *processor) OnStart(ctx context.Context, s trace.ReadWriteSpan) {
	l := &living{span: s}
	l.inner, l.outer = p.parent(ctx, s)
	p.living.Store(idOf(s.SpanContext()), l)
}

// parent returns what a span is part of: the parent that lives in this process, the
// transaction whose correlator the context carries, the parent of another process, or the
// first span that it is linked with.
func (p *processor) parent(ctx context.Context, s trace.ReadWriteSpan) (trace.ReadOnlySpan, arm.Correlator) {
	if found, ok := p.living.Load(idOf(s.Parent())); ok {
		return found.(*living).span, arm.Correlator{}
	}
	if c := arm.CorrelatorFromContext(ctx); !c.IsZero() {
		return nil, c
	}
	if s.Parent().IsValid() {
		return nil, correlator(s.Parent())
	}
	if links := s.Links(); len(links) > 0 {
		if found, ok := p.living.Load(idOf(links[0].SpanContext)); ok {
			return found.(*living).span, arm.Correlator{}
		}
		return nil, correlator(links[0].SpanContext)
	}
	return nil, arm.Correlator{}
}

// correlator is that of a trace context, zero for one that is not valid.
func correlator(c api.SpanContext) arm.Correlator {
	made, err := arm.CorrelatorFromTraceparent(fmt.Sprintf("00-%s-%s-%s", c.TraceID(), c.SpanID(), c.TraceFlags()&api.FlagsSampled))
	if err != nil {
		return arm.Correlator{}
	}
	return made
}

// transaction returns that of a span, by the name that it has now.
func (p *processor) transaction(s trace.ReadOnlySpan) *arm.Transaction {
	name := p.name(s)
	if name == "" {
		return nil
	}
	// Of a name that is too long the beginning is what counts.
	return p.app.Transaction(name[:min(len(name), nameMax)])
}

// OnEnd implements trace.SpanProcessor.
func (p *processor) OnEnd(s trace.ReadOnlySpan) {
	ctx := context.Background()
	if found, ok := p.living.LoadAndDelete(idOf(s.SpanContext())); ok {
		l := found.(*living)
		if l.inner != nil {
			l.outer = p.transaction(l.inner).Correlator()
		}
		if !l.outer.IsZero() {
			ctx = arm.ContextWithCorrelator(ctx, l.outer)
		}
	}
	if tr := p.transaction(s); tr != nil {
		tr.ReportContext(ctx, s.EndTime().Sub(s.StartTime()), p.status(s))
	}
}

// Shutdown implements trace.SpanProcessor.
func (p *processor) Shutdown(context.Context) error { return nil }

// ForceFlush implements trace.SpanProcessor. There is nothing that waits.
func (p *processor) ForceFlush(context.Context) error { return nil }
