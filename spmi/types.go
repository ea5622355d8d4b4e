package spmi

import (
	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// DataType is one of the SPMI's thirteen formats of data.
type DataType uint8

// The data types. The zero value stands for the format that the value is stored in.
const (
	AsStored DataType = iota
	ULong
	Long
	UInt
	Int
	UShort
	Short
	Char
	Addr
	Timeval
	FloatType
	Double
	Ptr
	Unsign
)

var dataTypeNames = map[string]DataType{
	"": AsStored, "ulong": ULong, "long": Long, "uint": UInt, "int": Int, "ushort": UShort, "short": Short,
	"char": Char, "addr": Addr, "timeval": Timeval, "float": FloatType, "double": Double, "ptr": Ptr, "unsign": Unsign,
}

// number returns the SPMI's number of the type.
func (t DataType) number() uint32 { return uint32(t) - 1 }

// format is what a handle's type says about its statistic.
type format struct {
	stored DataType
	size   uint32 // bytes
	value  uint32 // layout.Counter or Quantity
}

// Handle is implemented by pointers to the handle types: *Counter, *Quantity and so on.
type Handle interface {
	bind(*uint64, *area)
	format() format
}

func (*CounterOf[T]) format() format      { return integer[T](layout.Counter) }
func (*QuantityOf[T]) format() format     { return integer[T](layout.Quantity) }
func (*FloatCounterOf[T]) format() format { return floating[T](layout.Counter) }
func (*FloatOf[T]) format() format        { return floating[T](layout.Quantity) }
func (*Timer) format() format             { return format{Timeval, 8, layout.Counter} }

func integer[T Integer](value uint32) format {
	switch any(T(0)).(type) {
	case int64:
		return format{Long, 8, value}
	case int32:
		return format{Int, 4, value}
	case uint32:
		return format{UInt, 4, value}
	case int16:
		return format{Short, 2, value}
	case uint16:
		return format{UShort, 2, value}
	case uint8:
		return format{Char, 1, value}
	case uintptr:
		return format{Ptr, 8, value} // the whole word, to which a narrower value is extended
	}
	return format{ULong, 8, value}
}

func floating[T Floating](value uint32) format {
	if _, ok := any(T(0)).(float32); ok {
		return format{FloatType, 4, value}
	}
	return format{Double, 8, value}
}

// offset returns where the i-th value of a context lies. A narrow value is in the lower
// part of its word.
func (f format) offset(i int) uint32 {
	if littleEndian {
		return uint32(8 * i)
	}
	return uint32(8*i) + 8 - f.size
}
