//go:build linux

package armhttp_test

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/arm/armhttp"
)

// What a ResponseWriter can do, noting that it was asked.
type (
	flushes   struct{ asked map[string]bool }
	hijacks   struct{ asked map[string]bool }
	readsFrom struct{ asked map[string]bool }
	pushes    struct{ asked map[string]bool }
)

var errAsked = errors.New("asked")

func (f flushes) Flush()            { f.asked["flush without an error"] = true }
func (f flushes) FlushError() error { f.asked["flush"] = true; return errAsked }
func (h hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	h.asked["hijack"] = true
	return nil, nil, errAsked
}
func (r readsFrom) ReadFrom(io.Reader) (int64, error) { r.asked["read"] = true; return 0, errAsked }
func (p pushes) Push(string, *http.PushOptions) error { p.asked["push"] = true; return errAsked }
func plain() http.ResponseWriter                      { return struct{ http.ResponseWriter }{httptest.NewRecorder()} }
func writers(asked map[string]bool) []http.ResponseWriter {
	w, f, h, r, p := plain(), flushes{asked}, hijacks{asked}, readsFrom{asked}, pushes{asked}
	return []http.ResponseWriter{
		w,
		struct {
			http.ResponseWriter
			flushes
		}{w, f},
		struct {
			http.ResponseWriter
			hijacks
		}{w, h},
		struct {
			http.ResponseWriter
			flushes
			hijacks
		}{w, f, h},
		struct {
			http.ResponseWriter
			readsFrom
		}{w, r},
		struct {
			http.ResponseWriter
			flushes
			readsFrom
		}{w, f, r},
		struct {
			http.ResponseWriter
			hijacks
			readsFrom
		}{w, h, r},
		struct {
			http.ResponseWriter
			flushes
			hijacks
			readsFrom
		}{w, f, h, r},
		struct {
			http.ResponseWriter
			pushes
		}{w, p},
		struct {
			http.ResponseWriter
			flushes
			pushes
		}{w, f, p},
		struct {
			http.ResponseWriter
			hijacks
			pushes
		}{w, h, p},
		struct {
			http.ResponseWriter
			flushes
			hijacks
			pushes
		}{w, f, h, p},
		struct {
			http.ResponseWriter
			readsFrom
			pushes
		}{w, r, p},
		struct {
			http.ResponseWriter
			flushes
			readsFrom
			pushes
		}{w, f, r, p},
		struct {
			http.ResponseWriter
			hijacks
			readsFrom
			pushes
		}{w, h, r, p},
		struct {
			http.ResponseWriter
			flushes
			hijacks
			readsFrom
			pushes
		}{w, f, h, r, p},
	}
}

// ask has a writer do all that it is said to, and says what that was.
func ask(t *testing.T, w http.ResponseWriter) map[string]bool {
	can, errs := map[string]bool{}, []error{}
	if f, ok := w.(http.Flusher); ok {
		can["flush"] = true
		f.Flush()
		errs = append(errs, http.NewResponseController(w).Flush())
	}
	if h, ok := w.(http.Hijacker); ok {
		can["hijack"] = true
		_, _, err := h.Hijack()
		errs = append(errs, err)
	}
	if r, ok := w.(io.ReaderFrom); ok {
		can["read"] = true
		_, err := r.ReadFrom(strings.NewReader("x"))
		errs = append(errs, err)
	}
	if p, ok := w.(http.Pusher); ok {
		can["push"] = true
		errs = append(errs, p.Push("/x", nil))
	}
	for _, err := range errs {
		if !errors.Is(err, errAsked) {
			t.Errorf("%v: the writer's error is now %v", can, err)
		}
	}
	return can
}

// TestWriters: of the sixteen kinds of ResponseWriter that there can be, each is the same
// kind behind Handler, and is asked itself.
func TestWriters(t *testing.T) {
	m := measure(t)
	asked := map[string]bool{}
	kinds := map[string]bool{}
	for i, w := range writers(asked) {
		h := armhttp.Handler(m.app, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			can := ask(t, w)
			if !maps.Equal(can, asked) {
				t.Errorf("kind %d: %v is said, %v was asked", i, can, asked)
			}
		}))
		clear(asked)
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		inner := maps.Clone(asked)
		clear(asked)
		can := ask(t, w)
		if !maps.Equal(can, inner) {
			t.Errorf("kind %d: %v before, %v behind", i, can, inner)
		}
		kind := ""
		for _, word := range []string{"flush", "hijack", "read", "push"} {
			if can[word] {
				kind += word
			}
		}
		kinds[kind] = true
	}
	if len(kinds) != 16 {
		t.Errorf("only %d kinds", len(kinds))
	}
}

// TestController: what http.ResponseController does with a real server's writer goes on working.
func TestController(t *testing.T) {
	m := measure(t)
	h := func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		later := time.Now().Add(time.Hour)
		_, pushes := w.(http.Pusher)
		_, hijacks := w.(http.Hijacker)
		if second := r.ProtoMajor == 2; pushes != second || hijacks == second {
			t.Errorf("%s: pushes %v, hijacks %v", r.Proto, pushes, hijacks)
		}
		for what, err := range map[string]error{
			"read": c.SetReadDeadline(later), "write": c.SetWriteDeadline(later), "duplex": c.EnableFullDuplex(), "flush": c.Flush(),
		} {
			if err != nil {
				t.Errorf("%s, %s: %v", r.Proto, what, err)
			}
		}
		w.WriteHeader(http.StatusInternalServerError) // too late: it was 200 at the flush
	}
	for _, http2 := range []bool{false, true} {
		s := httptest.NewUnstartedServer(armhttp.Handler(m.app, http.HandlerFunc(h)))
		s.EnableHTTP2 = http2
		quiet(s).StartTLS()
		resp, err := s.Client().Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil || (resp.ProtoMajor == 2) != http2 {
			t.Error(resp.Proto, err)
		}
		resp.Body.Close()
		s.Close()
	}
	if got := m.counts(); !maps.Equal(got, map[string][3]uint64{"GETother": {2}}) {
		t.Error(got)
	}
}
