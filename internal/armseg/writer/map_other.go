//go:build !linux

package writer

import (
	"errors"
	"unsafe"
)

// segFile stands for the files of Linux on other systems, where no process ever attaches.
type segFile struct {
	path string
	base unsafe.Pointer
	size uint64
}

func makeFile(string) (*segFile, error) { return nil, errors.ErrUnsupported }
func openOwn(string) (*segFile, error)  { return nil, errors.ErrUnsupported }

func (f *segFile) mapAll(length, least uint64) error { return errors.ErrUnsupported }
func (f *segFile) lengthen(uint64) error             { return errors.ErrUnsupported }
func (f *segFile) belowLimit(uint64) error           { return errors.ErrUnsupported }
func (f *segFile) reserve(off, n uint64) error       { return errors.ErrUnsupported }
func (f *segFile) zero(off, n uint64) error          { return errors.ErrUnsupported }
func (f *segFile) lock() error                       { return errors.ErrUnsupported }
func (f *segFile) publish(string) error              { return errors.ErrUnsupported }
func (f *segFile) named() bool                       { return false }
func (f *segFile) close()                            {}
func (f *segFile) remove()                           {}

func readAgent(dir, name string, b []byte) (ok bool) { return false }

func unsupported(error) bool { return true }

func monotonic() int64 { return 0 }

func identity() (pidns, start uint64) { return 0, 0 }

// Privileged reports whether the program has rights that its caller does not have.
func Privileged() bool { return false }

func mapMemory(uint64) (*segFile, error) { return nil, errors.ErrUnsupported }
