package segdir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg"
)

// claimsPart is what the names of Claims begin with.
const claimsPart = ddsseg.ClaimsDir + "/"

// ByAge sorts files by when they were made, the oldest first. Nobody can set that time,
// unlike the others that a file has; where the file system does not keep it, the time of
// the file's last change stands in for it.
func (d *Dir) ByAge(names []string) {
	made := make(map[string]int64, len(names))
	for _, name := range names {
		var st unix.Statx_t
		if unix.Statx(unix.AT_FDCWD, d.Path(name), unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME|unix.STATX_CTIME, &st) != nil {
			continue
		}
		t := st.Ctime
		if st.Mask&unix.STATX_BTIME != 0 {
			t = st.Btime
		}
		made[name] = t.Sec*1e9 + int64(t.Nsec)
	}
	slices.SortFunc(names, func(a, b string) int {
		if made[a] != made[b] {
			if made[a] < made[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}

// Mark tells whether a file is still as it was: the zero Mark is that of none.
type Mark struct {
	ino, size, changed uint64
}

// Mark returns a file's mark as of now.
func (d *Dir) Mark(name string) Mark {
	var st unix.Stat_t
	if unix.Lstat(d.Path(name), &st) != nil {
		return Mark{}
	}
	return Mark{st.Ino, uint64(st.Size), uint64(unix.TimespecToNsec(st.Ctim))}
}

// Claims returns what is in the folder of claims, for RemoveStray; 100,000 names at most.
func (d *Dir) Claims() []string {
	f, err := os.Open(d.Path(ddsseg.ClaimsDir))
	if err != nil {
		return nil // suppliers are told
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxList) // what was read before an error
	for i := range names {
		names[i] = claimsPart + names[i]
	}
	return names
}

// RemoveStray removes a file that nobody can have a use for, and reports whether it
// did. That is a file that has not changed since the time before and on which nobody
// holds a lock, as each living supplier does; and, at any time, what is in the folder
// of claims and is not the file of the user whose number it has.
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

// held reports whether somebody has a lock on a file, or may have. A supplier's file is
// open to the agent before it is locked.
func (d *Dir) held(name string, st *unix.Stat_t) bool {
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	fd, err := unix.Open(d.Path(name), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.EACCES || !strings.HasPrefix(name, ddsseg.NewPrefix)
	}
	defer unix.Close(fd)
	var now unix.Stat_t
	if unix.Fstat(fd, &now) != nil || now.Ino != st.Ino || now.Dev != st.Dev {
		return true
	}
	all := unix.Flock_t{Type: unix.F_WRLCK}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &all) != nil || all.Type != unix.F_UNLCK
}

// ownClaims reports whether an entry of the folder of claims is what it should be.
func ownClaims(entry string, st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && entry == strconv.FormatUint(uint64(st.Uid), 10)
}

// evict takes an entry out of the folder of claims. A folder that is not empty cannot be
// removed, but gives the name up.
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
