//go:build !linux

package writer

import (
	"errors"
	"os"
	"unsafe"
)

// writerMap is the mapping on a system that has no segments.
type writerMap struct {
	base unsafe.Pointer
	mem  []byte
	size uint64
}

func newWriterMap(string) (*writerMap, error) { return nil, errors.ErrUnsupported }

func (m *writerMap) extend(uint64) error { return errors.ErrUnsupported }
func (m *writerMap) publish() error      { return errors.ErrUnsupported }
func (m *writerMap) end()                {}
func (m *writerMap) free()               {}

func openNotice(string) *os.File { return nil }
func unlinked(*os.File) bool     { return false }

func identity() (pidns, start uint64) { return 0, 0 }

type claims struct{}

func openClaims(string) (*claims, error)      { return nil, errors.ErrUnsupported }
func (c *claims) claim(paths ...string) error { return nil }
func (c *claims) release(paths ...string)     {}
func (c *claims) taken(path string) bool      { return false }
func (c *claims) close()                      {}
