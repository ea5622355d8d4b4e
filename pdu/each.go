package pdu

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/pcp-rtime/rtime/pcp"
)

// Put adds a value that is of a type of Go's.
func Put[V pcp.Scalar](w *ResultWriter, inst int32, x V) {
	switch x := any(x).(type) {
	case int32:
		w.word(inst, uint32(x))
	case uint32:
		w.word(inst, x)
	case int64:
		w.double(inst, pcp.Type64, uint64(x))
	case uint64:
		w.double(inst, pcp.TypeU64, x)
	case float32:
		w.float(inst, uint32(pcp.Num(x).Bits()))
	case float64:
		w.double(inst, pcp.TypeDouble, pcp.Num(x).Bits())
	case string:
		addBytes(w, inst, pcp.TypeString, x)
	case []byte:
		addBytes(w, inst, pcp.TypeAggregate, x)
	}
}

// Each adds the values of many instances. For each id it calls get with the data at the same
// index, and adds the value that get returns, unless the second result is false. get must
// not use w.
func Each[T any, V pcp.Scalar](w *ResultWriter, ids []int32, data []T, get func(T) (V, bool)) {
	switch t := pcp.TypeOf[V](); t {
	case pcp.Type32, pcp.TypeU32:
		eachWord(w, ids, data, get)
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		eachDouble(w, t, ids, data, get)
	default:
		for i, id := range ids {
			if x, ok := get(data[i]); ok {
				Put(w, id, x)
			}
		}
	}
}

// eachWord and eachDouble are the inner loops of a fetch: a call of get and two or three
// stores for each value.
func eachWord[T any, V pcp.Scalar](w *ResultWriter, ids []int32, data []T, get func(T) (V, bool)) {
	room := w.words(len(ids))
	n := 0
	data = data[:len(ids)]
	for i, id := range ids {
		x, ok := get(data[i])
		if !ok {
			continue
		}
		word := *(*uint32)(unsafe.Pointer(&x)) // V is int32 or uint32
		binary.BigEndian.PutUint64(room[n*8:n*8+8], uint64(uint32(id))<<32|uint64(word))
		n++
	}
	w.addWords(n)
}

func eachDouble[T any, V pcp.Scalar](w *ResultWriter, t pcp.Type, ids []int32, data []T, get func(T) (V, bool)) {
	sets, blocks, pos := w.doubles(len(ids))
	head := uint32(t)<<24 | 12
	n := 0
	data = data[:len(ids)]
	for i, id := range ids {
		x, ok := get(data[i])
		if !ok {
			continue
		}
		word := *(*uint64)(unsafe.Pointer(&x)) // V is int64, uint64 or float64
		store64((*[8]byte)(sets), uint64(uint32(id))<<32|uint64(pos))
		store32((*[4]byte)(blocks), head)
		store64((*[8]byte)(blocks[4:]), word)
		sets, blocks = sets[8:], blocks[12:]
		pos += blockWords
		n++
	}
	w.addDoubles(n)
}

// store64 and store32 write big-endian. They are small enough to be inlined, which
// binary.BigEndian.PutUint64 is not here.
func store64(b *[8]byte, v uint64) {
	if !bigEndian {
		v = bits.ReverseBytes64(v)
	}
	*(*uint64)(unsafe.Pointer(b)) = v
}

func store32(b *[4]byte, v uint32) {
	if !bigEndian {
		v = bits.ReverseBytes32(v)
	}
	*(*uint32)(unsafe.Pointer(b)) = v
}

var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// Indexed adds the values of many instances from an array. The index of the value for
// ids[i] is at[i]. No value is added if the index is beyond the array, or if has is not nil
// and returns false for it. The values are numbers of type t, as pcp.RawNumber takes them;
// if t is not the type of a number the set becomes ErrType.
func Indexed[I ~uint32](w *ResultWriter, t pcp.Type, ids []int32, at []I, values []uint64, has func(I) bool) {
	switch t {
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		indexedDouble(w, t, ids, at, values, has)
	case pcp.TypeString, pcp.TypeAggregate, pcp.TypeAggregateStatic, pcp.TypeEvent, pcp.TypeHighresEvent:
		w.Fail(pcp.ErrType)
	default:
		for i, index := range at {
			if int(index) < len(values) && (has == nil || has(index)) {
				w.Value(ids[i], pcp.RawNumber(t, values[index]))
			}
		}
	}
}

// indexedDouble is eachDouble without calls.
func indexedDouble[I ~uint32](w *ResultWriter, t pcp.Type, ids []int32, at []I, values []uint64, has func(I) bool) {
	sets, blocks, pos := w.doubles(len(ids))
	head := uint32(t)<<24 | 12
	n := 0
	ids = ids[:len(at)]
	for i, index := range at {
		if int(index) >= len(values) || has != nil && !has(index) {
			continue
		}
		binary.BigEndian.PutUint64(sets[8*n:8*n+8], uint64(uint32(ids[i]))<<32|uint64(pos))
		b := blocks[12*n : 12*n+12]
		binary.BigEndian.PutUint32(b, head)
		binary.BigEndian.PutUint64(b[4:], values[index])
		pos += blockWords
		n++
	}
	w.addDoubles(n)
}
