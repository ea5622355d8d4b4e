package writer

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// segFile is a file in the directory. It stays mapped for as long as the process lives.
type segFile struct {
	path string // empty if it is memory without a file
	base unsafe.Pointer
	size uint64 // bytes of the mapping; a process's file is allocated only up to Writer.backed

	mu       sync.Mutex // guards what follows
	fd       int
	dev, ino uint64
	locked   bool
}

// newFile takes a descriptor over.
func newFile(fd int, path string) (*segFile, *unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return &segFile{fd: fd, path: path, dev: uint64(st.Dev), ino: st.Ino, size: uint64(st.Size)}, &st, nil
}

// held reports whether a descriptor is still that of the file. A program may close
// descriptors that it did not open, and their numbers may then stand for other files.
func (f *segFile) held(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && uint64(st.Dev) == f.dev && st.Ino == f.ino
}

// hold returns the descriptor. If the program has closed it, hold opens the file again. The
// caller holds f.mu.
func (f *segFile) hold() (int, error) {
	if f.held(f.fd) {
		return f.fd, nil
	}
	fd, err := unix.Open(f.path, openFlags, 0)
	if err == nil && !f.held(fd) {
		unix.Close(fd)
		err = unix.ESTALE
	}
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: f.path, Err: err}
	}
	f.fd = fd
	if f.locked {
		err = f.setLock()
	}
	return fd, err
}

const openFlags = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY

// mapMemory maps memory without a file.
func mapMemory(length uint64) (*segFile, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("no memory to measure in: %w", err)
	}
	return &segFile{fd: -1, base: p, size: length}, nil
}

// makeFile makes an empty file under the name that it has before it is published. Its mode
// is 640, whatever the umask.
func makeFile(dir string) (*segFile, error) {
	var random [8]byte
	rand.Read(random[:])
	path := filepath.Join(dir, fmt.Sprintf("%s%d-%d-%x", layout.NewPrefix, os.Geteuid(), os.Getpid(), random))
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "create in", Path: dir, Err: err}
	}
	f, _, err := newFile(fd, path)
	if err != nil {
		unix.Unlink(path)
		return nil, err
	}
	if err := unix.Fchmod(fd, layout.FileMode); err != nil {
		f.remove()
		return nil, &os.PathError{Op: "chmod", Path: path, Err: err}
	}
	return f, nil
}

// openOwn opens a file that this user published. It must be a regular file with one name.
func openOwn(path string) (*segFile, error) {
	fd, err := unix.Open(path, openFlags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f, st, err := newFile(fd, path)
	if err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != uint32(os.Geteuid()) || st.Nlink != 1 {
		f.close()
		return nil, fmt.Errorf("%s is not a file of user %d alone", path, os.Geteuid())
	}
	return f, nil
}

// mapAll maps the file, or as much address space as it may grow into. If the process has
// little address space left, it maps less, but at least least.
func (f *segFile) mapAll(length, least uint64) error {
	for ; length >= least; length /= 2 {
		p, err := unix.MmapPtr(f.fd, 0, nil, uintptr(length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
		if err == nil {
			f.base, f.size = p, length
			return nil
		}
		if !errors.Is(err, unix.ENOMEM) {
			return &os.PathError{Op: "map", Path: f.path, Err: err}
		}
	}
	return &os.PathError{Op: "map", Path: f.path, Err: unix.ENOMEM}
}

// lengthen sets the length of a file of names. It refuses a length beyond the process's
// limit (RLIMIT_FSIZE), because the kernel would send SIGXFSZ and end the program.
func (f *segFile) lengthen(size uint64) error {
	if err := f.belowLimit(size); err != nil {
		return err
	}
	if err := unix.Ftruncate(f.fd, int64(size)); err != nil {
		return &os.PathError{Op: "truncate", Path: f.path, Err: err}
	}
	return nil
}

func (f *segFile) belowLimit(size uint64) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && size > limit.Cur {
		return &os.PathError{Op: "extend", Path: f.path, Err: unix.EFBIG}
	}
	return nil
}

// reserve makes sure that n bytes at off have room in the file system, so that a store into
// them cannot fail. It does not change what they hold.
func (f *segFile) reserve(off, n uint64) error {
	if f.path == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fd, heldErr := f.hold()
	if heldErr != nil {
		return heldErr
	}
	err := unix.EINTR
	for tries := 0; err == unix.EINTR && tries < 100; tries++ {
		err = errno(unix.Fallocate(fd, 0, int64(off), int64(n)))
	}
	if err != 0 {
		return &os.PathError{Op: "allocate", Path: f.path, Err: err}
	}
	return nil
}

func errno(err error) unix.Errno {
	var e unix.Errno
	if err != nil && !errors.As(err, &e) {
		e = unix.EIO
	}
	return e
}

// unsupported reports whether the file system cannot allocate room.
func unsupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS)
}

// zero writes zeros, for a file system without fallocate. Nobody else may use these bytes
// yet.
func (f *segFile) zero(off, n uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fd, err := f.hold()
	if err != nil {
		return err
	}
	var zeros [1 << 16]byte
	for n > 0 {
		k, err := unix.Pwrite(fd, zeros[:min(n, uint64(len(zeros)))], int64(off))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && k <= 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return &os.PathError{Op: "write", Path: f.path, Err: err}
		}
		off, n = off+uint64(k), n-uint64(k)
	}
	return nil
}

// lock takes the lock that says that this process lives.
func (f *segFile) lock() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locked = true
	return f.setLock()
}

func (f *segFile) setLock() error {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: layout.AliveOffset, Len: 1}
	if err := unix.FcntlFlock(uintptr(f.fd), unix.F_SETLK, &l); err != nil {
		return &os.PathError{Op: "lock", Path: f.path, Err: err}
	}
	return nil
}

// publish gives the file its name in the same directory. If there already is a file of this
// name, the error is fs.ErrExist.
func (f *segFile) publish(name string) error {
	to := filepath.Join(filepath.Dir(f.path), name)
	if err := unix.Renameat2(unix.AT_FDCWD, f.path, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE); err != nil {
		return &os.LinkError{Op: "rename", Old: f.path, New: to, Err: err}
	}
	f.path = to
	return nil
}

// named reports whether the file still has its name in the directory.
func (f *segFile) named() bool {
	var st unix.Stat_t
	return unix.Lstat(f.path, &st) == nil && uint64(st.Dev) == f.dev && st.Ino == f.ino
}

// readAgent reads a file of the agent's below dir into b. It fails if the file is shorter
// than b, or if it belongs neither to the owner of dir nor to root. The file is not mapped,
// because it may be cut off at any time.
func readAgent(dir, name string, b []byte) (ok bool) {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(at)
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st, owner unix.Stat_t
	if unix.Fstat(at, &owner) != nil || unix.Fstat(fd, &st) != nil ||
		st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != owner.Uid && st.Uid != 0 {
		return false
	}
	n, err := unix.Pread(fd, b, 0)
	return err == nil && n == len(b)
}

// close unmaps and closes the file. The process must not touch it any more.
func (f *segFile) close() {
	if f.base != nil {
		unix.MunmapPtr(f.base, uintptr(f.size))
		f.base = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held(f.fd) {
		unix.Close(f.fd)
	}
}

func (f *segFile) remove() {
	unix.Unlink(f.path)
	f.close()
}

// monotonic returns CLOCK_MONOTONIC in nanoseconds.
func monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// identity tells which process this is: the inode of its pid namespace, and its start in
// clock ticks since boot. Each is 0 if /proc does not tell it.
func identity() (pidns, start uint64) {
	if link, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		fmt.Sscanf(link, "pid:[%d]", &pidns)
	}
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		// The second field is the program's name in parentheses and may hold blanks.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 19 {
			fmt.Sscan(fields[19], &start)
		}
	}
	return pidns, start
}

// Privileged reports whether the program has rights that its caller does not have, as a
// setuid program does. Such a program must not trust its environment.
func Privileged() bool {
	const atSecure = 23
	aux, err := unix.Auxv()
	if err != nil {
		return os.Geteuid() != os.Getuid() || os.Getegid() != os.Getgid()
	}
	for _, a := range aux {
		if a[0] == atSecure {
			return a[1] != 0
		}
	}
	return false
}
