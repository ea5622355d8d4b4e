package armhttp

import (
	"net/http"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/internal/protocol"
)

// Handler returns a handler that measures what next does for requests. Where next is a
// ServeMux, or Handler is used behind one, transactions are named after its patterns, and
// "GET other" without one; a request that fits no method is "other".
//
// The context of the request that next gets carries the transaction's correlator, so that
// what next starts with it is a child. The ResponseWriter that it gets can do what the
// server's can, and nothing else: http.ResponseController finds all of it, and
// http.Flusher, http.Hijacker, http.Pusher and io.ReaderFrom are found by type.
func Handler(app *arm.Application, next http.Handler, opts ...Option) http.Handler {
	h := &handler{next: next}
	h.init(app, h.pattern, opts)
	return h
}

type handler struct {
	names
	next http.Handler
}

// pattern names a request after what routes it: who has done so already, or next.
func (h *handler) pattern(r *http.Request) route {
	pattern := r.Pattern
	if mux, ok := h.next.(interface {
		Handler(*http.Request) (http.Handler, string)
	}); ok && pattern == "" {
		_, pattern = mux.Handler(r)
	}
	return byPattern(pattern, r.Method)
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tr := h.of(r)
	if tr == nil {
		h.next.ServeHTTP(w, r)
		return
	}
	ctx, running := tr.StartContext(protocol.Received(r.Context(), r.Header["Traceparent"]))
	wrapped, rec := record(w)
	inner := r.WithContext(ctx)
	done := false
	defer func() {
		switch {
		case ctx.Err() != nil:
			running.Stop(arm.Aborted) // who asked has gone
		case !done:
			running.Stop(arm.Failed) // it panics
		default:
			running.Stop(h.judge(rec.status()))
		}
	}()
	h.next.ServeHTTP(wrapped, inner)
	done = true
	r.Pattern = inner.Pattern // for who wraps this handler
}
