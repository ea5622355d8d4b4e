package armotel

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"

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
}

// status is the application's judgement of a span, as far as it gave one.
func status(s trace.ReadOnlySpan) arm.Status {
	if s.Status().Code == codes.Error {
		return arm.Failed
	}
	return arm.Good
}

// OnStart implements trace.SpanProcessor.
func (p *processor) OnStart(context.Context, trace.ReadWriteSpan) {}

// OnEnd implements trace.SpanProcessor.
func (p *processor) OnEnd(s trace.ReadOnlySpan) {
	if name := p.name(s); name != "" {
		// Of a name that is too long the beginning is what counts.
		name = name[:min(len(name), nameMax)]
		p.app.Transaction(name).Report(s.EndTime().Sub(s.StartTime()), p.status(s))
	}
}

// Shutdown implements trace.SpanProcessor.
func (p *processor) Shutdown(context.Context) error { return nil }

// ForceFlush implements trace.SpanProcessor. There is nothing that waits.
func (p *processor) ForceFlush(context.Context) error { return nil }
