package segments

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// claimsPart is the beginning of the names that Claims returns.
const claimsPart = layout.ClaimsDir + "/"

// RemoveStray removes a file that no supplier can use, and reports whether it did. Such a
// file has not changed since the given time, and no process holds a lock on it; each living
// supplier holds one. In the folder of claims, such an entry is any that is not the file of
// the user in its name.
func (d *Dir) RemoveStray(name string, before time.Time) (bool, error) {
	var st unix.Stat_t
	err := unix.Lstat(d.Path(name), &st)
	entry, claim := strings.CutPrefix(name, claimsPart)
	gone := false
	switch {
	case err == unix.ENOENT:
		return false, nil
	case err != nil:
	case claim && ownClaims(entry, &st):
		return false, nil
	case claim:
		gone, err = d.evict(entry)
	case st.Mode&unix.S_IFMT == unix.S_IFDIR || !time.Unix(st.Ctim.Unix()).Before(before) || d.held(name, &st):
		return false, nil
	default:
		err = d.Remove(name)
		gone = err == nil
	}
	if err != nil {
		err = fmt.Errorf("removing %s: %w", d.Path(name), err)
	}
	return gone, err
}

// held reports whether somebody has, or may have, a lock on a file. A supplier makes its
// file readable for the agent before it locks it.
func (d *Dir) held(name string, st *unix.Stat_t) bool {
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	fd, err := unix.Open(d.Path(name), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.EACCES || !strings.HasPrefix(name, layout.NewPrefix)
	}
	defer unix.Close(fd)
	var now unix.Stat_t
	if unix.Fstat(fd, &now) != nil || now.Ino != st.Ino || now.Dev != st.Dev {
		return true
	}
	all := unix.Flock_t{Type: unix.F_WRLCK}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &all) != nil || all.Type != unix.F_UNLCK
}

// RemoveFree removes a segment if nobody holds a lock on it, however young it is, or if only
// its owner can read it. It reports whether it did.
func (d *Dir) RemoveFree(name string) bool {
	var st unix.Stat_t
	if unix.Lstat(d.Path(name), &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return false
	}
	if d.held(name, &st) && unix.Access(d.Path(name), unix.R_OK) != unix.EACCES {
		return false
	}
	return d.Remove(name) == nil
}

// ownClaims reports whether an entry of the folder of claims is what its name says.
func ownClaims(entry string, st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && entry == strconv.FormatUint(uint64(st.Uid), 10)
}

// evict takes an entry out of the folder of claims. A folder that is not empty cannot be
// removed, but it can be renamed.
func (d *Dir) evict(entry string) (bool, error) {
	path := d.Path(claimsPart + entry)
	err := unix.Unlink(path)
	if err == unix.EISDIR || err == unix.EPERM {
		err = unix.Rmdir(path)
	}
	if err == unix.ENOTEMPTY {
		if strings.HasPrefix(entry, ".") {
			return false, nil
		}
		err = os.Rename(path, filepath.Join(filepath.Dir(path), fmt.Sprintf(".not-%s-%x", entry, rand.Uint64())))
	}
	return err == nil, err
}
