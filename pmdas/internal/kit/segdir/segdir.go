//go:build linux

// Package segdir is for directories in which programs of all users put files that an
// agent reads: making one, and hearing that something happened in it.
package segdir

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Parent is the folder of the standard directories. /run is empty after a boot, so it is
// made where it is missing.
const Parent = "/run/rtime"

// Dir is a directory for files of all users' programs.
type Dir struct {
	Path   string
	Mode   uint32 // exactly these bits, of 0o7777
	Inside []Sub
}

// Sub is a directory inside of another.
type Sub struct {
	Name string
	Mode uint32
}

// Make makes the directory for a user and a group. What is there already gets owner and
// mode as well, if the process is root. The folder that the directory is made in must be
// there, unless it is Parent: otherwise root would make all folders of a path that somebody
// has mistyped. Make follows no symbolic link at the end of the path.
func (d Dir) Make(uid, gid int) error {
	parent := filepath.Dir(d.Path)
	if parent == Parent {
		if err := unix.Mkdir(Parent, 0o755); err != nil && err != unix.EEXIST {
			return fmt.Errorf("making %s: %w", Parent, err)
		}
	} else if _, err := os.Stat(parent); err != nil {
		return fmt.Errorf("%s cannot be made, because its folder is not there: %w; make the folder, or name another directory",
			d.Path, err)
	}
	if err := makeOne(d.Path, uid, gid, d.Mode); err != nil {
		return fmt.Errorf("making %s: %w", d.Path, err)
	}
	for _, s := range d.Inside {
		path := filepath.Join(d.Path, s.Name)
		if err := makeOne(path, uid, gid, s.Mode); err != nil {
			return fmt.Errorf("making %s: %w", path, err)
		}
	}
	return nil
}

func makeOne(path string, uid, gid int, mode uint32) error {
	err := unix.Mkdir(path, 0o700)
	if err == unix.EEXIST && os.Geteuid() != 0 {
		return nil // it was made for this user, or cannot be changed
	}
	if err != nil && err != unix.EEXIST {
		return err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if int(st.Uid) != uid || int(st.Gid) != gid {
		if err := unix.Fchown(fd, uid, gid); err != nil {
			return err
		}
	} else if st.Mode&0o7777 == mode {
		return nil
	}
	return unix.Fchmod(fd, mode) // after chown, which takes bits away
}
