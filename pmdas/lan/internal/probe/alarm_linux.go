package probe

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fdAlarm is an Alarm at about half of what a time.Timer costs. The Go runtime wakes its
// monitor thread whenever the next timer is due, and whenever a process at rest makes a
// system call that the scheduler is told of. So an fdAlarm has no timer of Go's but a
// timerfd(2), for which the network poller waits, and makes no such call. Nor do Send and
// Poll of an Engine on Linux.
type fdAlarm struct {
	file   *os.File
	conn   syscall.RawConn // keeps the descriptor open while it is used
	woken  atomic.Bool
	closed atomic.Bool

	// The sleeper's; the functions are made once, so that sleeping allocates nothing.
	length time.Duration
	count  [8]byte
	set    func(fd uintptr)
	read   func(fd uintptr) bool
}

// NewAlarm returns an Alarm. The caller closes it.
func NewAlarm() (Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	a := &fdAlarm{file: os.NewFile(uintptr(fd), "timerfd")}
	if a.conn, err = a.file.SyscallConn(); err != nil {
		a.file.Close()
		return nil, err
	}
	a.set = func(fd uintptr) { setTimer(fd, a.length) }
	a.read = func(fd uintptr) bool {
		_, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&a.count)), uintptr(len(a.count)))
		return errno != unix.EAGAIN
	}
	return a, nil
}

// setTimer makes a timer fire once, after d.
func setTimer(fd uintptr, d time.Duration) {
	t := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}

func (a *fdAlarm) Sleep(d time.Duration) bool {
	if d > 0 && !a.woken.Load() {
		a.length = d
		a.conn.Control(a.set)
		// Wake sets woken first: either it is seen here, or Wake's setting comes
		// after the one above.
		if !a.woken.Load() {
			a.conn.Read(a.read)
		}
	}
	a.woken.Store(false)
	return !a.closed.Load()
}

func (a *fdAlarm) Wake() {
	if a.woken.Swap(true) {
		return // another Wake does it
	}
	a.conn.Control(func(fd uintptr) { setTimer(fd, 1) })
}

func (a *fdAlarm) Close() error {
	a.closed.Store(true)
	return a.file.Close()
}
