package armhttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// recorder notes the status that a handler answers with.
type recorder struct {
	http.ResponseWriter
	code int // 0 until it is known: then 200
}

// record returns what a handler is to write to in place of w.
func record(w http.ResponseWriter) (http.ResponseWriter, *recorder) {
	rec := &recorder{ResponseWriter: w}
	f, flushes := w.(http.Flusher)
	h, hijacks := w.(http.Hijacker)
	switch {
	case flushes && hijacks:
		return &hijacker{flusher{rec, f}, h}, rec
	case flushes:
		return &flusher{rec, f}, rec
	}
	return rec, rec
}

// WriteHeader notes the status. Those of 1xx announce another, but for 101.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (r *recorder) Write(b []byte) (int, error) {
	r.wrote()
	return r.ResponseWriter.Write(b)
}

// ReadFrom copies as the ResponseWriter itself would, which may leave it to the kernel.
func (r *recorder) ReadFrom(from io.Reader) (int64, error) {
	r.wrote()
	return io.Copy(r.ResponseWriter, from)
}

func (r *recorder) wrote() {
	if r.code == 0 {
		r.code = http.StatusOK
	}
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

type flusher struct {
	*recorder
	f http.Flusher
}

// Flush implements http.Flusher.
func (f *flusher) Flush() {
	f.wrote()
	f.f.Flush()
}

type hijacker struct {
	flusher
	h http.Hijacker
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if h.code == 0 {
		h.code = http.StatusSwitchingProtocols
	}
	return h.h.Hijack()
}
