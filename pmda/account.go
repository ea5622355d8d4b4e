package pmda

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// account is the user that an agent runs as.
type account struct {
	name     string
	uid, gid int
	groups   []int
}

// findUser looks up the user to become. Only root becomes somebody else; for others
// the answer is themselves.
func findUser(name string) (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	if name == "" {
		name = pcpUser()
	}
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, fmt.Errorf("the user to run as: %w", err)
	}
	a := account{name: name}
	if a.uid, a.gid, err = numbers(u); err != nil {
		return account{}, err
	}
	ids, _ := u.GroupIds() // without them the user's own group has to do
	for _, id := range ids {
		if g, err := strconv.Atoi(id); err == nil {
			a.groups = append(a.groups, g)
		}
	}
	return a, nil
}

func numbers(u *user.User) (uid, gid int, err error) {
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}

// PCPUser returns the numbers of the user that PCP runs as, whose name is in the
// environment's PCP_USER, or is pcp.
func PCPUser() (uid, gid int, err error) {
	u, err := user.Lookup(pcpUser())
	if err != nil {
		return 0, 0, err
	}
	return numbers(u)
}

// pcpUser is the name of the user that pmcd runs as.
func pcpUser() string {
	if name := os.Getenv("PCP_USER"); name != "" {
		return name
	}
	return "pcp"
}

// become gives up root for good. Of the capabilities only those in keep stay, as a
// set of bits; none in the ordinary case.
func (a account) become(keep uint64) error {
	if os.Geteuid() != 0 || a.uid == 0 {
		return nil
	}
	if keep != 0 {
		if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1, 0); errno != 0 {
			return fmt.Errorf("keeping capabilities: %w", errno)
		}
	}
	if err := syscall.Setgroups(a.groups); err != nil {
		return fmt.Errorf("becoming %s: %w", a.name, err)
	}
	if err := syscall.Setgid(a.gid); err != nil {
		return fmt.Errorf("becoming %s: %w", a.name, err)
	}
	if err := syscall.Setuid(a.uid); err != nil {
		return fmt.Errorf("becoming %s: %w", a.name, err)
	}
	if keep == 0 {
		return nil
	}
	return setCaps(keep)
}

// setCaps makes keep the permitted and effective capabilities of all threads.
func setCaps(keep uint64) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for i := range data {
		word := uint32(keep >> (32 * i))
		data[i] = unix.CapUserData{Effective: word, Permitted: word}
	}
	// The pointers become numbers in the call itself, so that what they point to
	// stays where it is.
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return fmt.Errorf("keeping capabilities: %w", errno)
	}
	return nil
}
