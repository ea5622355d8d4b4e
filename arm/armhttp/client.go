package armhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/internal/protocol"
)

// Transport returns a RoundTripper that measures requests which base makes;
// http.DefaultTransport if that is nil. A request lasts until its answer was read to the
// end or closed. Unless the program has set it, the header traceparent tells the server of
// the transaction.
func Transport(app *arm.Application, base http.RoundTripper, opts ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{base: base}
	t.init(app, byHost, opts)
	return t
}

type transport struct {
	names
	base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	tr := t.of(r)
	if tr == nil {
		return t.base.RoundTrip(r)
	}
	ctx, running := tr.StartContext(protocol.Traced(r.Context()))
	resp, err := t.base.RoundTrip(send(ctx, r))
	if err != nil || resp == nil {
		running.Stop(arm.Aborted)
		return resp, err
	}
	status := t.judge(resp.StatusCode)
	// http.Client forgives a base that returns no body.
	if resp.Body == nil || resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		running.Stop(status)
		return resp, nil
	}
	resp.Body = &body{ReadCloser: resp.Body, ctx: ctx, running: running, status: status}
	return resp, nil
}

// send returns the request with the context, and its correlator in the header. A
// RoundTripper does not change the one that it was given.
func send(ctx context.Context, r *http.Request) *http.Request {
	r = r.WithContext(ctx)
	header, ok := arm.CorrelatorFromContext(ctx).Traceparent()
	if ok && r.Header["Traceparent"] == nil {
		r.Header = r.Header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header["Traceparent"] = []string{header}
	}
	return r
}

// body stops a request's transaction when its answer is complete.
type body struct {
	io.ReadCloser
	ctx     context.Context
	running arm.Running
	status  arm.Status
	once    sync.Once
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.stop(b.status)
	case err != nil:
		b.stop(arm.Aborted)
	}
	return n, err
}

// Close implements io.Closer. Who needs no more of an answer has got it.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	if b.ctx.Err() != nil {
		b.stop(arm.Aborted)
	}
	b.stop(b.status)
	return err
}

func (b *body) stop(s arm.Status) { b.once.Do(func() { b.running.Stop(s) }) }
