package pdu

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

func TestAs(t *testing.T) {
	u32 := func(w uint32) pcp.Value { return pcp.RawNumber(pcp.TypeU32, uint64(w)) }
	minus5 := int32(-5)
	for _, tt := range []struct {
		v    pcp.Value
		t    pcp.Type
		want pcp.Value
		err  error
	}{
		{u32(5), pcp.TypeU32, pcp.Num(uint32(5)), nil},
		{u32(5), pcp.Type32, pcp.Num(int32(5)), nil},
		{u32(uint32(minus5)), pcp.Type32, pcp.Num(int32(-5)), nil},
		{u32(0x80000000), pcp.Type32, pcp.Num(int32(math.MinInt32)), nil},
		{u32(0x3f800000), pcp.TypeFloat, pcp.Num(float32(1)), nil},
		{u32(5), pcp.Type64, pcp.Value{}, pcp.ErrConv},
		{u32(5), pcp.TypeDouble, pcp.Value{}, pcp.ErrConv},
		{u32(5), pcp.TypeString, pcp.Value{}, pcp.ErrConv},
		{u32(5), pcp.TypeNoSupport, pcp.Value{}, pcp.ErrType},
		{u32(5), pcp.Type(11), pcp.Value{}, pcp.ErrType},
		{pcp.Num(int32(-5)), pcp.Type32, pcp.Num(int32(-5)), nil},
		{pcp.Num(int32(-5)), pcp.TypeU32, pcp.Value{}, pcp.ErrConv},
		{pcp.Num(1.5), pcp.TypeDouble, pcp.Num(1.5), nil},
		{pcp.Num(1.5), pcp.TypeFloat, pcp.Value{}, pcp.ErrConv},
		{pcp.Str("a"), pcp.TypeString, pcp.Str("a"), nil},
		{pcp.Str("a"), pcp.TypeAggregate, pcp.Value{}, pcp.ErrConv},
		{pcp.RawBytes(pcp.TypeAggregate, []byte("a")), pcp.TypeAggregateStatic,
			pcp.RawBytes(pcp.TypeAggregateStatic, []byte("a")), nil},
	} {
		got, err := InstValue{1, tt.v}.As(tt.t)
		if !errors.Is(err, tt.err) || err == nil && !sameValue(got, tt.want) {
			t.Errorf("%v %v as %v: %v %v, %v; want %v, %v", tt.v.Type(), tt.v, tt.t,
				got.Type(), got, err, tt.want, tt.err)
		}
	}
}

func sameValue(a, b pcp.Value) bool {
	return a.Type() == b.Type() && a.Bits() == b.Bits() && bytes.Equal(a.Bytes(), b.Bytes())
}

// TestResultUnfit gives Append sets that the wire cannot carry. Each becomes an
// error, and the sets around it stay whole.
func TestResultUnfit(t *testing.T) {
	long := strings.Repeat("x", maxBlock-5)
	number, text := pcp.Num(uint32(7)), pcp.Str("seven")
	for _, tt := range []struct {
		name   string
		err    pcp.Error
		values []pcp.Value
		want   pcp.Error
	}{
		{"number, then string", 0, []pcp.Value{number, text}, pcp.ErrType},
		{"string, then number", 0, []pcp.Value{text, number}, pcp.ErrType},
		{"no type", 0, []pcp.Value{pcp.RawNumber(pcp.TypeNoSupport, 0)}, pcp.ErrType},
		{"type 11", 0, []pcp.Value{text, pcp.RawBytes(11, []byte("x"))}, pcp.ErrType},
		{"16 MB string", 0, []pcp.Value{text, pcp.Str(long)}, pcp.ErrTooBig},
		{"16 MB aggregate", 0, []pcp.Value{pcp.RawBytes(pcp.TypeAggregate, []byte(long+"y"))}, pcp.ErrTooBig},
		{"positive error", 3, nil, pcp.ErrGeneric},
		{"error and values", pcp.ErrAgain, []pcp.Value{text}, pcp.ErrAgain},
	} {
		bad := ValueSet{PMID: 2, Err: tt.err}
		for i, v := range tt.values {
			bad.Values = append(bad.Values, InstValue{int32(i), v})
		}
		r := Result{Sets: []ValueSet{{PMID: 1, Values: single(text)}, bad, {PMID: 3, Values: single(pcp.Num(3.5))}}}
		b := r.Append(nil, 0)
		if r.Length() != len(b) {
			t.Errorf("%s: Length %d, wrote %d", tt.name, r.Length(), len(b))
		}
		var got Result
		if err := got.Parse(b); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if s := got.Sets[1]; s.PMID != 2 || s.Err != tt.want || len(s.Values) != 0 {
			t.Errorf("%s: %+v, want %v", tt.name, s, tt.want)
		}
		if len(got.Sets[0].Values) != 1 || !sameValue(got.Sets[0].Values[0].Value, text) ||
			len(got.Sets[2].Values) != 1 || !sameValue(got.Sets[2].Values[0].Value, pcp.Num(3.5)) {
			t.Errorf("%s: the sets around it: %+v", tt.name, got.Sets)
		}
	}
}

// TestResultLongest writes the longest string there may be.
func TestResultLongest(t *testing.T) {
	r := Result{Sets: []ValueSet{{PMID: 1, Values: single(pcp.Str(strings.Repeat("x", maxBlock-6)))}}}
	var got Result
	if err := got.Parse(r.Append(nil, 0)); err != nil {
		t.Fatal(err)
	}
	if n := len(got.Sets[0].Values[0].Value.Bytes()); n != maxBlock-6 {
		t.Errorf("%d bytes, want %d", n, maxBlock-6)
	}
}

// TestResultTypes sends each type there and back, several values in a set.
func TestResultTypes(t *testing.T) {
	for _, values := range [][]pcp.Value{
		{pcp.Num(int32(-1)), pcp.Num(int32(math.MaxInt32)), pcp.Num(int32(math.MinInt32))},
		{pcp.Num(uint32(0)), pcp.Num(uint32(math.MaxUint32))},
		{pcp.Num(int64(-1)), pcp.Num(int64(math.MinInt64))},
		{pcp.Num(uint64(math.MaxUint64)), pcp.Num(uint64(0))},
		{pcp.Num(float32(-0.5)), pcp.Num(float32(math.Inf(1)))},
		{pcp.Num(math.Pi), pcp.Num(math.Inf(-1)), pcp.Num(math.NaN())},
		{pcp.Str(""), pcp.Str("a"), pcp.Str("ab"), pcp.Str("abc"), pcp.Str("abcd"), pcp.Str("a\x00")},
		{pcp.RawBytes(pcp.TypeAggregate, []byte{}), pcp.RawBytes(pcp.TypeAggregate, []byte{0})},
		{pcp.RawBytes(pcp.TypeAggregateStatic, []byte{1, 2, 3, 0})},
	} {
		set := ValueSet{PMID: 9}
		for i, v := range values {
			set.Values = append(set.Values, InstValue{int32(i), v})
		}
		for _, p := range []PDU{&Result{Sets: []ValueSet{set}}, &HighresResult{Sets: []ValueSet{set}}} {
			b := p.Append(nil, 0)
			again, err := Decode(b)
			if err != nil || p.Length() != len(b) {
				t.Errorf("%v: %v, Length %d of %d", values, err, p.Length(), len(b))
				continue
			}
			for i, got := range setsOf(again)[0].Values {
				v, err := got.As(values[i].Type())
				if err != nil || got.Inst != int32(i) || !sameValue(v, values[i]) {
					t.Errorf("%v: %v came back as %v, %v", values[i].Type(), values[i], v, err)
				}
			}
		}
	}
}

func setsOf(p PDU) []ValueSet {
	switch p := p.(type) {
	case *Result:
		return p.Sets
	case *HighresResult:
		return p.Sets
	}
	return nil
}
