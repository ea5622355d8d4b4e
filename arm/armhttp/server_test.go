//go:build linux

package armhttp_test

import (
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armhttp"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /accounts/{id}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.PathValue("id")) })
	mux.HandleFunc("/any", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("POST /bad", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusProcessing)
		http.Error(w, "no", http.StatusConflict)
		w.WriteHeader(http.StatusOK) // too late
	})
	mux.HandleFunc("GET /broken", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusBadGateway) })
	mux.HandleFunc("GET /wrong", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusInternalServerError) })
	mux.HandleFunc("GET /panic", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("GET /api/v1/organisations/{organisation}/members", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("GET /api/v1/organisations/{organisation}/teams", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("PUT /customers/{customer}/orders/{order...}", func(w http.ResponseWriter, r *http.Request) {})
	return mux
}

// call is a handler's request and what it takes of panics.
func call(h http.Handler, method, path string) (code int) {
	w := httptest.NewRecorder()
	defer func() {
		if err, ok := recover().(error); ok && !errors.Is(err, http.ErrAbortHandler) {
			panic(err)
		}
	}()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Code
}

func quiet(s *httptest.Server) *httptest.Server {
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	return s
}

// TestServerNames: requests are named by patterns, however many paths there are, and
// counted by what comes of them.
func TestServerNames(t *testing.T) {
	m := measure(t)
	inside := http.NewServeMux() // measured behind the mux
	inside.Handle("GET /inner/", armhttp.Handler(m.app, http.NotFoundHandler()))
	top := armhttp.Handler(m.app, routes())
	for _, c := range []struct {
		h            http.Handler
		method, path string
	}{
		{top, "GET", "/accounts/1"}, {top, "GET", "/accounts/2"}, {top, "HEAD", "/accounts/2"},
		{top, "GET", "/any"}, {top, "DELETE", "/any"}, {top, "BREW", "/any"}, {top, "BREW2", "/any"},
		{top, "POST", "/bad"}, {top, "GET", "/broken"}, {top, "GET", "/wrong"}, {top, "GET", "/panic"}, {top, "GET", "/1"}, {top, "GET", "/2"},
		{top, "GET", "/api/v1/organisations/x/members"}, {top, "GET", "/api/v1/organisations/x/teams"}, {inside, "GET", "/inner/x"},
		{top, "PUT", "/customers/1/orders/2/3"},
	} {
		call(c.h, c.method, c.path)
	}
	got := m.counts()
	for key, n := range got {
		if strings.Contains(key, "~") {
			if n != [3]uint64{1} || len(key) != 31 || !strings.HasPrefix(key, "GET/api/v") || !strings.HasSuffix(key, "rs") && !strings.HasSuffix(key, "}/teams") {
				t.Errorf("%s: %v", key, n)
			}
			delete(got, key)
		}
	}
	want := map[string][3]uint64{
		"GET/accounts/{id}": {3}, "GET/any": {1}, "DELETE/any": {1}, "other/any": {2}, "POST/bad": {1}, "GET/broken": {0, 0, 1},
		"GET/wrong": {0, 1}, "GET/panic": {0, 1}, "GETother": {2}, "GET/inner/": {1}, "PUT/customers/{}/orders/{...}": {1},
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	details := map[string]bool{}
	for _, i := range m.names() {
		details[i.Detail] = true
	}
	if !details["GET /api/v1/organisations/{organisation}/teams"] || !details["PUT /customers/{customer}/orders/{order...}"] || len(m.names()) != 13 {
		t.Errorf("%v", m.names())
	}
}

func TestNaming(t *testing.T) {
	m := measure(t)
	h := armhttp.Handler(m.app, routes(), armhttp.Naming(func(r *http.Request) string { return r.Header.Get("Action") }))
	for _, action := range []string{"read", "", "read"} {
		r := httptest.NewRequest("GET", "/any", nil)
		r.Header.Set("Action", action)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if got := m.counts(); !maps.Equal(got, map[string][3]uint64{"read": {2}}) {
		t.Error(got)
	}
}

// TestJudging: a program has its own opinion of status codes, on both sides.
func TestJudging(t *testing.T) {
	m := measure(t)
	strict := armhttp.Judging(func(code int) arm.Status {
		if code == http.StatusNotFound {
			return arm.Failed
		}
		return arm.Good
	})
	s := httptest.NewServer(armhttp.Handler(m.app, http.NotFoundHandler(), strict))
	naming := armhttp.Naming(func(*http.Request) string { return "ask" })
	resp, err := (&http.Client{Transport: armhttp.Transport(m.app, nil, strict, naming)}).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	s.Close() // waits for the handler
	if got := m.counts(); !maps.Equal(got, map[string][3]uint64{"GETother": {0, 1}, "ask": {0, 1}}) {
		t.Error(got)
	}
}

// TestServerContext: the handler's context is of the transaction, as a child of who asks.
func TestServerContext(t *testing.T) {
	m := measure(t)
	var own []string
	h := armhttp.Handler(m.app, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header, ok := arm.CorrelatorFromContext(r.Context()).Traceparent()
		if !ok {
			t.Error("no trace context")
		}
		own = append(own, header)
		m.app.Transaction("inner").Start(r.Context()).Stop(arm.Good)
	}))
	for _, values := range [][]string{{traceparent}, nil, {"garbage"}, {traceparent, traceparent}} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Traceparent"] = values
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if own[0][:36] != traceparent[:36] || own[0][36:52] == traceparent[36:52] || own[0][52:] != "-01" {
		t.Errorf("%s after %s", own[0], traceparent)
	}
	for _, header := range own[1:] {
		if header[3:35] == traceparent[3:35] || header[52:] != "-00" {
			t.Errorf("%s is the trace of something that was not understood", header)
		}
	}
	if got := m.pairs(); !maps.Equal(got, map[string]uint64{"GETother > inner": 4}) {
		t.Error(got)
	}
}

// TestClientGone: a request whose client does not wait for the answer is aborted.
func TestClientGone(t *testing.T) {
	m := measure(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool)
	h := armhttp.Handler(m.app, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	s := quiet(httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		h.ServeHTTP(w, r)
	})))
	defer s.Close()
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-done
	if got := m.counts(); !maps.Equal(got, map[string][3]uint64{"GETother": {0, 0, 1}}) {
		t.Error(got)
	}
}

// TestResponseWriter: what a server's writer can do, the handler's can.
func TestResponseWriter(t *testing.T) {
	m := measure(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /flush", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		n, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("bc"))
		if n != 2 || err != nil {
			t.Error(n, err)
		}
	})
	mux.HandleFunc("GET /hijack", func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n\r\nabc")
	})
	patterns := make(chan string, 2)
	h := armhttp.Handler(m.app, mux)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		patterns <- r.Pattern
	}))
	defer s.Close()
	for _, path := range []string{"/flush", "/hijack"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "GET "+path+" HTTP/1.0\r\nHost: x\r\n\r\n")
		if b, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(b), "\r\n\r\nabc") {
			t.Errorf("%s: %q, %v", path, b, err)
		}
		c.Close()
		if pattern := <-patterns; pattern != "GET "+path {
			t.Errorf("pattern %q", pattern)
		}
	}
	if got := m.counts(); !maps.Equal(got, map[string][3]uint64{"GET/flush": {1}, "GET/hijack": {1}}) {
		t.Error(got)
	}
}
