package pcp

import (
	"fmt"
	"math"
	"strconv"
)

// Value is one value of a metric: a number of a given type, a string, or the bytes
// of an aggregate or of a packed array of event records. The zero Value is the
// number 0 of type 32.
type Value struct {
	typ  Type
	bits uint64 // a number: integers extended to 64 bits, floats in IEEE 754
	data []byte // strings (without a final NUL), aggregates and event arrays
}

// Number is what the numeric types are in Go.
type Number interface {
	int32 | uint32 | int64 | uint64 | float32 | float64
}

// Scalar is what the values of all types but events are in Go: a string is of type STRING,
// bytes are of type AGGREGATE.
type Scalar interface{ Number | string | []byte }

// TypeOf returns the type whose values Go holds as V.
func TypeOf[V Scalar]() Type {
	var v V
	switch any(v).(type) {
	case int32:
		return Type32
	case uint32:
		return TypeU32
	case int64:
		return Type64
	case uint64:
		return TypeU64
	case float32:
		return TypeFloat
	case float64:
		return TypeDouble
	case string:
		return TypeString
	}
	return TypeAggregate
}

// Num makes a Value of the type that matches N.
func Num[N Number](n N) Value {
	switch v := any(n).(type) {
	case int32:
		return Value{typ: Type32, bits: uint64(v)}
	case uint32:
		return Value{typ: TypeU32, bits: uint64(v)}
	case int64:
		return Value{typ: Type64, bits: uint64(v)}
	case uint64:
		return Value{typ: TypeU64, bits: v}
	case float32:
		return Value{typ: TypeFloat, bits: uint64(math.Float32bits(v))}
	default:
		return Value{typ: TypeDouble, bits: math.Float64bits(float64(n))}
	}
}

// ValueOf makes a Value of the type that matches V. It holds bytes themselves, not a copy.
func ValueOf[V Scalar](v V) Value {
	switch v := any(v).(type) {
	case int32:
		return Num(v)
	case uint32:
		return Num(v)
	case int64:
		return Num(v)
	case uint64:
		return Num(v)
	case float32:
		return Num(v)
	case float64:
		return Num(v)
	case string:
		return Str(v)
	case []byte:
		return RawBytes(TypeAggregate, v)
	}
	panic("not reached")
}

// Str makes a Value of type STRING.
func Str(s string) Value { return Value{typ: TypeString, data: []byte(s)} }

// RawNumber makes a Value of a numeric type from its bits: integers sign- or
// zero-extended to 64, floats and doubles in IEEE 754.
func RawNumber(t Type, bits uint64) Value { return Value{typ: t, bits: bits} }

// RawBytes makes a Value of type t (string, aggregate, packed events) that holds
// b itself, not a copy.
func RawBytes(t Type, b []byte) Value { return Value{typ: t, data: b} }

// Type returns the type of the value.
func (v Value) Type() Type { return v.typ }

// Bits returns a number's bits, as RawNumber takes them.
func (v Value) Bits() uint64 { return v.bits }

// Bytes returns what a string, an aggregate or an event array holds, not a copy.
func (v Value) Bytes() []byte { return v.data }

// Float64 converts a number of any type. It returns ErrConv where the value is not
// a number.
func (v Value) Float64() (float64, error) {
	switch v.typ {
	case Type32, Type64:
		return float64(int64(v.bits)), nil
	case TypeU32, TypeU64:
		return float64(v.bits), nil
	case TypeFloat:
		return float64(math.Float32frombits(uint32(v.bits))), nil
	case TypeDouble:
		return math.Float64frombits(v.bits), nil
	}
	return 0, ErrConv
}

// Int64 converts a number of any type; fractions are cut. It returns ErrTrunc where
// the number is out of range and ErrConv where the value is not a number.
func (v Value) Int64() (int64, error) {
	switch v.typ {
	case Type32, Type64:
		return int64(v.bits), nil
	case TypeU32, TypeU64:
		if v.bits > math.MaxInt64 {
			return 0, ErrTrunc
		}
		return int64(v.bits), nil
	}
	f, err := v.Float64()
	if err != nil {
		return 0, err
	}
	if !(f >= -1<<63 && f < 1<<63) {
		return 0, ErrTrunc
	}
	return int64(f), nil
}

// Uint64 converts a number of any type; fractions are cut. It returns ErrSign for
// a negative number, ErrTrunc for one out of range and ErrConv where the value is
// not a number.
func (v Value) Uint64() (uint64, error) {
	switch v.typ {
	case TypeU32, TypeU64:
		return v.bits, nil
	case Type32, Type64:
		if int64(v.bits) < 0 {
			return 0, ErrSign
		}
		return v.bits, nil
	}
	f, err := v.Float64()
	if err != nil {
		return 0, err
	}
	if f < 0 {
		return 0, ErrSign
	}
	if !(f < 1<<64) {
		return 0, ErrTrunc
	}
	return uint64(f), nil
}

// As returns the value as a V. A number is converted as Value.Convert does; the errors are
// the same.
func As[V Scalar](v Value) (x V, err error) {
	if v, err = v.Convert(TypeOf[V]()); err != nil {
		return x, err
	}
	switch x := any(&x).(type) {
	case *int32:
		*x = int32(v.bits)
	case *uint32:
		*x = uint32(v.bits)
	case *int64:
		*x = int64(v.bits)
	case *uint64:
		*x = v.bits
	case *float32:
		*x = math.Float32frombits(uint32(v.bits))
	case *float64:
		*x = math.Float64frombits(v.bits)
	case *string:
		*x = string(v.data)
	case *[]byte:
		*x = v.data
	}
	return x, nil
}

// String prints the value: numbers in decimal, strings as they are, aggregates and
// event arrays as their bytes in hexadecimal.
func (v Value) String() string {
	switch v.typ {
	case Type32, Type64:
		return strconv.FormatInt(int64(v.bits), 10)
	case TypeU32, TypeU64:
		return strconv.FormatUint(v.bits, 10)
	case TypeFloat:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v.bits))), 'g', -1, 32)
	case TypeDouble:
		return strconv.FormatFloat(math.Float64frombits(v.bits), 'g', -1, 64)
	case TypeString:
		return string(v.data)
	}
	return fmt.Sprintf("%s[%x]", v.typ, v.data)
}

// Convert gives the value another type. Integers are refused with ErrTrunc or
// ErrSign where they do not fit, fractions are cut, and ErrConv is returned where
// one side is a number and the other is not.
func (v Value) Convert(t Type) (Value, error) {
	if v.typ == t {
		return v, nil
	}
	switch t {
	case Type32, Type64:
		n, err := v.Int64()
		if err == nil && t == Type32 && int64(int32(n)) != n {
			err = ErrTrunc
		}
		return Value{typ: t, bits: uint64(n)}, err
	case TypeU32, TypeU64:
		n, err := v.Uint64()
		if err == nil && t == TypeU32 && uint64(uint32(n)) != n {
			err = ErrTrunc
		}
		return Value{typ: t, bits: n}, err
	case TypeFloat:
		f, err := v.Float64()
		return Value{typ: t, bits: uint64(math.Float32bits(float32(f)))}, err
	case TypeDouble:
		f, err := v.Float64()
		return Value{typ: t, bits: math.Float64bits(f)}, err
	}
	return Value{}, ErrConv
}
