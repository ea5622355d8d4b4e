package shm

import (
	"sync/atomic"
	"unsafe"
)

// Has reports whether n bytes at off are mapped. It cannot overflow.
func (m *Map) Has(off, n uint64) bool { return n <= m.size && off <= m.size-n }

// The loads and stores below are atomic and ordered as those of sync/atomic. ok is
// false, and nothing is touched, where the word is not wholly mapped or not aligned to
// its size. Where the file has been cut off they fault: see Guard.

// Load64 reads a 64-bit word.
func (m *Map) Load64(off uint64) (v uint64, ok bool) {
	if off&7 != 0 || m.size < 8 || off > m.size-8 {
		return 0, false
	}
	return atomic.LoadUint64((*uint64)(unsafe.Add(m.base, off))), true
}

// Load32 reads a 32-bit word.
func (m *Map) Load32(off uint64) (v uint32, ok bool) {
	if off&3 != 0 || m.size < 4 || off > m.size-4 {
		return 0, false
	}
	return atomic.LoadUint32((*uint32)(unsafe.Add(m.base, off))), true
}

// Store32 writes a 32-bit word of a file that was opened for writing.
func (m *Map) Store32(off uint64, v uint32) (ok bool) {
	if off&3 != 0 || m.size < 4 || off > m.size-4 || !m.opts.Write {
		return false
	}
	atomic.StoreUint32((*uint32)(unsafe.Add(m.base, off)), v)
	return true
}

// Store8 writes a byte of a file that was opened for writing. Memory has no smaller
// piece, so this is as atomic as the others.
func (m *Map) Store8(off uint64, v byte) (ok bool) {
	if off >= m.size || !m.opts.Write {
		return false
	}
	*(*byte)(unsafe.Add(m.base, off)) = v
	return true
}

// Copy copies len(b) bytes from off, in no particular order: what changes meanwhile may
// be copied in part. ok is false, and b as it was, unless all of it is mapped.
func (m *Map) Copy(b []byte, off uint64) (ok bool) {
	if !m.Has(off, uint64(len(b))) {
		return false
	}
	copy(b, m.mem[off:])
	return true
}
