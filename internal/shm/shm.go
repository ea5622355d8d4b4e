//go:build linux

// Package shm reads files that other processes write through shared mappings. It trusts nothing
// in them: it opens only regular files with one name and a bounded size, checks every offset
// against the mapping, and reads words atomically. If a file is cut off under the mapping, the
// methods return an error and the process does not end.
//
// No other package turns offsets into pointers. This package does not know what the files hold.
// hold.
package shm

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reasons for which Open and Grow refuse a file. The errors returned wrap them.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrLinks      = errors.New("the file has more than one name")
	ErrSmall      = errors.New("shorter than allowed")
	ErrLarge      = errors.New("larger than allowed")
	ErrHoles      = errors.New("has holes: its writer must allocate all of it, see fallocate(2)")
)

// Options say what files Open accepts. Sizes are in bytes.
type Options struct {
	Min, Max int64 // limits of the file's size; Min 0 means 1, and Max must be given

	// Solid refuses a file that has less storage than its size. A load from a hole in a file on
	// tmpfs allocates memory, and the kernel charges the reader for it.
	Solid bool
}

// Map is a file mapped into memory. Its methods must be called from one goroutine at a time.
// Other processes may write into the file at any time, so only a copy does not change. After
// Close all accesses are out of bounds.
type Map struct {
	path string
	fd   int
	opts Options
	mem  []byte
	base unsafe.Pointer // of mem
	size uint64         // of mem
}

// Stat is what the file system says about an open file.
type Stat struct {
	UID    uint32
	Size   int64 // bytes
	Stored int64 // bytes of storage that the file has; holes have none
	Links  uint64
	Dev    uint64
	Ino    uint64
}

// storedUnit is the unit of st_blocks; see stat(2).
const storedUnit = 512

// Open opens a file and maps all of it. It does not follow a symbolic link at the end of the
// path. It never waits, whatever kind of file it finds. The error is an *fs.PathError.
func Open(path string, o Options) (*Map, error) {
	m := &Map{path: path, opts: o, fd: -1}
	var err error
	m.fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, m.fail("open", err)
	}
	if err := m.check(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Map) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: m.path, Err: err}
}

// check checks the file that was opened, and maps it.
func (m *Map) check() error {
	var st unix.Stat_t
	if err := unix.Fstat(m.fd, &st); err != nil {
		return m.fail("stat", err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return m.fail("open", ErrNotRegular)
	case st.Nlink > 1:
		return m.fail("open", ErrLinks)
	}
	return m.mapTo(statOf(&st))
}

func statOf(st *unix.Stat_t) Stat {
	return Stat{UID: st.Uid, Size: st.Size, Stored: st.Blocks * storedUnit, Links: uint64(st.Nlink), Dev: uint64(st.Dev), Ino: st.Ino}
}

// Solid returns an error that wraps ErrHoles if a file that has to be solid is not.
func (m *Map) Solid() error {
	st, err := m.Stat()
	if err != nil {
		return err
	}
	return m.solid(st)
}

func (m *Map) solid(st Stat) error {
	if m.opts.Solid && st.Stored < st.Size {
		return m.fail("map", fmt.Errorf("%w: %d bytes, of which %d are stored", ErrHoles, st.Size, st.Stored))
	}
	return nil
}

// mapTo maps as many bytes as the file has.
func (m *Map) mapTo(st Stat) error {
	size := st.Size
	switch {
	case size < max(m.opts.Min, 1):
		return m.fail("map", fmt.Errorf("%w: %d bytes, at least %d", ErrSmall, size, max(m.opts.Min, 1)))
	case size > m.opts.Max || uint64(size) > uint64(^uint(0)>>1):
		return m.fail("map", fmt.Errorf("%w: %d bytes, at most %d", ErrLarge, size, m.opts.Max))
	}
	if err := m.solid(st); err != nil {
		return err
	}
	mem, err := unix.Mmap(m.fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return m.fail("map", err)
	}
	m.unmap()
	m.mem, m.base, m.size = mem, unsafe.Pointer(&mem[0]), uint64(size)
	return nil
}

func (m *Map) unmap() {
	if m.mem != nil {
		_ = unix.Munmap(m.mem) // cannot fail for our own mapping
	}
	m.mem, m.base, m.size = nil, nil, 0
}

// Grow maps the whole file again if the file has grown. Otherwise it does nothing. After
// an error the old mapping stays.
func (m *Map) Grow() error {
	st, err := m.Stat()
	if err != nil {
		return err
	}
	if uint64(st.Size) <= m.size {
		return nil
	}
	return m.mapTo(st)
}

// Data returns the first part at or after off that is not a hole, as far as the file system
// tells. That part may include storage that was never written. If there is none, from is the
// length of what is mapped.
func (m *Map) Data(off uint64) (from, to uint64) {
	data, err := unix.Seek(m.fd, int64(off), unix.SEEK_DATA)
	if err == unix.ENXIO {
		return m.size, m.size
	}
	if err != nil { // the file system does not tell
		return off, m.size
	}
	hole, err := unix.Seek(m.fd, data, unix.SEEK_HOLE)
	if err != nil {
		return uint64(data), m.size
	}
	return uint64(data), uint64(hole)
}

// Len returns how many bytes are mapped.
func (m *Map) Len() uint64 { return m.size }

// Stat asks the file system about the file.
func (m *Map) Stat() (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(m.fd, &st); err != nil {
		return Stat{}, m.fail("stat", err)
	}
	return statOf(&st), nil
}

// Locked reports whether a process holds a write lock (fcntl(2), F_SETLK) on one byte
// of the file. The kernel drops such locks when their process ends.
func (m *Map) Locked(off int64) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: off, Len: 1}
	if err := unix.FcntlFlock(uintptr(m.fd), unix.F_OFD_GETLK, &l); err != nil {
		return false, m.fail("lock", err)
	}
	return l.Type != unix.F_UNLCK, nil
}

// Close unmaps the file and closes it. A second Close does nothing.
func (m *Map) Close() error {
	m.unmap()
	if m.fd < 0 {
		return nil
	}
	err := unix.Close(m.fd)
	m.fd = -1
	return err
}

// Is reports whether the file at path is the one that is mapped.
func (m *Map) Is(path string) bool {
	var st unix.Stat_t
	own, err := m.Stat()
	return err == nil && unix.Lstat(path, &st) == nil && st.Ino == own.Ino && uint64(st.Dev) == own.Dev
}
