// Package armotel counts OpenTelemetry's spans as transactions, whether they are sampled
// or not: sampling keeps one trace in a hundred, the counts and response times of package
// arm are of all.
//
//	app := arm.NewApplication("Web Shop")
//	defer app.Close()
//	provider := trace.NewTracerProvider(
//		trace.WithSampler(armotel.EverySpan(trace.ParentBased(trace.TraceIDRatioBased(0.01)))),
//		trace.WithSpanProcessor(armotel.NewSpanProcessor(app)),
//	)
//
// The SDK tells processors only of spans that record. One that a sampler drops does not,
// so the sampler has to be wrapped by EverySpan: what it would have dropped is then
// recorded, and still neither sampled nor exported. Such a span costs what a recorded one
// costs, less the export.
//
// A span becomes an execution of the transaction that has its name at its end, so names
// are to be few, as OpenTelemetry asks for. Spans are counted when they end: what runs is
// not seen meanwhile. One that never ends is kept.
//
// A span whose status is Error is judged by what its attributes and recorded errors say of
// the error: a status code of HTTP or gRPC as armhttp and armgrpc judge it, an error of a
// database and a type of error such as a time-out as aborted, all else as failed. All other
// spans are good. Judging has a function say it.
//
// A span is a child of its parent, as far as that is a span of this process; or else of the
// transaction whose correlator the context carries, such as that of armhttp's Handler; or
// else of the parent in another process; or, without a parent, of the first span that it is
// linked with. A span of another process is known by its trace context alone.
//
// The package is a module of its own, so that only its users depend on OpenTelemetry:
//
//	$ go get github.com/pcp-rtime/rtime/arm/otel
//
// It is called armotel, and imported so:
//
//	import armotel "github.com/pcp-rtime/rtime/arm/otel"
package armotel
