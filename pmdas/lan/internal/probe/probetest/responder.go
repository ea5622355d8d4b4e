//go:build linux

package probetest

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// responder reads the frames that come into the namespace and answers those that
// are echo requests. It works below IP, so it can answer from any address.
type responder struct {
	lab   *Lab
	fd    int // packet socket in the namespace
	near  unix.SockaddrLinklayer
	rnd   *rand.Rand
	queue answers
	wake  [2]int // pipe: a byte ends the responder
	done  sync.WaitGroup
}

// answer is a packet that is to leave at a time.
type answer struct {
	due     time.Time
	packet  []byte
	host    netip.Addr // that was asked
	arrived int64      // the request, wall clock
	copy    int
	spoiled bool
	isError bool
}

// answers is a heap, the next one first.
type answers []*answer

func (a answers) Len() int           { return len(a) }
func (a answers) Less(i, j int) bool { return a[i].due.Before(a[j].due) }
func (a answers) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *answers) Push(x any)        { *a = append(*a, x.(*answer)) }
func (a *answers) Pop() any {
	old := *a
	x := old[len(old)-1]
	*a = old[:len(old)-1]
	return x
}

// startResponder begins to answer in the namespace of l, to the hardware address
// of this side.
func startResponder(l *Lab, near string) (*responder, error) {
	mac, err := net.ParseMAC(near)
	if err != nil {
		return nil, err
	}
	r := &responder{lab: l, rnd: rand.New(rand.NewSource(1))}
	if r.fd, err = socketIn("/run/netns/"+l.name, &r.near); err != nil {
		return nil, err
	}
	copy(r.near.Addr[:], mac)
	r.near.Halen = uint8(len(mac))
	if err := unix.Pipe2(r.wake[:], unix.O_CLOEXEC); err != nil {
		unix.Close(r.fd)
		return nil, os.NewSyscallError("pipe2", err)
	}
	r.done.Add(1)
	go r.run()
	return r, nil
}

// socketIn opens a packet socket in a network namespace, where it stays, and puts
// the interface into to. The thread that went there ends with the goroutine.
func socketIn(path string, to *unix.SockaddrLinklayer) (int, error) {
	fd, err := -1, error(nil)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		runtime.LockOSThread()
		var ns *os.File
		if ns, err = os.Open(path); err != nil {
			return
		}
		defer ns.Close()
		if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			err = os.NewSyscallError("setns", err)
			return
		}
		fd, err = packetSocket(to)
	}()
	wg.Wait()
	return fd, err
}

func packetSocket(to *unix.SockaddrLinklayer) (int, error) {
	dev, err := net.InterfaceByName("far")
	if err != nil {
		return -1, err
	}
	to.Ifindex = dev.Index
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(bigEndian(unix.ETH_P_ALL)))
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	const stamps = unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE |
		unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_TSONLY
	err = errors.Join(
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndian(unix.ETH_P_ALL), Ifindex: dev.Index}),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamps),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20),
	)
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("packet socket: %w", err)
	}
	return fd, nil
}

func bigEndian(v uint16) uint16 { return v<<8 | v>>8 }

func (r *responder) stop() {
	unix.Write(r.wake[1], []byte{0})
	r.done.Wait()
	unix.Close(r.fd)
	unix.Close(r.wake[0])
	unix.Close(r.wake[1])
}

func (r *responder) run() {
	defer r.done.Done()
	fds := []unix.PollFd{
		{Fd: int32(r.fd), Events: unix.POLLIN},
		{Fd: int32(r.wake[0]), Events: unix.POLLIN},
	}
	for fds[1].Revents == 0 {
		var timeout *unix.Timespec
		if len(r.queue) > 0 {
			ts := unix.NsecToTimespec(max(0, int64(time.Until(r.queue[0].due))))
			timeout = &ts
		}
		unix.Ppoll(fds, timeout, nil)
		r.read()
		for len(r.queue) > 0 && !time.Now().Before(r.queue[0].due) {
			r.send(heap.Pop(&r.queue).(*answer))
		}
	}
}

// read takes in all requests that are there.
func (r *responder) read() {
	var b [2048]byte
	for {
		n, stamp, err := r.receive(b[:], 0)
		if err != nil {
			return
		}
		if stamp == 0 { // the kernel begins to stamp a moment after it is asked to
			stamp = time.Now().UnixNano()
		}
		if q, ok := parseRequest(b[:n]); ok {
			r.plan(q, stamp)
		}
	}
}

// plan queues the answers to a request that arrived at stamp, wall clock.
func (r *responder) plan(q *request, stamp int64) {
	b := r.lab.asked(q.to)
	if b.Lose {
		return
	}
	a := answer{host: q.to, arrived: stamp}
	a.due = time.Now().Add(b.Delay)
	if b.Spread > 0 {
		a.due = a.due.Add(time.Duration(r.rnd.Int63n(int64(b.Spread))))
	}
	if b.Error != nil {
		a.isError, a.packet = true, q.problem(b.Error)
	} else {
		a.spoiled, a.packet = b.Spoil != Good, q.reply(b.Spoil, b.TTL)
	}
	for i := range 1 + b.Duplicates {
		c := a
		c.copy = i
		c.due = a.due.Add(time.Duration(i) * b.Gap)
		if c.due.After(time.Now()) {
			heap.Push(&r.queue, &c)
		} else {
			r.send(&c)
		}
	}
}

// send lets an answer go and learns from the kernel when it left. Without a stamp the
// delay is counted up to a moment before, so that it is not too long.
func (r *responder) send(a *answer) {
	to := r.near
	to.Protocol = bigEndian(unix.ETH_P_IP)
	if a.packet[0]>>4 == 6 {
		to.Protocol = bigEndian(unix.ETH_P_IPV6)
	}
	// The stamp is there when the call returns: a veth pair has no queue.
	before := time.Now().UnixNano()
	if unix.Sendto(r.fd, a.packet, 0, &to) != nil {
		return
	}
	var b [1]byte
	_, left, err := r.receive(b[:], unix.MSG_ERRQUEUE)
	if err != nil || left == 0 {
		left = before
	}
	r.lab.sent(a, time.Duration(left-a.arrived))
}

// receive reads one datagram or, from the error queue, one send stamp.
func (r *responder) receive(b []byte, flags int) (n int, stamp int64, err error) {
	var oob [256]byte
	n, oobn, _, _, err := unix.Recvmsg(r.fd, b, oob[:], flags|unix.MSG_DONTWAIT)
	if err != nil {
		return 0, 0, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return 0, 0, err
	}
	for _, m := range msgs {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPING {
			stamp = (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano()
		}
	}
	return n, stamp, nil
}
