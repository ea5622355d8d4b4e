package past

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit/segdir"
)

// lockFile is locked by the agent that keeps the record.
const lockFile = "lock"

// Lock locks a record, which is made if it is not there, until the file is closed or the
// process ends. It returns nil if another agent has the lock. There are two agents for a while
// if pmcd has given up one that has not ended yet. Without the lock the second would lose what
// the first adds after the second has read the record.
func Lock(dir string) (*os.File, error) {
	if err := segdir.MakeOwn(dir, layout.PastMode); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockFile)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	switch err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &l); err {
	case nil:
		return os.NewFile(uintptr(fd), path), nil
	case unix.EAGAIN, unix.EACCES:
		return nil, unix.Close(fd)
	default:
		_ = unix.Close(fd)
		return nil, fmt.Errorf("%s: %w", path, err)
	}
}
