package writer

import (
	"sync/atomic"
	"unsafe"
)

// All stores into the files go through these functions. The offsets are the writer's own,
// within what it has mapped and allocated, so nothing is checked.

func word32(base unsafe.Pointer, off uint64) *uint32 {
	return (*uint32)(unsafe.Add(base, off))
}

func word64(base unsafe.Pointer, off uint64) *uint64 {
	return (*uint64)(unsafe.Add(base, off))
}

func put16(base unsafe.Pointer, off uint64, v uint16) { *(*uint16)(unsafe.Add(base, off)) = v }
func put32(base unsafe.Pointer, off uint64, v uint32) { atomic.StoreUint32(word32(base, off), v) }
func put64(base unsafe.Pointer, off uint64, v uint64) { atomic.StoreUint64(word64(base, off), v) }
func get32(base unsafe.Pointer, off uint64) uint32    { return atomic.LoadUint32(word32(base, off)) }
func get64(base unsafe.Pointer, off uint64) uint64    { return atomic.LoadUint64(word64(base, off)) }

func bytesAt(base unsafe.Pointer, off, n uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(base, off)), n)
}

// putText stores a text in a field of n bytes, with a NUL at its end. It cuts what does
// not fit.
func putText(base unsafe.Pointer, off, n uint64, s string) {
	field := bytesAt(base, off, n)
	clear(field[copy(field[:n-1], s):])
}
