package arm

import "context"

type contextKey struct{}

// passed is what a context carries.
type passed struct {
	parent Correlator
	trace  bool
}

func passedBy(ctx context.Context) *passed {
	p, _ := ctx.Value(contextKey{}).(*passed)
	return p
}

// ContextWithCorrelator returns a context that carries a correlator, such as one from a
// request's header. Transactions that start with this context are children of the
// execution that the correlator names.
func ContextWithCorrelator(ctx context.Context, c Correlator) context.Context {
	p := passed{parent: c}
	if old := passedBy(ctx); old != nil {
		p.trace = old.trace
	}
	return context.WithValue(ctx, contextKey{}, &p)
}

// CorrelatorFromContext returns the correlator that a context carries, to be passed on to
// others; it is zero if there is none.
func CorrelatorFromContext(ctx context.Context) Correlator {
	if p := passedBy(ctx); p != nil {
		return p.parent
	}
	return Correlator{}
}

// ContextWithTrace returns a context that asks for traces. Transactions that start with
// it are traced, and so are those that they cause: each start, update and stop can be
// seen.
func ContextWithTrace(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, &passed{CorrelatorFromContext(ctx), true})
}
