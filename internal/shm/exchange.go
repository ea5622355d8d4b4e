//go:build linux

package shm

import (
	"sync/atomic"
	"unsafe"
)

// CompareAndSwap64 stores v in a 64-bit word of a file that was opened for writing, if
// the word holds old. done tells whether it stored; ok is as for Load64.
func (m *Map) CompareAndSwap64(off, old, v uint64) (done, ok bool) {
	if off&7 != 0 || m.size < 8 || off > m.size-8 || !m.opts.Write {
		return false, false
	}
	return atomic.CompareAndSwapUint64((*uint64)(unsafe.Add(m.base, off)), old, v), true
}

// CompareAndSwap32 is CompareAndSwap64 for a 32-bit word.
func (m *Map) CompareAndSwap32(off uint64, old, v uint32) (done, ok bool) {
	if off&3 != 0 || m.size < 4 || off > m.size-4 || !m.opts.Write {
		return false, false
	}
	return atomic.CompareAndSwapUint32((*uint32)(unsafe.Add(m.base, off)), old, v), true
}

// Swap32 stores v in a 32-bit word of a file that was opened for writing, and returns
// the word's old value.
func (m *Map) Swap32(off uint64, v uint32) (old uint32, ok bool) {
	if off&3 != 0 || m.size < 4 || off > m.size-4 || !m.opts.Write {
		return 0, false
	}
	return atomic.SwapUint32((*uint32)(unsafe.Add(m.base, off)), v), true
}
