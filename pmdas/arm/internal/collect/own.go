package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// makeOwn makes a directory that belongs to this user and has a mode. Anybody may have put
// something else in its place before; that gets another name. The directory above it must
// be there: the agent may not be able to give it the mode that it needs.
func makeOwn(dir string, mode fs.FileMode) error {
	info, err := os.Lstat(dir)
	if err == nil && !(info.IsDir() && info.Mode().Perm()&0o022 == 0 && owner(info) == uint32(os.Geteuid())) {
		if err := os.Rename(dir, fmt.Sprintf("%s.not-ours-%d", dir, inode(info))); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, mode) // whatever the umask, and the mode that it had
}
