package pdu

import (
	"io"
)

// Sizes of a Reader's buffer in bytes.
const (
	bufferStart = 64 << 10
	maxEmpty    = 100 // reads in a row that yield neither bytes nor an error
)

// Reader cuts a stream of bytes into PDUs. It reads as much as one call to the
// underlying reader gives, so that many small PDUs cost one system call. A Reader
// serves one goroutine.
type Reader struct {
	r          io.Reader
	max        int
	buf        []byte // buf[start:end] is read and not yet returned
	start, end int
	err        error // what ended the stream, for ever
}

// NewReader returns a Reader that refuses PDUs of more than max bytes; max 0 or
// less means MaxLen.
func NewReader(r io.Reader, max int) *Reader {
	if max <= 0 || max > MaxLen {
		max = MaxLen
	}
	return &Reader{r: r, max: max, buf: make([]byte, bufferStart)}
}

// Next returns the next whole PDU. The slice is good until the next call. The
// type in its header need not be a known one. Next returns io.EOF where the stream
// ends between two PDUs, io.ErrUnexpectedEOF where it ends within one, a
// *ParseError with cause ErrTooShort or ErrTooLong for a length that cannot be
// right, and the error of the underlying reader as it is. Every error is final.
func (r *Reader) Next() ([]byte, error) {
	if err := r.fill(HeaderLen); err != nil {
		return nil, err
	}
	h, perr := parseHeader(r.buf[r.start:r.end])
	if perr != nil && perr.Cause != ErrUnknownType {
		r.err = perr
		return nil, r.err
	}
	if h.Len > r.max {
		r.err = &ParseError{Type: h.Type, Field: "length", Cause: ErrTooLong}
		return nil, r.err
	}
	if err := r.fill(h.Len); err != nil {
		return nil, err
	}
	b := r.buf[r.start : r.start+h.Len : r.start+h.Len]
	r.start += h.Len
	return b, nil
}

// Buffered returns how many bytes have been read and not been returned yet.
func (r *Reader) Buffered() int { return r.end - r.start }

// fill reads until n bytes are there.
func (r *Reader) fill(n int) error {
	for empty := 0; r.end-r.start < n; {
		if r.err != nil {
			if r.err == io.EOF && r.end > r.start {
				r.err = io.ErrUnexpectedEOF
			}
			return r.err
		}
		r.makeRoom(n)
		m, err := r.r.Read(r.buf[r.end:])
		r.end += m
		r.err = err
		if m > 0 {
			empty = 0
		} else if empty++; empty >= maxEmpty && err == nil {
			r.err = io.ErrNoProgress
		}
	}
	return nil
}

// makeRoom makes sure that at least one byte can be read towards the n wanted. The buffer
// at most doubles, and only once it is full, so a length that is merely claimed costs no
// memory.
func (r *Reader) makeRoom(n int) {
	if r.start == r.end {
		r.start, r.end = 0, 0
	}
	if r.start+n <= len(r.buf) {
		return
	}
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end == len(r.buf) {
		grown := make([]byte, min(2*len(r.buf), max(n, bufferStart)))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
}
