//go:build linux

package shm

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// ErrFault is the error of a Guard under which memory was touched that the file, having
// been cut off or having lost its storage, no longer backs.
var ErrFault = errors.New("the file was cut off under its mapping")

// Guard calls f, which may load from and store into the mapping. A fault there ends f
// and is returned as an error that wraps ErrFault; all other panics go on. The cost is
// that of two deferred calls. Guards may be nested.
func (m *Map) Guard(f func()) (err error) {
	was := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(was)
		if bad := recover(); bad != nil {
			err = m.fault(bad)
		}
	}()
	f()
	return nil
}

// fault tells a fault in the mapping from other panics, with which it panics again.
func (m *Map) fault(bad any) error {
	e, ok := bad.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok || e.Addr()-uintptr(m.base) >= uintptr(m.size) {
		panic(bad)
	}
	return m.fail("read", fmt.Errorf("%w, at offset %d", ErrFault, e.Addr()-uintptr(m.base)))
}
