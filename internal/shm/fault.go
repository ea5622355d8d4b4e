//go:build linux

package shm

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// ErrFault is the error of a Guard whose function touched memory that the file no longer
// backs: the file was cut off, or its storage was lost.
var ErrFault = errors.New("the file was cut off under its mapping")

// Guard calls f, which may load from the mapping. A fault in the mapping ends f, and
// Guard returns an error that wraps ErrFault. All other panics go on. A Guard costs as
// much as two deferred calls. Guards may be nested.
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

// fault turns a fault in the mapping into an error. It panics again with any other
// panic.
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
