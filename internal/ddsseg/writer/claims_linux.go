package writer

import (
	"cmp"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
)

// claims is this process's file of claims in one directory. When a process closes any
// descriptor of a file, the kernel drops all of the process's locks on that file. The kernel
// also lets a process take a lock that it already has. So the suppliers of a process share one
// descriptor, and claims keeps what each of them holds.
type claims struct {
	dir  string
	id   claimsID
	pcp  int // the PCP user, who owns the directory of segments
	f    *os.File
	refs int
	held map[string]bool
}

type claimsID struct {
	dev, ino uint64
	uid      int
}

var (
	claimsMutex sync.Mutex // guards claimsOpen and what is in it
	claimsOpen  = map[claimsID]*claims{}
)

// openClaims opens or makes the file of this user's claims below the segment directory.
func openClaims(segments string) (*claims, error) {
	dir := filepath.Join(segments, layout.ClaimsDir)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	parent, err := os.Stat(segments)
	if err != nil {
		return nil, err
	}
	st := info.Sys().(*syscall.Stat_t)
	id := claimsID{uint64(st.Dev), st.Ino, os.Geteuid()}
	claimsMutex.Lock()
	defer claimsMutex.Unlock()
	c := claimsOpen[id]
	if c == nil {
		f, err := openOwnClaims(dir, id.uid)
		if err != nil {
			return nil, err
		}
		c = &claims{dir: dir, id: id, pcp: int(parent.Sys().(*syscall.Stat_t).Uid), f: f, held: map[string]bool{}}
		claimsOpen[id] = c
	}
	c.refs++
	return c, nil
}

// openOwnClaims opens the user's file. If something of another user has its name,
// openOwnClaims uses an unnamed file instead. Nobody sees the claims in that, but the supplier
// can work.
func openOwnClaims(dir string, uid int) (*os.File, error) {
	path := filepath.Join(dir, strconv.Itoa(uid))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, layout.ClaimMode)
	if err == nil && ownRegular(f, uid) {
		// The process's umask may have made the file unreadable for other users. If its mode
		// cannot be changed, they do not see its claims; that does not harm this user.
		f.Chmod(layout.ClaimMode)
		return f, nil
	}
	if err == nil {
		f.Close()
	} else if _, there := os.Lstat(path); there != nil || claimsOf(path, uid) {
		return nil, err
	}
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
}

func ownRegular(f *os.File, uid int) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return int(info.Sys().(*syscall.Stat_t).Uid) == uid
}

// close ends one use of the claims. The last close closes the file and so drops all locks.
func (c *claims) close() {
	claimsMutex.Lock()
	defer claimsMutex.Unlock()
	c.refs--
	if c.refs == 0 {
		c.f.Close()
		delete(claimsOpen, c.id)
	}
}

// claim claims all the paths or none. A *ClaimedError with the path says that another living
// supplier has it.
func (c *claims) claim(paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	// If one of two processes of a user claims out of turn, this order lets the first that
	// locks a path get all of them. libSpmi uses the same order and the same turns.
	paths = slices.SortedFunc(slices.Values(paths), func(a, b string) int {
		return cmp.Compare(layout.ClaimOffset(a), layout.ClaimOffset(b))
	})
	claimsMutex.Lock()
	defer claimsMutex.Unlock()
	for tries := 0; ; tries++ {
		c.takeTurn()
		again, err := c.try(paths)
		c.endTurn()
		// Suppliers of two users that test at the same time see each other. Further tries let
		// one of them come first.
		if err == nil || !again || tries == 4 {
			return err
		}
		time.Sleep(time.Duration(1+rand.IntN(19)) * time.Millisecond)
	}
}

// takeTurn waits until it is this process's turn to claim: the processes of one user claim one
// after another. Without turns, one process could be refused because of a path that another
// locks only for a moment and then gives up. A turn is a lock on a byte that stands for no
// path. It takes microseconds. If it takes a second, because a process was stopped or another
// user's read lock is in the way, the process claims out of turn.
func (c *claims) takeTurn() {
	for range 1000 {
		if setLock(c.f, unix.F_SETLK, layout.ClaimTurn) == nil {
			return
		}
		if inTheWay(c.f, layout.ClaimTurn).Type == unix.F_RDLCK {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (c *claims) endTurn() { c.unlock(layout.ClaimTurn) }

func (c *claims) unlock(off int64) {
	l := unix.Flock_t{Type: unix.F_UNLCK, Whence: io.SeekStart, Start: off, Len: 1}
	unix.FcntlFlock(c.f.Fd(), unix.F_SETLK, &l)
}

// try claims the paths in this user's file and then looks into the files of others. again
// reports that the conflict is with another user.
func (c *claims) try(paths []string) (again bool, err error) {
	var mine []string
	for _, path := range paths {
		if c.held[path] || !c.lock(path) {
			c.drop(mine)
			return false, &ClaimedError{path}
		}
		c.held[path] = true
		mine = append(mine, path)
	}
	if path := c.conflict(paths, claimed, c.counts); path != "" {
		c.drop(mine)
		return true, &ClaimedError{path}
	}
	return false, nil
}

// lock locks a path in this user's file. A lock of another process that is not a claim, such
// as an obstructive read lock, prevents the lock. The supplier may use the path all the same.
func (c *claims) lock(path string) bool {
	return setLock(c.f, unix.F_SETLK, layout.ClaimOffset(path)) == nil || !claimed(c.f, path)
}

// first reports whether a user is root or the PCP user, who come before all others.
func (c *claims) first(uid int) bool { return uid == 0 || uid == c.pcp }

// counts reports whether a user's claims matter to this process. Root and the PCP user ignore
// the claims of all other users.
func (c *claims) counts(uid int) bool { return !c.first(c.id.uid) || c.first(uid) }

// all makes the claims of all users count.
func all(int) bool { return true }

// maxClaims bounds how many names in the folder of claims are looked at. There are more only
// if somebody fills the folder. Then suppliers may not see each other's claims.
const maxClaims = 4096

// conflict returns the first of the paths that a process of another user claims. It looks only
// at users for which counts is true. test looks for the claim in a user's file.
func (c *claims) conflict(paths []string, test func(f *os.File, path string) bool, counts func(uid int) bool) string {
	d, err := os.Open(c.dir)
	if err != nil {
		return ""
	}
	names, _ := d.Readdirnames(maxClaims)
	d.Close()
	slices.Sort(names)
	for _, name := range names {
		uid, err := strconv.Atoi(name)
		if err != nil || uid == c.id.uid || !counts(uid) || claimsOpen[claimsID{c.id.dev, c.id.ino, uid}] != nil {
			continue
		}
		other := filepath.Join(c.dir, name)
		if !claimsOf(other, uid) {
			continue
		}
		f, err := os.OpenFile(other, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if ownRegular(f, uid) {
			for _, path := range paths {
				if test(f, path) {
					f.Close()
					return path
				}
			}
		}
		f.Close()
	}
	return ""
}

// claimsOf reports whether a path is a file of user uid and not the file of claims that this
// process has open. Only such a file may be opened: when a process closes a file under any
// name, it loses all its locks on it, and others can easily make another name for the
// process's own file.
func claimsOf(path string, uid int) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && int(st.Uid) == uid
}

// claimed reports whether another process holds a claim on the path in f: a write
// lock of that one byte.
func claimed(f *os.File, path string) bool { return isClaim(inTheWay(f, layout.ClaimOffset(path))) }

// maybeClaimed reports whether another process holds a claim on the path in f, or whether a
// read lock may have prevented such a claim.
func maybeClaimed(f *os.File, path string) bool {
	l := inTheWay(f, layout.ClaimOffset(path))
	return isClaim(l) || l.Type == unix.F_RDLCK
}

func isClaim(l unix.Flock_t) bool { return l.Type == unix.F_WRLCK && l.Len == 1 }

// inTheWay returns the lock of another process that would conflict with a write lock on a byte
// of f. Its type is F_UNLCK if there is none.
func inTheWay(f *os.File, off int64) unix.Flock_t {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: off, Len: 1}
	if unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l) != nil {
		l.Type = unix.F_UNLCK
	}
	return l
}

// taken reports whether any supplier, of this process or another, claims the path, so that
// there may be contexts below it. It also returns true if it cannot find out. Otherwise any
// user who can read a claims file could use a read lock to keep its owner's suppliers from
// adding contexts.
func (c *claims) taken(path string) bool {
	claimsMutex.Lock()
	defer claimsMutex.Unlock()
	return c.held[path] || maybeClaimed(c.f, path) || c.conflict([]string{path}, maybeClaimed, all) != ""
}

// release gives paths up.
func (c *claims) release(paths ...string) {
	claimsMutex.Lock()
	defer claimsMutex.Unlock()
	c.drop(paths)
}

func (c *claims) drop(paths []string) {
	for _, path := range paths {
		c.unlock(layout.ClaimOffset(path))
		delete(c.held, path)
	}
}
