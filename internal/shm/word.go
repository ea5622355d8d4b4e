//go:build linux

package shm

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Has reports whether n bytes at off are mapped. It cannot overflow.
func (m *Map) Has(off, n uint64) bool { return n <= m.size && off <= m.size-n }

// The loads below are atomic and ordered as those of sync/atomic. If the word is not
// wholly mapped or not aligned to its size, they load nothing and ok is false. They
// fault if the file has been cut off: see Guard.

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

// Copy copies len(b) bytes from off, in no particular order. If a value changes during
// the copy, b may get only a part of the change. If not all the bytes are mapped, b does
// not change and ok is false.
func (m *Map) Copy(b []byte, off uint64) (ok bool) {
	if !m.Has(off, uint64(len(b))) {
		return false
	}
	copy(b, m.mem[off:])
	return true
}

var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// Load16 reads a 16-bit word. It loads the 32-bit word that contains it.
func (m *Map) Load16(off uint64) (v uint16, ok bool) {
	if off&1 != 0 || m.size < 2 || off > m.size-2 {
		return 0, false
	}
	shift := off & 2 * 8
	if bigEndian {
		shift ^= 16
	}
	return uint16(m.around(off) >> shift), true
}

// Load8 reads a byte. It loads the 32-bit word that contains it.
func (m *Map) Load8(off uint64) (v uint8, ok bool) {
	if off >= m.size {
		return 0, false
	}
	shift := off & 3 * 8
	if bigEndian {
		shift ^= 24
	}
	return uint8(m.around(off) >> shift), true
}

// around reads the 32-bit word that contains a byte. Pages are mapped whole, so the word
// is mapped if the byte is.
func (m *Map) around(off uint64) uint32 {
	return atomic.LoadUint32((*uint32)(unsafe.Add(m.base, off&^3)))
}

// CopyWords copies len(b) bytes from off by atomic loads of 64-bit words in ascending
// order. A value that Load32 reads afterwards was stored no earlier than the bytes that
// were copied. A reader that looks at a sequence word before and after the copy needs
// that. ok is as for Copy.
func (m *Map) CopyWords(b []byte, off uint64) (ok bool) {
	if !m.Has(off, uint64(len(b))) {
		return false
	}
	for len(b) > 0 {
		var word [8]byte
		binary.NativeEndian.PutUint64(word[:], atomic.LoadUint64((*uint64)(unsafe.Add(m.base, off&^7))))
		n := copy(b, word[off&7:])
		b, off = b[n:], off+uint64(n)
	}
	return true
}
