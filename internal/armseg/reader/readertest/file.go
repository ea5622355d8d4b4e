//go:build linux

// Package readertest makes segments of the ARM libraries byte by byte, from the layout
// alone. So readers can be tested with segments that no writer would make.
package readertest

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// File is a file of either kind. B is its mapping. Nothing here is atomic, so a test
// changes B only while nobody reads.
type File struct {
	t      testing.TB
	B      []byte
	Path   string
	f      *os.File
	next   uint64 // free room
	sparse bool   // it may have holes, as files of names have
}

// create makes a user's file that is to get this name. publish gives it the name.
func create(t testing.TB, dir, name string, uid uint32, size int64) *File {
	t.Helper()
	path := filepath.Join(dir, layout.NewPrefix+name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // may be closed
	file := &File{t: t, Path: filepath.Join(dir, name), f: f, sparse: strings.HasSuffix(name, layout.NamesSuffix)}
	file.lengthen(size)
	if uid != uint32(os.Geteuid()) {
		if err := f.Chown(int(uid), -1); err != nil {
			t.Fatal(err)
		}
	}
	file.remap(size)
	return file
}

func (f *File) publish() {
	f.t.Helper()
	dir, name := filepath.Split(f.Path)
	if err := os.Rename(filepath.Join(dir, layout.NewPrefix+name), f.Path); err != nil {
		f.t.Fatal(err)
	}
}

func (f *File) remap(size int64) {
	f.t.Helper()
	mem, err := unix.Mmap(int(f.f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = unix.Munmap(mem) }) // cannot fail for a mapping of our own
	f.B = mem
}

// Alloc takes n bytes that stay unused, and lengthens the file if it has to.
func (f *File) Alloc(n uint64) { f.t.Helper(); f.alloc(n) }

// alloc hands out n bytes, and lengthens the file if it has to.
func (f *File) alloc(n uint64) uint64 {
	f.t.Helper()
	off := (f.next + 63) &^ 63
	f.next = off + n
	if f.next > uint64(len(f.B)) {
		size := int64(max(f.next, 2*uint64(len(f.B))))
		f.lengthen(size)
		f.remap(size)
	}
	return off
}

// lengthen makes the file longer, with holes or without, as the libraries do.
func (f *File) lengthen(size int64) {
	f.t.Helper()
	err := f.f.Truncate(size)
	if !f.sparse {
		err = errors.Join(err, unix.Fallocate(int(f.f.Fd()), 0, 0, size))
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// Punch makes the whole file a hole.
func (f *File) Punch() {
	f.t.Helper()
	if err := unix.Fallocate(int(f.f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(len(f.B))); err != nil {
		f.t.Fatal(err)
	}
}

// Truncate shortens the file while it is mapped.
func (f *File) Truncate(size int64) {
	f.t.Helper()
	if err := f.f.Truncate(size); err != nil {
		f.t.Fatal(err)
	}
}

// Put16 stores a word.
func (f *File) Put16(off uint64, v uint16) { binary.NativeEndian.PutUint16(f.B[off:], v) }

// Put32 stores a word.
func (f *File) Put32(off uint64, v uint32) { binary.NativeEndian.PutUint32(f.B[off:], v) }

// Put64 stores a word.
func (f *File) Put64(off, v uint64) { binary.NativeEndian.PutUint64(f.B[off:], v) }

// Get32 loads a word.
func (f *File) Get32(off uint64) uint32 { return binary.NativeEndian.Uint32(f.B[off:]) }

// Get64 loads a word.
func (f *File) Get64(off uint64) uint64 { return binary.NativeEndian.Uint64(f.B[off:]) }

// Add64 adds to a word.
func (f *File) Add64(off, n uint64) { f.Put64(off, f.Get64(off)+n) }

// Text stores a text with a zero byte behind it.
func (f *File) Text(off uint64, s string) { f.B[off+uint64(copy(f.B[off:], s))] = 0 }
