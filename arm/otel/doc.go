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
// are to be few, as OpenTelemetry asks for. One whose status is Error has failed, all
// others are good. Spans are counted when they end: what runs is not seen meanwhile.
//
// The package is a module of its own, so that only its users depend on OpenTelemetry.
package armotel
