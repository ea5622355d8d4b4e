//go:build linux

// Package segdir is for directories in which programs of all users put files that an
// agent reads: making one, and hearing that something changed in it.
package segdir

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Make makes a directory for a user and a group, with exactly this mode, and what leads
// to it with mode 755. One that is there already gets owner and mode, if the process
// may. It follows no symbolic link at the end of path.
func Make(path string, uid, gid int, mode uint32) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
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
	if int(st.Uid) == uid && int(st.Gid) == gid && st.Mode&0o7777 == mode {
		return nil
	}
	if int(st.Uid) != uid || int(st.Gid) != gid {
		if err := unix.Fchown(fd, uid, gid); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := unix.Fchmod(fd, mode); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Watch tells that files were published in a directory or removed from it.
type Watch struct {
	// C gets a value after something has happened; what happens before it is taken adds
	// nothing. It is closed when the directory is gone, or the watch.
	C    chan struct{}
	file *os.File
}

const (
	watched = unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	gone    = unix.IN_IGNORED | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT
)

// NewWatch begins to watch.
func NewWatch(path string) (*Watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", path, err)
	}
	if _, err := unix.InotifyAddWatch(fd, path, watched); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("watching %s: %w", path, err)
	}
	w := &Watch{C: make(chan struct{}, 1), file: os.NewFile(uintptr(fd), "inotify")}
	go w.read()
	return w, nil
}

// read ends when the file is closed.
func (w *Watch) read() {
	defer close(w.C)
	var b [4096]byte
	for {
		n, err := w.file.Read(b[:])
		if err != nil {
			return
		}
		select {
		case w.C <- struct{}{}:
		default:
		}
		if over(b[:n]) {
			return
		}
	}
}

// over reports whether the directory is gone.
func over(b []byte) bool {
	for len(b) >= unix.SizeofInotifyEvent {
		if binary.NativeEndian.Uint32(b[4:])&gone != 0 {
			return true
		}
		n := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		b = b[min(n, len(b)):]
	}
	return false
}

// Close ends the watch, and waits for it.
func (w *Watch) Close() error {
	err := w.file.Close()
	for range w.C { // until it is closed
	}
	return err
}
