package probe

import (
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// defaultBuffer is what Options.Buffer says.
const defaultBuffer = 8 << 20

// socket is a raw ICMP socket of one address family.
type socket struct {
	fd     int
	v6     bool
	stamps Stamps // the best it gives

	to4  unix.RawSockaddrInet4
	to6  unix.RawSockaddrInet6
	echo [echoLen]byte

	unread int // requests sent whose stamps have not been looked for
}

// openSocket opens the socket of a family for the requests that e makes. It needs
// CAP_NET_RAW; the socket does not.
func openSocket(v6 bool, e *echoer, o Options) (*socket, error) {
	family, proto := unix.AF_INET, unix.IPPROTO_ICMP
	if v6 {
		family, proto = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	s := &socket{fd: fd, v6: v6}
	if err := s.setup(e, o); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return s, nil
}

func (s *socket) setup(e *echoer, o Options) error {
	s.to4.Family, s.to6.Family = unix.AF_INET, unix.AF_INET6
	if err := s.filter(e); err != nil {
		return err
	}
	if s.v6 {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_IPV6, unix.IPV6_RECVHOPLIMIT, 1); err != nil {
			return os.NewSyscallError("setsockopt IPV6_RECVHOPLIMIT", err)
		}
	}
	if !s.v6 {
		// A packet that may not be fragmented needs no identification, which the
		// kernel would make up for each from random numbers. Not vital.
		unix.SetsockoptInt(s.fd, unix.SOL_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
	}
	s.setBuffer(o)
	s.setStamps(o)
	return nil
}

func (s *socket) filter(e *echoer) error {
	pass, prog := passTypes4, filter4(e)
	if s.v6 {
		pass, prog = passTypes6, filter6(e)
	}
	if err := pass(s.fd); err != nil {
		return os.NewSyscallError("setsockopt ICMP_FILTER", err)
	}
	return os.NewSyscallError("setsockopt SO_ATTACH_FILTER", attachFilter(s.fd, prog))
}

// setBuffer makes room for the answers of several seconds, so that they need not
// be read at once. Beyond the system's limit that takes CAP_NET_ADMIN.
func (s *socket) setBuffer(o Options) {
	n := o.Buffer
	if n <= 0 {
		n = defaultBuffer
	}
	if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, n) == nil {
		return
	}
	err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, n)
	got, gerr := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil || gerr != nil || got < n {
		o.report("receive buffer: %d of %d bytes", got, n)
	}
}

// setStamps asks for the best time stamps that the kernel gives. Send stamps come
// with a copy of the request, whose payload says which one it is: counting them, as
// SOF_TIMESTAMPING_OPT_ID does, goes wrong where a failed send is counted too.
func (s *socket) setStamps(o Options) {
	const (
		receive = unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE
		both    = receive | unix.SOF_TIMESTAMPING_TX_SOFTWARE
	)
	set := func(flags int) error {
		return unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags)
	}
	var err error
	if o.stamps < noSendStamps {
		if err = set(both); err == nil {
			s.stamps = StampsKernel
			return
		}
		o.report("no send time stamps: %w", err)
	}
	if o.stamps < noStamps {
		if err = set(receive); err == nil {
			s.stamps = StampsReceive
			return
		}
		o.report("no receive time stamps: %w", err)
	}
}

// send sends s.echo to addr. scope is the interface of a link-local address.
func (s *socket) send(addr netip.Addr, scope uint32) error {
	name, size := unsafe.Pointer(&s.to4), unsafe.Sizeof(s.to4)
	if s.v6 {
		s.to6.Addr, s.to6.Scope_id = addr.As16(), scope
		name, size = unsafe.Pointer(&s.to6), unsafe.Sizeof(s.to6)
	} else {
		s.to4.Addr = addr.As4()
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), uintptr(unsafe.Pointer(&s.echo)),
		uintptr(len(s.echo)), unix.MSG_DONTWAIT, uintptr(name), size)
	if errno != 0 {
		return errno
	}
	s.unread++
	return nil
}

func (s *socket) close() error {
	return os.NewSyscallError("close", unix.Close(s.fd))
}
