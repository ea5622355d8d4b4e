//go:build linux

package reader

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// Notice is what the agent tells a supplier.
type Notice struct {
	GoAway   time.Time     // when it was told to go away; zero if it was not
	Interval time.Duration // the shortest interval at which a client asks; 0 if none asks
	Values   uint32        // number of values that clients ask for
}

// words returns the notice as its file holds it. The interval is rounded to whole
// milliseconds, to at least 1.
func (n Notice) words() []byte {
	b := make([]byte, layout.NoticeSubscrib+4)
	put := func(off int, v int64) { binary.NativeEndian.PutUint32(b[off:], uint32(v)) }
	if !n.GoAway.IsZero() {
		put(layout.NoticeGoAway, max(n.GoAway.Unix()&(1<<32-1), 1))
	}
	ms := min(max(n.Interval.Milliseconds(), 0), 1<<31-1)
	if n.Interval > 0 {
		ms = max(ms, 1)
	}
	put(layout.NoticeInterval, ms)
	put(layout.NoticeSubscrib, int64(n.Values))
	return b
}

// NoticePath returns the path of the notice for a segment in dir.
func NoticePath(dir, segment string) string {
	return filepath.Join(dir, layout.NoticeDir, segment)
}

// ownFolder refuses a folder in which another user can put files. Any user can make a folder
// of this name in the directory of segments.
func ownFolder(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&0o022 != 0 || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: %w: want a folder of the agent's user or of root that nobody else can write to; it belongs to user %d and has mode %o; remove it, and the agent makes it anew", path, ErrOwner, st.Uid, st.Mode&0o7777)
	}
	return nil
}

// Write writes the notice for a segment in dir. If the file is not there, Write makes it. The
// file stays the same one as long as the supplier lives, because the supplier has it mapped.
func (n Notice) Write(dir, segment string) error {
	path := NoticePath(dir, segment)
	if err := ownFolder(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, layout.NoticeFile)
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		return fmt.Errorf("%s: %w: want a plain file with a single name; remove it, and the agent makes it anew", path, ErrOwner)
	}
	if st.Mode&0o7777 != layout.NoticeFile { // the umask may have changed it
		if err := f.Chmod(layout.NoticeFile); err != nil {
			return err
		}
	}
	b := n.words()
	if st.Size < layout.NoticeLen { // as long as a whole notice, so that a supplier that maps it can read it
		b = append(b, make([]byte, layout.NoticeLen-len(b))...)
	}
	_, err = f.WriteAt(b, 0)
	return err
}
