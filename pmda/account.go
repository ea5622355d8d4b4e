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

// findUser looks up the user to become. Only root can become somebody else; any other user
// stays what it is.
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
	ids, _ := u.GroupIds() // if they cannot be read, the agent has only the user's own group
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

// become gives up root for good. It keeps only the capabilities in keep, a set of bits,
// which is empty in the ordinary case. become tells complain what could not be given up.
func (a account) become(keep uint64, complain func(error)) error {
	if os.Geteuid() == 0 && a.uid != 0 {
		if err := emptyBounds(); err != nil {
			complain(fmt.Errorf("programs that the agent might start could get capabilities: %w", err))
		}
		if err := a.change(keep); err != nil {
			return err
		}
	}
	if err := allThreads(unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
		complain(fmt.Errorf("programs that the agent might start could get privileges: %w", err))
	}
	return nil
}

// allThreads makes a call of prctl(2) in all threads.
func allThreads(option int, a, b uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, uintptr(option), a, b, 0, 0, 0)
	switch errno {
	case 0:
		return nil
	case syscall.ENOTSUP:
		return fmt.Errorf("prctl(%d): the program was built with cgo: build it with CGO_ENABLED=0", option)
	}
	return fmt.Errorf("prctl(%d): %w", option, errno)
}

// emptyBounds empties the set that bounds the capabilities of programs to be started.
func emptyBounds() error {
	for c := range uintptr(64) {
		there, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			return nil // the kernel knows no further capability
		}
		if there == 0 {
			continue
		}
		if err := allThreads(unix.PR_CAPBSET_DROP, c, 0); err != nil {
			return err
		}
	}
	return nil
}

// change becomes the user.
func (a account) change(keep uint64) error {
	if keep != 0 {
		if err := allThreads(unix.PR_SET_KEEPCAPS, 1, 0); err != nil {
			return fmt.Errorf("keeping capabilities: %w", err)
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
