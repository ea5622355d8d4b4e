package pdu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// countingReader counts the calls that would be system calls.
type countingReader struct {
	r     io.Reader
	calls int
}

func (c *countingReader) Read(b []byte) (int, error) {
	c.calls++
	return c.r.Read(b)
}

// allGoldens is every golden PDU on one stream.
func allGoldens(t testing.TB) []byte {
	var b []byte
	for _, g := range goldens {
		b = append(b, g.bytes(t)...)
	}
	return b
}

func expectGoldens(t *testing.T, r *Reader) {
	t.Helper()
	for _, g := range goldens {
		b, err := r.Next()
		if err != nil || !bytes.Equal(b, g.bytes(t)) {
			t.Fatalf("%s: %x, %v", g.name, b, err)
		}
	}
	for range 2 {
		if b, err := r.Next(); err != io.EOF || b != nil {
			t.Fatalf("at the end: %x, %v", b, err)
		}
	}
}

func TestReaderHoweverCut(t *testing.T) {
	all := allGoldens(t)
	for name, cut := range map[string]func(io.Reader) io.Reader{
		"whole":            func(r io.Reader) io.Reader { return r },
		"byte by byte":     iotest.OneByteReader,
		"halves":           iotest.HalfReader,
		"error with data":  iotest.DataErrReader,
		"one byte and EOF": func(r io.Reader) io.Reader { return iotest.DataErrReader(iotest.OneByteReader(r)) },
	} {
		t.Run(name, func(t *testing.T) {
			expectGoldens(t, NewReader(cut(bytes.NewReader(all)), 0))
		})
	}
}

func TestReaderOneCallForMany(t *testing.T) {
	c := &countingReader{r: bytes.NewReader(allGoldens(t))}
	r := NewReader(c, 0)
	for range goldens {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if c.calls != 1 {
		t.Errorf("%d calls for %d PDUs, want 1", c.calls, len(goldens))
	}
}

// TestReaderEverySplit puts the end of the stream at each place of two PDUs.
func TestReaderEverySplit(t *testing.T) {
	first, second := goldenBytes(t, "fetch"), goldenBytes(t, "attr process id")
	all := append(bytes.Clone(first), second...)
	for n := range all {
		r := NewReader(bytes.NewReader(all[:n]), 0)
		want := io.ErrUnexpectedEOF
		if n == 0 || n == len(first) {
			want = io.EOF
		}
		if n >= len(first) {
			if b, err := r.Next(); err != nil || !bytes.Equal(b, first) {
				t.Fatalf("%d: %x, %v", n, b, err)
			}
		}
		if b, err := r.Next(); err != want || b != nil {
			t.Errorf("stream of %d bytes: %x, %v; want %v", n, b, err, want)
		}
	}
}

func TestReaderLargePDUs(t *testing.T) {
	var stream []byte
	sizes := []int{bufferStart - 1, bufferStart, bufferStart + 1, 12, 1 << 20, 13, 3<<20 + 1}
	for i, n := range sizes {
		p := appendHeader(nil, n, TypeAttr, int32(i))
		stream = append(stream, append(p, bytes.Repeat([]byte{byte(i)}, n-HeaderLen)...)...)
	}
	r := NewReader(iotest.HalfReader(bytes.NewReader(stream)), 0)
	for i, n := range sizes {
		b, err := r.Next()
		if err != nil || len(b) != n || n > HeaderLen && b[n-1] != byte(i) {
			t.Fatalf("PDU %d of %d bytes: %d, %v", i, n, len(b), err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// TestReaderClaim checks that a length costs nothing until its bytes come: the buffer is at
// most twice what has come, and never more than what is claimed.
func TestReaderClaim(t *testing.T) {
	for _, tt := range []struct{ claim, come, want int }{
		{MaxLen, 1000, bufferStart},
		{MaxLen, bufferStart - 1, bufferStart},
		{MaxLen, bufferStart + 1000, 2 * bufferStart},
		{MaxLen, 2*bufferStart + 1, 4 * bufferStart},
		{bufferStart + 2000, bufferStart + 1000, bufferStart + 2000},
	} {
		b := append(appendHeader(nil, tt.claim, TypeAttr, 0), make([]byte, tt.come-HeaderLen)...)
		r := NewReader(bytes.NewReader(b), 0)
		if _, err := r.Next(); err != io.ErrUnexpectedEOF {
			t.Errorf("%d of %d bytes: %v", tt.come, tt.claim, err)
		}
		if len(r.buf) != tt.want {
			t.Errorf("%d of %d bytes: buffer of %d, want %d", tt.come, tt.claim, len(r.buf), tt.want)
		}
	}
}

// roomReader gives one PDU at a time and records how much room it is offered.
type roomReader struct {
	pdu  []byte
	room int
}

func (r *roomReader) Read(b []byte) (int, error) {
	r.room = len(b)
	return copy(b, r.pdu), nil
}

// TestReaderRoom checks that a reader that has caught up offers its whole buffer. Otherwise
// a busy stream would come in ever smaller pieces.
func TestReaderRoom(t *testing.T) {
	src := &roomReader{pdu: goldenBytes(t, "fetch")}
	r := NewReader(src, 0)
	for range 3 {
		if _, err := r.Next(); err != nil || src.room != bufferStart {
			t.Errorf("%d bytes of room, %v", src.room, err)
		}
	}
}

func TestReaderBadLength(t *testing.T) {
	for _, tt := range []struct {
		length uint32
		max    int
		cause  error
	}{
		{0, 0, ErrTooShort}, {11, 0, ErrTooShort}, {0xffffffff, 0, ErrTooShort},
		{MaxLen + 1, 0, ErrTooLong}, {101, 100, ErrTooLong},
	} {
		b := goldenBytes(t, "fetch")
		binary.BigEndian.PutUint32(b, tt.length)
		r := NewReader(bytes.NewReader(b), tt.max)
		for range 2 {
			_, err := r.Next()
			var pe *ParseError
			if !errors.Is(err, tt.cause) || !errors.As(err, &pe) {
				t.Errorf("length %#x, max %d: %v, want %v", tt.length, tt.max, err, tt.cause)
			}
		}
	}
	b := goldenBytes(t, "fetch")
	if _, err := NewReader(bytes.NewReader(b), len(b)).Next(); err != nil {
		t.Errorf("a PDU of the greatest length: %v", err)
	}
}

func TestReaderUnknownType(t *testing.T) {
	odd := appendHeader(nil, 16, 0x7018, 0)
	odd = append(odd, 1, 2, 3, 4)
	r := NewReader(bytes.NewReader(append(bytes.Clone(odd), goldenBytes(t, "fetch")...)), 0)
	b, err := r.Next()
	if err != nil || !bytes.Equal(b, odd) {
		t.Fatalf("%x, %v", b, err)
	}
	if _, err := Decode(b); !errors.Is(err, ErrUnknownType) {
		t.Errorf("Decode: %v", err)
	}
	if b, err = r.Next(); err != nil || !bytes.Equal(b, goldenBytes(t, "fetch")) {
		t.Errorf("behind it: %x, %v", b, err)
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

func TestReaderErrors(t *testing.T) {
	if _, err := NewReader(emptyReader{}, 0).Next(); err != io.ErrNoProgress {
		t.Errorf("reader without progress: %v", err)
	}
	broken := errors.New("broken")
	fetch := goldenBytes(t, "fetch")
	r := NewReader(io.MultiReader(bytes.NewReader(append(fetch, 1, 2)), iotest.ErrReader(broken)), 0)
	if b, err := r.Next(); err != nil || len(b) != len(fetch) {
		t.Fatalf("%x, %v", b, err)
	}
	for range 2 {
		if _, err := r.Next(); err != broken {
			t.Errorf("got %v, want %v", err, broken)
		}
	}
}

// TestReaderBuffered: what has been read ahead is counted.
func TestReaderBuffered(t *testing.T) {
	fetch := goldenBytes(t, "fetch")
	r := NewReader(bytes.NewReader(append(fetch, fetch...)), 0)
	for _, want := range []int{len(fetch), 0} {
		if _, err := r.Next(); err != nil || r.Buffered() != want {
			t.Errorf("%d bytes buffered, want %d; %v", r.Buffered(), want, err)
		}
	}
}
