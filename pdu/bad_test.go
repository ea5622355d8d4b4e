package pdu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// patch is a word written over a good PDU.
type patch struct {
	off  int
	word uint32
}

// bad names a good PDU, what is done to it, and what must be said about it.
type bad struct {
	golden  string
	patches []patch
	cut     int // bytes of it that are kept, 0 for all; the length is set to them
	field   string
	cause   error // nil where only the field matters
}

var bads = []bad{
	{"error pmid", []patch{{0, 11}}, 0, "length", ErrTooShort},
	{"error pmid", []patch{{0, 0xffffffff}}, 0, "length", ErrTooShort},
	{"error pmid", []patch{{0, 0x7fffffff}}, 0, "length", ErrTooLong},
	{"error pmid", []patch{{0, 20}}, 0, "length", ErrTruncated},
	{"error pmid", []patch{{0, 12}}, 0, "end", ErrTrailing},
	{"error pmid", []patch{{4, 0x700a}}, 0, "type", ErrUnknownType},
	{"error pmid", []patch{{4, 0x7018}}, 0, "type", ErrUnknownType},
	{"error pmid", nil, 12, "code", ErrTruncated},

	{"creds of pmcd", []patch{{12, 0}}, 16, "credentials", errNoVersion},
	{"creds of pmcd", []patch{{16, 0x02020004}}, 0, "credentials", errNoVersion},
	{"creds of pmcd", []patch{{12, 2}}, 0, "number of credentials", ErrTruncated},
	{"creds of pmcd", []patch{{12, 1 << 31}}, 0, "number of credentials", ErrNegative},

	{"profile of two instances", []patch{{20, 2}}, 0, "number of entries", ErrTruncated},
	{"profile of two instances", []patch{{20, 1 << 20}}, 0, "number of entries", ErrTruncated},
	{"profile of two instances", []patch{{20, 0xffffffff}}, 0, "number of entries", ErrNegative},
	{"profile of two instances", []patch{{36, 3}}, 0, "length of the list", ErrTruncated},
	{"profile of two instances", []patch{{36, 0xffffffff}}, 0, "length of the list", ErrNegative},
	{"profile of two instances", []patch{{36, 1}}, 0, "end", ErrTrailing},
	{"profile with three entries", []patch{{36, 2}, {52, 2}}, 0, "length of the list", ErrTruncated},

	{"fetch", []patch{{24, 0}}, 28, "number of metrics", errNoMetrics},
	{"fetch", []patch{{24, 3}}, 0, "number of metrics", ErrTruncated},
	{"fetch", []patch{{24, 1}}, 0, "end", ErrTrailing},
	{"fetch", []patch{{24, 0x80000000}}, 0, "number of metrics", ErrNegative},

	{"result in situ", []patch{{20, 0xffffffff}}, 0, "number of value sets", ErrNegative},
	{"result in situ", []patch{{20, 100}}, 0, "number of value sets", ErrTruncated},
	{"result in situ", []patch{{20, 1}}, 0, "end", ErrTrailing},
	{"result in situ", []patch{{28, 0x7fffffff}}, 0, "number of values", ErrTruncated},
	{"result in situ", []patch{{32, 3}}, 0, "format of values", errFormat},
	// Values in situ that are said to be places of blocks.
	{"result in situ", []patch{{32, 1}}, 0, "place of a value block", errBlockPlace},
	// Blocks that no value points at.
	{"store of a double", []patch{{32, 0}}, 0, "end", ErrTrailing},
	{"store of a double", []patch{{40, 10}}, 0, "place of a value block", errBlockPlace},
	{"store of a double", []patch{{40, 12}}, 0, "length of a value block", ErrTruncated},
	{"store of a double", []patch{{40, 14}}, 0, "place of a value block", errBlockPlace},
	{"store of a double", []patch{{40, 0x4000000b}}, 0, "place of a value block", errBlockPlace},
	{"store of a double", []patch{{44, 0x05000003}}, 0, "length of a value block", ErrTruncated},
	{"store of a double", []patch{{44, 0x0500000d}}, 0, "length of a value block", ErrTruncated},
	{"store of a double", []patch{{44, 0x05000008}}, 0, "value blocks", errBlockGap},
	{"store of a double", []patch{{44, 0x0500000b}}, 0, "value block", errBlockSize},
	{"store of a double", []patch{{44, 0x0400000c}}, 0, "value block", errBlockSize},
	{"store of a double", []patch{{44, 0x0b00000c}}, 0, "value block", errBlockType},
	{"store of a double", []patch{{44, 0xff00000c}}, 0, "value block", errBlockType},
	// Two values that share one block, which leaves the other to nobody.
	{"result whose blocks are out of order", []patch{{40, 13}}, 0, "value blocks", errBlockGap},
	{"result whose blocks are out of order", []patch{{48, 15}}, 0, "value blocks", errBlockGap},
	{"result whose blocks are out of order", []patch{{48, 14}}, 0, "", nil},
	// A block within another.
	{"result in blocks", []patch{{60, 0x20}}, 0, "length of a value block", ErrTruncated},
	{"highres result", []patch{{12, 0xffffffff}}, 0, "number of value sets", ErrNegative},

	{"desc", nil, 28, "units", ErrTruncated},
	{"descs", []patch{{12, 3}}, 0, "number of descriptors", ErrTruncated},
	{"desc ids", []patch{{16, 3}}, 0, "number of metrics", ErrTruncated},

	{"instance req of a name", []patch{{28, 5}}, 0, "name", ErrTruncated},
	{"instance req of a name", []patch{{28, 0xffffffff}}, 0, "name", ErrNegative},
	{"instance req of a name", nil, 35, "name", ErrTruncated},
	{"instance all", []patch{{16, 0xffffffff}}, 0, "number of instances", ErrNegative},
	{"instance all", []patch{{16, 6}}, 0, "number of instances", ErrTruncated},
	{"instance all", []patch{{24, 0x7fffffff}}, 0, "name", ErrTruncated},

	// The text is there, its padding is not.
	{"text of a metric", nil, 46, "text", ErrTruncated},
	{"text of a metric", []patch{{16, 0x80000000}}, 0, "text", ErrNegative},

	{"names with statuses", []patch{{12, 9}}, 0, "bytes of all names", errNameBytes},
	{"names with statuses", []patch{{16, 1}}, 0, "number of status words", errStatusCount},
	{"names with statuses", []patch{{16, 0xffffffff}}, 0, "number of status words", errStatusCount},
	{"names with statuses", []patch{{16, 3}, {20, 3}}, 0, "status", ErrTruncated},
	{"names with statuses", []patch{{16, 6}, {20, 6}}, 0, "number of names", ErrTruncated},
	{"names, one", []patch{{20, 0xffffffff}}, 0, "number of names", ErrNegative},
	{"ids", []patch{{16, 2}}, 0, "number of identifiers", ErrTruncated},
	{"child with statuses", []patch{{16, 0x7fffffff}}, 0, "name", ErrTruncated},
	{"traverse of sample", []patch{{16, 0xffffffff}}, 0, "name", ErrNegative},
	{"attr user id", nil, 15, "code", ErrTruncated},

	{"labels of the domain", []patch{{24, 0xffffffff}}, 0, "number of label sets", ErrNegative},
	{"labels of the domain", []patch{{24, 5}}, 0, "number of label sets", ErrTruncated},
	{"labels of the domain", []patch{{32, 255}}, 0, "number of labels", errLabelMany},
	{"labels of the domain", []patch{{32, 9}}, 0, "labels", ErrTruncated},
	{"labels of the domain", []patch{{36, 59}}, 0, "place of the text", errLabelPlace},
	{"labels of the domain", []patch{{40, 36}}, 0, "length of the text", ErrTruncated},
	{"labels of the domain", []patch{{40, 0xffffffff}}, 0, "length of the text", ErrNegative},
	{"labels of the domain", []patch{{40, 65535}}, 0, "length of the text", errLabelLong},
	{"labels of the domain", []patch{{40, 33}}, 0, "label", errLabelRange},
	{"labels of the domain", []patch{{44, 0x00022002}, {48, 0x00090008}}, 0, "label", errLabelShare},
	{"labels of the domain", []patch{{48, 0x00090007}}, 0, "label", nil}, // no JSON
	{"labels of the domain", []patch{{48, 0x00090000}}, 0, "label", nil},
	{"labels of the domain", []patch{{44, 0x00010502}}, 0, "label", errLabelName},
	{"labels of the domain", []patch{{44, 0x00020002}}, 0, "label", errLabelName},
	{"labels of the domain", []patch{{24, 0}}, 0, "end", ErrTrailing},
	// Instances that share a text.
	{"labels of nine instances", []patch{{60, 0xf4}}, 0, "place of the text", errLabelPlace},
	// A label that reaches into the text of another instance.
	{"labels of nine instances", []patch{{48, 0x000b0003}}, 0, "label", errLabelRange},
}

func goldenBytes(t testing.TB, name string) []byte {
	t.Helper()
	for _, g := range goldens {
		if g.name == name {
			return g.bytes(t)
		}
	}
	t.Fatalf("no golden PDU %q", name)
	return nil
}

func TestBad(t *testing.T) {
	for _, tt := range bads {
		b := goldenBytes(t, tt.golden)
		for _, p := range tt.patches {
			binary.BigEndian.PutUint32(b[p.off:], p.word)
		}
		if tt.cut > 0 {
			b = setLength(b[:tt.cut])
		}
		p, err := Decode(b)
		if err == nil {
			t.Errorf("%s %v: parsed as %+v", tt.golden, tt.patches, p)
			continue
		}
		var pe *ParseError
		if !errors.As(err, &pe) {
			t.Errorf("%s %v: %T, want a ParseError", tt.golden, tt.patches, err)
			continue
		}
		if tt.field != "" && pe.Field != tt.field || tt.cause != nil && !errors.Is(err, tt.cause) {
			t.Errorf("%s %v: %v; want %q: %v", tt.golden, tt.patches, err, tt.field, tt.cause)
		}
		if pe.Offset < 0 || pe.Offset > len(b) || !strings.HasPrefix(err.Error(), "pdu: ") {
			t.Errorf("%s %v: %v, at %d of %d", tt.golden, tt.patches, err, pe.Offset, len(b))
		}
	}
}

func TestParseErrorText(t *testing.T) {
	b := goldenBytes(t, "fetch")
	binary.BigEndian.PutUint32(b[24:], 3)
	_, err := Decode(b)
	want := "pdu: FETCH: number of metrics at byte 24: reaches beyond the end"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	binary.BigEndian.PutUint32(b[4:], 0x7018)
	_, err = Decode(b)
	want = "pdu: Type(0x7018): type at byte 4: unknown type"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// allocated returns how many bytes f allocates, together with what the runtime may allocate
// meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// allowance is what decoding n bytes may allocate. A label costs most: eight bytes
// and some text on the wire start a JSON decoder.
func allowance(b []byte) uint64 {
	factor := 16
	if h, _ := ParseHeader(b); h.Type == TypeLabel {
		factor = 64
	}
	return uint64(factor*len(b)) + 16<<10
}

// bounded runs f, which decodes b, and fails the test if f allocates more than b pays for.
// Other goroutines, such as those of the fuzzing engine, allocate now and then, so the
// smallest of several runs counts.
func bounded(t *testing.T, what string, b []byte, f func()) {
	t.Helper()
	n := allocated(f)
	for tries := 0; n > allowance(b) && tries < 5; tries++ {
		n = min(n, allocated(f))
	}
	if n > allowance(b) {
		t.Errorf("%s: %d bytes allocated for %d of input", what, n, len(b))
	}
}

// TestHostileWords writes words that lie about lengths over each place of each
// PDU. None may cause a panic, nor an allocation that its bytes do not pay for.
func TestHostileWords(t *testing.T) {
	words := []uint32{0, 1, 2, 0xff, 0xffff, 0xffffff, 0x3fffffff, 0x40000000, 0x7fffffff,
		0x80000000, 0x80000001, 0xfffffffc, 0xffffffff}
	for _, g := range goldens {
		whole := g.bytes(t)
		for off := HeaderLen; off+4 <= len(whole); off += 4 {
			for _, w := range words {
				b := append([]byte(nil), whole...)
				binary.BigEndian.PutUint32(b[off:], w)
				bounded(t, fmt.Sprintf("%s: %#x at %d", g.name, w, off), b, func() { Decode(b) })
			}
		}
	}
}

// TestHostileSharing builds PDUs in which many items lay claim to the same bytes.
func TestHostileSharing(t *testing.T) {
	profile := appendHeader(nil, 65532, TypeProfile, 0)
	profile = append(profile, make([]byte, 65532-HeaderLen)...)
	binary.BigEndian.PutUint32(profile[20:], 2000)
	for i := range 2000 { // each list alone fits into the rest
		binary.BigEndian.PutUint32(profile[28+16*i+8:], (65532-28-2000*16)/4)
	}
	text := append([]byte(`"`), append(make([]byte, 60000), '"')...)
	for i := range text[1 : len(text)-1] {
		text[1+i] = 'a'
	}
	labels := appendHeader(nil, labelsHead+labelSetHead+254*labelIndexLen+len(text), TypeLabel, 0)
	for _, w := range []uint32{1, 2, 0, 1, 0, 254, labelsHead + labelSetHead + 254*labelIndexLen,
		uint32(len(text))} {
		labels = put32(labels, w)
	}
	for range 254 {
		labels = put32(labels, 1<<16|1<<8)
		labels = put32(labels, uint32(len(text)))
	}
	labels = append(labels, text...)
	for name, b := range map[string][]byte{"profile": profile, "labels": labels} {
		var err error
		bounded(t, name, b, func() { _, err = Decode(b) })
		if err == nil || errors.Is(err, ErrTrailing) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
