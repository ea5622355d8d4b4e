//go:build linux

package segdir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// What a Watch tells of.
const (
	Published = unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE // files that came by renaming, and that went
	Changed   = unix.IN_CLOSE_WRITE | unix.IN_MODIFY                   // files that were written or closed, or cut
)

const (
	always = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	gone   = unix.IN_IGNORED | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT
)

// Bounds of what one call of Names reads, because anybody may cause events.
const (
	bufSize  = 16 << 10
	maxReads = 4
)

// Errors of Names.
var (
	ErrLost = errors.New("more happened in the directory than was noted")   // list it
	ErrGone = errors.New("the directory is not there any more; watch anew") // Close, and NewWatch
)

// Watch tells to which files of a directory something has happened. Stores into mapped
// memory do not count. Names belongs to one goroutine.
type Watch struct {
	fd   int
	file *os.File
	buf  [bufSize]byte
	seen map[string]bool

	once    sync.Once
	happens chan struct{}
	over    chan struct{} // closed by Close
	ended   chan struct{} // closed when the goroutine that C started has ended
}

// NewWatch begins to watch a directory for Published, Changed or both.
func NewWatch(path string, what uint32) (*Watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", path, err)
	}
	if _, err := unix.InotifyAddWatch(fd, path, what|always); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("watching %s: %w", path, err)
	}
	return &Watch{fd: fd, file: os.NewFile(uintptr(fd), "inotify"), seen: make(map[string]bool),
		over: make(chan struct{})}, nil
}

// Names returns the names of files that something has happened to since the last call. It
// does not wait. If much happens at once, several calls are needed to learn of all of it.
// The names are good until the next call.
func (w *Watch) Names() (map[string]bool, error) {
	clear(w.seen)
	var bad error
	for range maxReads {
		n, err := unix.Read(w.fd, w.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		if err := w.parse(w.buf[:n]); err != nil && bad != ErrGone {
			bad = err
		}
		if n < bufSize/2 {
			break
		}
	}
	return w.seen, bad
}

func (w *Watch) parse(b []byte) (bad error) {
	for len(b) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(b[4:])
		n := int(binary.NativeEndian.Uint32(b[12:]))
		name := b[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+n]
		b = b[unix.SizeofInotifyEvent+n:]
		name, _, _ = bytes.Cut(name, []byte{0})
		switch {
		case mask&gone != 0:
			return ErrGone
		case mask&unix.IN_Q_OVERFLOW != 0:
			bad = ErrLost
		case len(name) > 0:
			w.seen[string(name)] = true
		}
	}
	return bad
}

// C returns a channel that has a value when there is something for Names to tell, and
// sometimes when there is not. It is for callers that wait; others call Names now and then.
func (w *Watch) C() <-chan struct{} {
	w.once.Do(func() {
		w.happens, w.ended = make(chan struct{}), make(chan struct{})
		go w.wait()
	})
	return w.happens
}

// wait ends when the file is closed.
func (w *Watch) wait() {
	defer close(w.ended)
	raw, err := w.file.SyscallConn()
	for err == nil {
		err = raw.Read(func(uintptr) bool {
			p := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
			n, _ := unix.Poll(p, 0)
			return n > 0
		})
		if err != nil {
			return
		}
		select { // nobody takes the value before Names has been called for the last one
		case w.happens <- struct{}{}:
		case <-w.over:
			return
		}
	}
}

// Close ends the watch, and waits for it.
func (w *Watch) Close() error {
	close(w.over)
	err := w.file.Close()
	if w.ended != nil {
		<-w.ended
	}
	return err
}
