package writer

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openNotice opens a notice of the agent. It returns nil if there is none. Any user may
// make a folder in the directory of segments. A folder that belongs neither to the owner of
// that directory nor to root is not the agent's.
func openNotice(path string) *os.File {
	folder := filepath.Dir(path)
	var dir, st unix.Stat_t
	if unix.Stat(filepath.Dir(folder), &dir) != nil || unix.Lstat(folder, &st) != nil || !agents(&st, &dir, unix.S_IFDIR) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if unix.Fstat(int(f.Fd()), &st) != nil || !agents(&st, &dir, unix.S_IFREG) {
		f.Close()
		return nil
	}
	return f
}

// agents reports whether a file or folder belongs to root or to the owner of the directory,
// and nobody else may write it.
func agents(st, dir *unix.Stat_t, kind uint32) bool {
	return st.Mode&unix.S_IFMT == kind && (st.Uid == dir.Uid || st.Uid == 0) && st.Mode&0o022 == 0
}

// unlinked reports whether the file has no name any more.
func unlinked(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}
