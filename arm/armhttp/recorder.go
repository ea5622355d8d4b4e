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
	code int // 0 until it is known
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

func (r *recorder) wrote() {
	if r.code == 0 {
		r.code = http.StatusOK
	}
}

// status is what the server sends if the handler has sent nothing, too.
func (r *recorder) status() int {
	r.wrote()
	return r.code
}

// Unwrap is for http.ResponseController, which finds deadlines and full duplex by it.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// What a ResponseWriter may be able to do besides, each in a type of its own: record puts
// together those that apply.
type (
	flusher    struct{ rec *recorder }
	hijacker   struct{ rec *recorder }
	readerFrom struct{ rec *recorder }
	pusher     struct{ http.Pusher }
)

// Flush implements http.Flusher.
func (f flusher) Flush() { _ = f.FlushError() }

// FlushError is what http.ResponseController calls.
func (f flusher) FlushError() error {
	f.rec.wrote()
	return http.NewResponseController(f.rec.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := h.rec.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil && h.rec.code == 0 {
		h.rec.code = http.StatusSwitchingProtocols
	}
	return conn, buffered, err
}

// ReadFrom copies as the ResponseWriter itself does, which may leave it to the kernel.
func (r readerFrom) ReadFrom(from io.Reader) (int64, error) {
	r.rec.wrote()
	return r.rec.ResponseWriter.(io.ReaderFrom).ReadFrom(from)
}

// record returns what a handler is to write to in place of w: it implements those of
// http.Flusher, http.Hijacker, io.ReaderFrom and http.Pusher that w does.
func record(w http.ResponseWriter) (http.ResponseWriter, *recorder) {
	rec := &recorder{ResponseWriter: w}
	f, h, r, p := flusher{rec}, hijacker{rec}, readerFrom{rec}, pusher{}
	can := 0 // a bit for each
	if _, ok := w.(http.Flusher); ok {
		can |= 1
	}
	if _, ok := w.(http.Hijacker); ok {
		can |= 2
	}
	if _, ok := w.(io.ReaderFrom); ok {
		can |= 4
	}
	if push, ok := w.(http.Pusher); ok {
		can, p.Pusher = can|8, push
	}
	var answer http.ResponseWriter = rec
	switch can {
	case 1:
		answer = struct {
			*recorder
			flusher
		}{rec, f}
	case 2:
		answer = struct {
			*recorder
			hijacker
		}{rec, h}
	case 3:
		answer = struct {
			*recorder
			flusher
			hijacker
		}{rec, f, h}
	case 4:
		answer = struct {
			*recorder
			readerFrom
		}{rec, r}
	case 5:
		answer = struct {
			*recorder
			flusher
			readerFrom
		}{rec, f, r}
	case 6:
		answer = struct {
			*recorder
			hijacker
			readerFrom
		}{rec, h, r}
	case 7:
		answer = struct {
			*recorder
			flusher
			hijacker
			readerFrom
		}{rec, f, h, r}
	case 8:
		answer = struct {
			*recorder
			pusher
		}{rec, p}
	case 9:
		answer = struct {
			*recorder
			flusher
			pusher
		}{rec, f, p}
	case 10:
		answer = struct {
			*recorder
			hijacker
			pusher
		}{rec, h, p}
	case 11:
		answer = struct {
			*recorder
			flusher
			hijacker
			pusher
		}{rec, f, h, p}
	case 12:
		answer = struct {
			*recorder
			readerFrom
			pusher
		}{rec, r, p}
	case 13:
		answer = struct {
			*recorder
			flusher
			readerFrom
			pusher
		}{rec, f, r, p}
	case 14:
		answer = struct {
			*recorder
			hijacker
			readerFrom
			pusher
		}{rec, h, r, p}
	case 15:
		answer = struct {
			*recorder
			flusher
			hijacker
			readerFrom
			pusher
		}{rec, f, h, r, p}
	}
	return answer, rec
}
