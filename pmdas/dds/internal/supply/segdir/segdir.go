// Package segdir is the directory in which suppliers put their segments: making it,
// listing it, and hearing of what happens in it.
package segdir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// Bounds of what one call reads.
const (
	maxReads = 4 // of bufSize bytes each
	bufSize  = 16 << 10
)

// Default returns the directory that suppliers and agent use.
func Default() string {
	if dir := os.Getenv(layout.DirEnv); dir != "" {
		return dir
	}
	return layout.DefaultDir
}

// Make makes the directory, and the one for claims in it, for a user and group, with the
// modes that let every user add files and nobody list or remove others'. What is there
// already gets owner and modes, if the process may. It follows no symbolic link at the
// end of path.
func Make(path string, uid, gid int) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return errors.Join(makeOne(path, uid, gid, layout.DirMode),
		makeOne(filepath.Join(path, layout.ClaimsDir), uid, gid, layout.ClaimsMode))
}

func makeOne(path string, uid, gid int, mode uint32) error {
	if err := unix.Mkdir(path, 0o700); err != nil && err != unix.EEXIST {
		return fmt.Errorf("%s: %w", path, err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if int(st.Uid) != uid || int(st.Gid) != gid {
		if err := unix.Fchown(fd, uid, gid); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	} else if st.Mode&0o7777 == mode {
		return nil
	}
	if err := unix.Fchmod(fd, mode); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Dir is the directory as it is watched. Its methods belong to one goroutine.
type Dir struct {
	path string
	fd   int
	buf  [bufSize]byte
	seen map[string]bool

	files, claims cursor
}

// Open begins to watch.
func Open(path string) (*Dir, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", path, err)
	}
	const events = unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_CLOSE_WRITE | unix.IN_MODIFY |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	if _, err := unix.InotifyAddWatch(fd, path, events); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("watching %s: %w", path, err)
	}
	return &Dir{path: path, fd: fd, seen: make(map[string]bool)}, nil
}

// Path returns the path of a file.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Remove removes a file.
func (d *Dir) Remove(name string) error { return unix.Unlink(d.Path(name)) }

// Close ends the watch.
func (d *Dir) Close() error {
	d.files.end()
	d.claims.end()
	return unix.Close(d.fd)
}

// IsSegment reports whether a file's name is that of a published segment.
func IsSegment(name string) bool {
	return strings.HasSuffix(name, layout.Suffix) && !strings.HasPrefix(name, ".")
}

// Errors of Events.
var (
	ErrLost = errors.New("more happened than was noted")        // List tells
	ErrGone = errors.New("the directory is not there any more") // Close, and Open again
)

// Events returns the names of segments that something has happened to since the last
// call: published, removed, renamed, lengthened, cut off, or closed by a process. Stores
// into mapped memory are no events. It does not wait. Much that happens at once comes in
// several calls. The names are good until the next.
func (d *Dir) Events() (map[string]bool, error) {
	clear(d.seen)
	var bad error
	for range maxReads {
		n, err := unix.Read(d.fd, d.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		if err := d.parse(d.buf[:n]); err != nil {
			bad = err
		}
		if n < bufSize/2 {
			break
		}
	}
	return d.seen, bad
}

func (d *Dir) parse(b []byte) (bad error) {
	for len(b) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(b[4:])
		n := int(binary.NativeEndian.Uint32(b[12:]))
		name := b[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+n]
		b = b[unix.SizeofInotifyEvent+n:]
		name, _, _ = bytes.Cut(name, []byte{0})
		switch {
		case mask&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0:
			return ErrGone
		case mask&unix.IN_Q_OVERFLOW != 0:
			bad = ErrLost
		case IsSegment(string(name)):
			d.seen[string(name)] = true
		}
	}
	return bad
}
