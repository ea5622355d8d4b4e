package writer

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// writerMap is a segment's file and the address space reserved for it. The file grows
// within this space, so addresses never change.
type writerMap struct {
	f    *os.File
	path string
	base unsafe.Pointer
	mem  []byte // the reserved range; beyond size it must not be touched
	size uint64
}

// newWriterMap makes an empty file in dir, under the name that the file has until it is
// published. It takes the lock that says that the supplier lives.
func newWriterMap(dir string) (*writerMap, error) {
	id := fmt.Sprintf("%d-%d-%s", os.Geteuid(), os.Getpid(), strings.ToLower(rand.Text()[:12]))
	path := filepath.Join(dir, layout.NewPrefix+id)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	m := &writerMap{f: f, path: path}
	if err := m.prepare(); err != nil {
		m.end()
		return nil, err
	}
	return m, nil
}

// prepare sets the mode of the file, whatever the process's umask, and maps it.
func (m *writerMap) prepare() error {
	if err := m.f.Chmod(layout.FileMode); err != nil {
		return err
	}
	if err := setLock(m.f, unix.F_SETLK, layout.AliveOffset); err != nil {
		return err
	}
	length := uintptr(layout.MapSize64)
	if unsafe.Sizeof(length) == 4 {
		length = layout.MapSize32
	}
	// A process with little address space left gets less room to grow.
	for ; length >= 1<<20; length /= 2 {
		p, err := unix.MmapPtr(int(m.f.Fd()), 0, nil, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
		if err == nil {
			m.base, m.mem = p, unsafe.Slice((*byte)(p), length)
			return nil
		}
		if !errors.Is(err, unix.ENOMEM) {
			return os.NewSyscallError("mmap", err)
		}
	}
	return os.NewSyscallError("mmap", unix.ENOMEM)
}

// extend makes the file at least size bytes long. If it returns without error, the room
// is allocated and a store into it does not fail.
func (m *writerMap) extend(size uint64) error {
	if size <= m.size {
		return nil
	}
	if size > uint64(len(m.mem)) {
		return unix.EFBIG
	}
	// Beyond this limit the kernel also sends a signal. A library must not cause one.
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && size > limit.Cur {
		return unix.EFBIG
	}
	err := unix.EINTR
	for tries := 0; err == unix.EINTR && tries < 100; tries++ {
		err, _ = unix.Fallocate(int(m.f.Fd()), 0, int64(m.size), int64(size-m.size)).(syscall.Errno)
	}
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return m.fill(size)
	}
	if err != 0 {
		return os.NewSyscallError("fallocate", err)
	}
	m.size = size
	return nil
}

// fill does the work of fallocate if the file system does not have it.
func (m *writerMap) fill(size uint64) error {
	w := io.NewOffsetWriter(m.f, int64(m.size))
	if _, err := io.CopyN(w, zeros{}, int64(size-m.size)); err != nil {
		return err
	}
	m.size = size
	return nil
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// publish gives the file the name under which readers look for it.
func (m *writerMap) publish() error {
	dir, name := filepath.Split(m.path)
	path := filepath.Join(dir, strings.TrimPrefix(name, layout.NewPrefix)+layout.Suffix)
	if err := os.Rename(m.path, path); err != nil {
		return err
	}
	m.path = path
	return nil
}

// end removes the file and maps private memory in its place, because the program may
// still store there. free gives that memory back.
func (m *writerMap) end() {
	os.Remove(m.path) // first, so that it is not found without its owner; the agent may have removed it already
	if m.base != nil {
		unix.MunmapPtr(unsafe.Add(m.base, m.size), uintptr(len(m.mem))-uintptr(m.size))
		m.mem = m.mem[:m.size]
		m.forget()
	}
	m.f.Close()
}

func (m *writerMap) forget() {
	if m.size == 0 {
		return
	}
	// If this fails, the file stays mapped without a name. Stores do no harm, and free
	// gives the room back.
	unix.MmapPtr(-1, 0, m.base, uintptr(m.size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|unix.MAP_FIXED)
}

// free gives the address space back. Nothing may point into it any more.
func (m *writerMap) free() {
	if m.base != nil && m.size > 0 {
		unix.MunmapPtr(m.base, uintptr(m.size))
	}
}

// setLock sets a write lock of one byte.
func setLock(f *os.File, cmd int, off int64) error {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: off, Len: 1}
	return unix.FcntlFlock(f.Fd(), cmd, &l)
}

// identity says which process the supplier is: the number of its namespace of process
// ids, and its start in clock ticks since boot. Both are 0 if /proc does not tell.
func identity() (pidns, start uint64) {
	if link, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		fmt.Sscanf(link, "pid:[%d]", &pidns)
	}
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		// The second field is the program's name in parentheses. It may hold blanks.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		if fields := strings.Fields(rest); len(fields) > 19 {
			fmt.Sscan(fields[19], &start)
		}
	}
	return pidns, start
}
