package armotel

import "go.opentelemetry.io/otel/sdk/trace"

// EverySpan returns a sampler that decides as s does, but has what s drops recorded, so
// that span processors are told of it. It is as safe for concurrent use as s.
func EverySpan(s trace.Sampler) trace.Sampler { return everySpan{s} }

type everySpan struct{ trace.Sampler }

// ShouldSample implements trace.Sampler.
func (e everySpan) ShouldSample(p trace.SamplingParameters) trace.SamplingResult {
	r := e.Sampler.ShouldSample(p)
	if r.Decision == trace.Drop {
		r.Decision = trace.RecordOnly
	}
	return r
}

// Description implements trace.Sampler.
func (e everySpan) Description() string { return "EverySpan{" + e.Sampler.Description() + "}" }
