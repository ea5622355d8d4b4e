package probe

import (
	"time"

	"golang.org/x/sys/unix"
)

// awaitTime is how long the kernel may take to begin to stamp. pmcd gives up an agent that
// takes 5 s to start.
var awaitTime = 3 * time.Second

// awaitStamps waits until the kernel stamps what arrives. The kernel begins, for the whole
// machine, some milliseconds after the first socket has asked for it, or more than a second
// later where all processors are busy, because a thread of its own does it. awaitStamps
// tries it with datagrams that a socket sends to itself over the loopback address. Where it
// cannot try, it waits for a tenth of awaitTime.
func awaitStamps() bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		time.Sleep(awaitTime / 10)
		return true
	}
	defer unix.Close(fd)
	const receive = unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE
	self := connectSelf(fd)
	if !self || unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, receive) != nil {
		time.Sleep(awaitTime / 10)
		return true
	}
	b := newBatch()
	for end := time.Now().Add(awaitTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := unix.Write(fd, []byte{0}); err != nil {
			continue
		}
		if b.receive(fd, 0) > 0 {
			if stamp, _ := b.controls(0).read(); stamp != 0 {
				return true
			}
		}
	}
	return false
}

// connectSelf connects a datagram socket to itself.
func connectSelf(fd int) bool {
	if unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}) != nil {
		return false
	}
	addr, err := unix.Getsockname(fd)
	return err == nil && unix.Connect(fd, addr) == nil
}
