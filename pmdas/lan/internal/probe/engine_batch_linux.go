package probe

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	batchLen   = 64  // datagrams read by one system call
	dataLen    = 192 // the longest that matters: IP header, ICMP error, quoted request
	controlLen = 192
)

// message is recvmmsg's struct mmsghdr.
type message struct {
	hdr unix.Msghdr
	n   uint32
}

// batch receives many datagrams in one system call, without allocating.
type batch struct {
	msgs    [batchLen]message
	iovs    [batchLen]unix.Iovec
	from    [batchLen]unix.RawSockaddrInet6 // also large enough for IPv4
	data    [batchLen][dataLen]byte
	control [batchLen][controlLen]byte
}

func newBatch() *batch {
	b := new(batch)
	for i := range b.msgs {
		b.iovs[i].Base = &b.data[i][0]
		b.iovs[i].SetLen(dataLen)
		h := &b.msgs[i].hdr
		h.Iov = &b.iovs[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&b.from[i]))
		h.Control = &b.control[i][0]
	}
	return b
}

// receive reads what is there, at most batchLen datagrams, and returns how many;
// flags are recvmmsg's. It never waits, so it does not tell Go's scheduler either,
// which would cost more than the call. Errors are passed over:
// each is about a single datagram, or comes again with the next call.
func (b *batch) receive(fd int, flags uintptr) int {
	for i := range b.msgs {
		h := &b.msgs[i].hdr
		h.Namelen = uint32(unsafe.Sizeof(b.from[i]))
		h.SetControllen(controlLen)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd),
		uintptr(unsafe.Pointer(&b.msgs)), batchLen, flags|unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// bytes is datagram i, cut to dataLen.
func (b *batch) bytes(i int) []byte {
	return b.data[i][:min(b.msgs[i].n, dataLen)]
}

// controls is what the kernel says beside datagram i.
func (b *batch) controls(i int) controls {
	h := &b.msgs[i].hdr
	return controls(b.control[i][:min(int(h.Controllen), controlLen)])
}

// controls is a list of control messages, cmsg(3).
type controls []byte

// next takes the first message off the list.
func (c *controls) next() (level, typ int32, data []byte, ok bool) {
	if len(*c) < unix.SizeofCmsghdr {
		return 0, 0, nil, false
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&(*c)[0]))
	n := int(h.Len)
	if n < unix.CmsgLen(0) || n > len(*c) {
		return 0, 0, nil, false
	}
	level, typ, data = h.Level, h.Type, (*c)[unix.CmsgLen(0):n]
	*c = (*c)[min(unix.CmsgSpace(n-unix.CmsgLen(0)), len(*c)):]
	return level, typ, data, true
}

// read returns the software time stamp, nanoseconds on the wall clock, and the hop limit of
// an IPv6 packet. 0 stands for no stamp or no limit.
func (c controls) read() (stamp int64, hops int) {
	for {
		level, typ, data, ok := c.next()
		if !ok {
			return stamp, hops
		}
		switch {
		case level == unix.SOL_SOCKET && typ == unix.SCM_TIMESTAMPING && len(data) >= int(unsafe.Sizeof(unix.Timespec{})):
			ts := (*unix.Timespec)(unsafe.Pointer(&data[0]))
			stamp = ts.Nano()
		case level == unix.SOL_IPV6 && typ == unix.IPV6_HOPLIMIT && len(data) >= 4:
			hops = int(binary.NativeEndian.Uint32(data))
		}
	}
}
