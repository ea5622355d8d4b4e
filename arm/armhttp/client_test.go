//go:build linux

package armhttp_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armhttp"
)

// roundTripper answers without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// broken is a body that ends before its end.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
func (b broken) Close() error { return nil }

// TestClient: a request lasts until its answer is read or closed, and is counted by what
// came of it.
func TestClient(t *testing.T) {
	m := measure(t)
	answer := func(code int, body io.ReadCloser, err error) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: code, Body: body}, nil
		})
	}
	text := func() io.ReadCloser { return io.NopCloser(strings.NewReader("text")) }
	for _, c := range []struct {
		host string
		base http.RoundTripper
	}{
		{"good", answer(204, http.NoBody, nil)}, {"good", answer(200, text(), nil)}, {"good", answer(404, text(), nil)}, {"failed", answer(500, text(), nil)},
		{"aborted", answer(503, text(), nil)}, {"aborted", answer(0, nil, errors.New("no route"))}, {"aborted", answer(200, broken{text()}, nil)},
	} {
		r := httptest.NewRequest("GET", "http://"+c.host+"/path?query", nil)
		resp, err := armhttp.Transport(m.app, c.base).RoundTrip(r)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, host := range []string{"closed", "cancelled"} {
		r := httptest.NewRequest("POST", "http://"+host+"/", nil).WithContext(ctx)
		resp, err := armhttp.Transport(m.app, answer(200, text(), nil)).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.counts()["POST"+host]; got != [3]uint64{} {
			t.Errorf("%s: counted before it is over", host)
		}
		resp.Body.Read(make([]byte, 2))
		if host == "cancelled" {
			cancel()
		}
		resp.Body.Close()
		resp.Body.Close()
	}
	want := map[string][3]uint64{"GETgood": {3}, "GETfailed": {0, 1}, "GETaborted": {0, 0, 3}, "POSTclosed": {1}, "POSTcancelled": {0, 0, 1}}
	if got := m.counts(); !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// TestNothing: what http.Client makes of a base without a body, or without an answer, it makes of it here as well.
func TestNothing(t *testing.T) {
	m := measure(t)
	base := func(resp *http.Response) http.RoundTripper {
		return armhttp.Transport(m.app, roundTripper(func(*http.Request) (*http.Response, error) { return resp, nil }))
	}
	resp, err := (&http.Client{Transport: base(&http.Response{StatusCode: 200})}).Get("http://bodiless/")
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) != 0 {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := (&http.Client{Transport: base(nil)}).Get("http://nothing/"); err == nil {
		t.Error("no answer is none")
	}
	want := map[string][3]uint64{"GETbodiless": {1}, "GETnothing": {0, 0, 1}}
	if got := m.counts(); !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// TestHeader: the server is told of the trace, unless the program did so; the program's
// request stays as it is.
func TestHeader(t *testing.T) {
	m := measure(t)
	var sent http.Header
	tr := armhttp.Transport(m.app, roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = r.Header
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	}))
	do := func(r *http.Request) string {
		before := r.Header.Clone()
		if _, err := tr.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(before, r.Header, func(a, b []string) bool { return strings.Join(a, "|") == strings.Join(b, "|") }) {
			t.Errorf("the request's header is now %v", r.Header)
		}
		return sent.Get("Traceparent")
	}
	request := func() *http.Request { return httptest.NewRequest("GET", "http://host/", nil) }
	if _, err := arm.CorrelatorFromTraceparent(do(request())); err != nil {
		t.Error("no new trace: ", err)
	}
	none := request()
	none.Header = nil
	if _, err := arm.CorrelatorFromTraceparent(do(none)); err != nil {
		t.Error("no new trace without a header: ", err)
	}
	parent, err := arm.CorrelatorFromTraceparent(traceparent)
	if err != nil {
		t.Fatal(err)
	}
	ctx := arm.ContextWithCorrelator(context.Background(), parent)
	if got := do(request().WithContext(ctx)); got[:36] != traceparent[:36] || got[36:52] == traceparent[36:52] {
		t.Errorf("%s after %s", got, traceparent)
	}
	set := request()
	set.Header.Set("Traceparent", traceparent)
	if got := do(set); got != traceparent {
		t.Errorf("%s in place of the program's", got)
	}
}

// TestThrough: a client's transaction is the parent of what its server's handler starts.
func TestThrough(t *testing.T) {
	m := measure(t)
	headers := make(chan string, 1)
	s := httptest.NewServer(armhttp.Handler(m.app, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Get("Traceparent")
	})))
	t.Cleanup(s.Close)
	outer := m.app.Transaction("outer")
	ctx, running := outer.StartContext(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	naming := armhttp.Naming(func(*http.Request) string { return "ask" })
	resp, err := (&http.Client{Transport: armhttp.Transport(m.app, nil, naming)}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	running.Stop(arm.Good)
	s.Close() // waits for the handler
	if got := <-headers; got != "" {
		t.Errorf("a trace %q without one in the context", got)
	}
	if got := m.pairs(); got["outer > ask"] != 1 {
		t.Error(got)
	}
	if got := m.counts(); got["ask"] != [3]uint64{1} || got["GETother"] != [3]uint64{1} {
		t.Error(got)
	}
}
