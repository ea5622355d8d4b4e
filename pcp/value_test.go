package pcp

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

func TestTypeOf(t *testing.T) {
	for _, c := range []struct{ got, want Type }{
		{TypeOf[int32](), Type32}, {TypeOf[uint32](), TypeU32}, {TypeOf[int64](), Type64},
		{TypeOf[uint64](), TypeU64}, {TypeOf[float32](), TypeFloat}, {TypeOf[float64](), TypeDouble},
		{Num(int32(1)).Type(), Type32}, {Num(uint32(1)).Type(), TypeU32}, {Num(int64(1)).Type(), Type64},
		{Num(uint64(1)).Type(), TypeU64}, {Num(float32(1)).Type(), TypeFloat}, {Num(1.0).Type(), TypeDouble},
		{Str("x").Type(), TypeString}, {Value{}.Type(), Type32}, {RawBytes(TypeAggregate, nil).Type(), TypeAggregate},
	} {
		if c.got != c.want {
			t.Errorf("type %v, want %v", c.got, c.want)
		}
	}
}

func TestValueBits(t *testing.T) {
	for _, c := range []struct {
		v    Value
		bits uint64
		text string
	}{
		{Num(int32(-1)), math.MaxUint64, "-1"}, // integers with a sign are extended
		{Num(int32(math.MinInt32)), 0xffffffff80000000, "-2147483648"},
		{Num(uint32(math.MaxUint32)), math.MaxUint32, "4294967295"},
		{Num(int64(math.MinInt64)), 1 << 63, "-9223372036854775808"},
		{Num(uint64(math.MaxUint64)), math.MaxUint64, "18446744073709551615"},
		{Num(float32(0.1)), 0x3dcccccd, "0.1"}, // and not 0.10000000149011612
		{Num(1.5), 0x3ff8000000000000, "1.5"},
		{Num(math.Inf(-1)), 0xfff0000000000000, "-Inf"},
		{Str("hullo"), 0, "hullo"},
		{Str(""), 0, ""},
		{RawBytes(TypeAggregate, []byte{1, 0xff}), 0, "AGGREGATE[01ff]"},
		{Value{}, 0, "0"},
	} {
		if c.v.Bits() != c.bits || c.v.String() != c.text {
			t.Errorf("%v: bits %#x, text %q, want %#x, %q", c.v.Type(), c.v.Bits(), c.v, c.bits, c.text)
		}
		if back := RawNumber(c.v.Type(), c.bits); c.v.Bytes() == nil && back.String() != c.text {
			t.Errorf("RawNumber(%v, %#x) = %v, want %s", c.v.Type(), c.bits, back, c.text)
		}
	}
}

var (
	minInt = Num(int64(math.MinInt64))
	maxU64 = Num(uint64(math.MaxUint64))
	nan    = Num(math.NaN())
	raw    = RawBytes(TypeAggregate, []byte("12"))
)

func TestValueInt64(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want int64
		err  error
	}{
		{Num(int32(-7)), -7, nil}, {Num(uint32(math.MaxUint32)), math.MaxUint32, nil}, {minInt, math.MinInt64, nil},
		{Num(uint64(math.MaxInt64)), math.MaxInt64, nil}, {Num(uint64(math.MaxInt64 + 1)), 0, ErrTrunc}, {maxU64, 0, ErrTrunc},
		{Num(2.9), 2, nil}, {Num(-2.9), -2, nil}, {Num(float32(16777216)), 16777216, nil},
		{Num(-9223372036854775808.0), math.MinInt64, nil}, {Num(9223372036854775808.0), 0, ErrTrunc},
		{Num(-9223372036854777856.0), 0, ErrTrunc},
		{nan, 0, ErrTrunc}, {Num(math.Inf(1)), 0, ErrTrunc}, {Num(math.Inf(-1)), 0, ErrTrunc},
		{Str("12"), 0, ErrConv}, {raw, 0, ErrConv}, {RawNumber(TypeUnknown, 1), 0, ErrConv},
	} {
		if got, err := c.v.Int64(); got != c.want || err != c.err {
			t.Errorf("Int64 of %v %v = %d, %v, want %d, %v", c.v.Type(), c.v, got, err, c.want, c.err)
		}
	}
}

func TestValueUint64(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want uint64
		err  error
	}{
		{Num(int32(7)), 7, nil}, {Num(int32(-7)), 0, ErrSign}, {minInt, 0, ErrSign}, {maxU64, math.MaxUint64, nil},
		{Num(2.9), 2, nil}, {Num(-1.0), 0, ErrSign}, {Num(math.Inf(-1)), 0, ErrSign},
		{Num(18446744073709549568.0), 18446744073709549568, nil}, {Num(18446744073709551616.0), 0, ErrTrunc},
		{nan, 0, ErrTrunc}, {Num(math.Inf(1)), 0, ErrTrunc}, {Num(float32(math.Copysign(0, -1))), 0, nil},
		{Str("12"), 0, ErrConv}, {raw, 0, ErrConv},
	} {
		if got, err := c.v.Uint64(); got != c.want || err != c.err {
			t.Errorf("Uint64 of %v %v = %d, %v, want %d, %v", c.v.Type(), c.v, got, err, c.want, c.err)
		}
	}
}

func TestValueFloat64(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want float64
		err  error
	}{
		{Num(int32(-7)), -7, nil}, {Num(int64(-7)), -7, nil}, {Num(uint32(7)), 7, nil}, {maxU64, 18446744073709551616, nil},
		{Num(float32(0.5)), 0.5, nil}, {Num(-0.25), -0.25, nil}, {Str("1"), 0, ErrConv}, {raw, 0, ErrConv},
	} {
		if got, err := c.v.Float64(); got != c.want || err != c.err {
			t.Errorf("Float64 of %v %v = %v, %v, want %v, %v", c.v.Type(), c.v, got, err, c.want, c.err)
		}
	}
}

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		v    Value
		to   Type
		want string
		err  error
	}{
		{Num(int64(-5)), Type32, "-5", nil}, {Num(int64(math.MaxInt32 + 1)), Type32, "", ErrTrunc},
		{Num(int64(math.MinInt32 - 1)), Type32, "", ErrTrunc}, {Num(uint32(math.MaxUint32)), Type32, "", ErrTrunc},
		{Num(3.7), Type32, "3", nil}, {Num(3e9), Type32, "", ErrTrunc}, {Num(3e9), TypeU32, "3000000000", nil},
		{Num(5e9), TypeU32, "", ErrTrunc}, {Num(int32(-1)), TypeU32, "", ErrSign}, {Num(int32(-1)), TypeU64, "", ErrSign},
		{maxU64, TypeU32, "", ErrTrunc}, {maxU64, Type64, "", ErrTrunc}, {Num(int32(-1)), Type64, "-1", nil},
		{Num(int32(3)), TypeFloat, "3", nil}, {Num(0.5), TypeFloat, "0.5", nil}, {Num(float32(0.5)), TypeDouble, "0.5", nil},
		{Num(int32(3)), TypeDouble, "3", nil}, {Num(int32(3)), Type32, "3", nil},
		{nan, Type32, "", ErrTrunc}, {nan, TypeDouble, "NaN", nil},
		{Str("3"), Type32, "", ErrConv}, {Str("3"), TypeU64, "", ErrConv}, {Str("3"), TypeFloat, "", ErrConv},
		{Str("3"), TypeDouble, "", ErrConv}, {Str("3"), TypeString, "3", nil}, {Str("3"), TypeAggregate, "", ErrConv},
		{Num(int32(3)), TypeString, "", ErrConv}, {raw, TypeString, "", ErrConv}, {raw, TypeEvent, "", ErrConv},
		{Num(int32(3)), TypeUnknown, "", ErrConv}, {Num(int32(3)), TypeNoSupport, "", ErrConv},
	} {
		got, err := c.v.Convert(c.to)
		if !errors.Is(err, c.err) || err == nil && (got.String() != c.want || got.Type() != c.to) {
			t.Errorf("%v %v as %v: %v %v, %v, want %s, %v", c.v.Type(), c.v, c.to, got.Type(), got, err, c.want, c.err)
		}
	}
}

func TestValueOf(t *testing.T) {
	for want, v := range map[string]Value{
		"32 -1": ValueOf(int32(-1)), "U32 1": ValueOf(uint32(1)), "64 -1": ValueOf(int64(-1)), "U64 1": ValueOf(uint64(1)),
		"FLOAT 0.5": ValueOf(float32(0.5)), "DOUBLE 0.5": ValueOf(0.5), "STRING x": ValueOf("x"),
		"AGGREGATE AGGREGATE[01]": ValueOf([]byte{1}),
	} {
		if got := fmt.Sprint(v.Type(), " ", v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAs(t *testing.T) {
	if n, err := As[int32](Num(7.9)); n != 7 || err != nil {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := As[uint32](Num(int64(-1))); n != 0 || err != ErrSign {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := As[int64](Num(uint64(math.MaxUint64))); n != 0 || err != ErrTrunc {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := As[uint64](Num(float32(3))); n != 3 || err != nil {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := As[float32](Num(0.5)); n != 0.5 || err != nil {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := As[float64](Num(int32(-3))); n != -3 || err != nil {
		t.Errorf("%v, %v", n, err)
	}
	if s, err := As[string](Str("x")); s != "x" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
	if s, err := As[string](Num(1.0)); s != "" || err != ErrConv {
		t.Errorf("%q, %v", s, err)
	}
	if b, err := As[[]byte](RawBytes(TypeAggregate, []byte{1})); len(b) != 1 || err != nil {
		t.Errorf("%v, %v", b, err)
	}
}
