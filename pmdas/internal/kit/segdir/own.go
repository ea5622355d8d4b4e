//go:build linux

package segdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// MakeOwn makes a directory that belongs to this process's user, with a mode. Whatever another
// user has put in its place gets another name, and so does a directory that others may write
// to. The directory above it must be there: the process may be unable to give that the mode
// that it needs.
func MakeOwn(dir string, mode fs.FileMode) error {
	info, err := os.Lstat(dir)
	if err == nil {
		st := info.Sys().(*syscall.Stat_t)
		if !info.IsDir() || info.Mode().Perm()&0o022 != 0 || int(st.Uid) != os.Geteuid() {
			if err := os.Rename(dir, fmt.Sprintf("%s.not-ours-%d", dir, st.Ino)); err != nil {
				return err
			}
		}
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, mode) // whatever the umask, and the mode that it had
}
