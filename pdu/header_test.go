package pdu

import (
	"errors"
	"testing"
)

func TestParseHeader(t *testing.T) {
	long := goldenBytes(t, "fetch")
	for _, tt := range []struct {
		name string
		b    []byte
		want Header
		err  error
	}{
		{"more than the PDU", append(long, 1, 2, 3), Header{36, TypeFetch, 0}, nil},
		{"the header alone", long[:12], Header{36, TypeFetch, 0}, nil},
		{"negative from", mustHex("0000000c 00007000 ffffffff"), Header{12, TypeError, -1}, nil},
		{"shorter than a header", long[:11], Header{}, ErrTruncated},
		{"nothing", nil, Header{}, ErrTruncated},
		{"unknown type", mustHex("0000000c 0000700b 00000005"), Header{12, 0x700b, 5}, ErrUnknownType},
		{"greatest length", mustHex("7ffffbff 00007000 00000000"), Header{MaxLen, TypeError, 0}, nil},
		{"beyond the greatest", mustHex("7ffffc00 00007000 00000000"), Header{MaxLen + 1, TypeError, 0}, ErrTooLong},
		{"short length", mustHex("0000000b 00007000 00000000"), Header{11, TypeError, 0}, ErrTooShort},
	} {
		got, err := ParseHeader(tt.b)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %+v, %v; want %+v, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func TestTypes(t *testing.T) {
	for typ, want := range map[Type]string{
		TypeError: "ERROR", TypeIDs: "PMNS_IDS", TypeDescs: "DESCS", 0x700a: "Type(0x700a)",
	} {
		if typ.String() != want || typ.Known() != (New(typ) != nil) {
			t.Errorf("%#x: %v, known %v, New %v", uint32(typ), typ, typ.Known(), New(typ))
		}
	}
}

// TestParseAlone calls Parse without Decode, which looks at the header first.
func TestParseAlone(t *testing.T) {
	for typ := range kinds {
		for _, b := range [][]byte{nil, mustHex("0000000c 0000700b 00000000"), mustHex("00000000 00007000 00000000")} {
			var pe *ParseError
			if err := New(typ).Parse(b); !errors.As(err, &pe) {
				t.Errorf("%v: %x: %v", typ, b, err)
			}
		}
	}
}

func TestCursorNegative(t *testing.T) {
	c := cursor{buf: make([]byte, 8)}
	if b := c.view("field", -1); b != nil || !errors.Is(c.done(), ErrNegative) {
		t.Errorf("%v, %v", b, c.done())
	}
	c = cursor{buf: make([]byte, 8)}
	if b := c.padded("field", 1<<31-1); b != nil || !errors.Is(c.done(), ErrTruncated) {
		t.Errorf("%v, %v", b, c.done())
	}
}
