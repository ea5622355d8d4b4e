package pmda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Listener waits for pmcd on a socket, one connection after the other, for as long
// as the agent runs. So pmcd can be stopped and started again. pmcd removes the path of a
// unix socket when it drops an agent, even if a new socket has that path by then. So the
// Listener checks the path while pmcd is not connected, and makes it again.
type Listener struct {
	network, address string
	uid, gid         int // owner of a unix socket

	mu     sync.Mutex
	l      net.Listener
	made   os.FileInfo // the unix socket's path when it was made
	closed bool
}

// pathCheck is how often the path of a unix socket is looked at while pmcd is away. A pmcd
// that is restarted removes the path, connects again at once, and tries only once. So at
// first the path is checked more often.
const (
	pathCheck  = 500 * time.Millisecond
	quickCheck = 10 * time.Millisecond
	quickTime  = 3 * time.Second
)

// ListenUnix makes a socket in the file system that its owner and group may use: pmcd runs
// as uid. An old socket at the path is replaced if nobody listens on it.
func ListenUnix(path string, uid, gid int) (*Listener, error) {
	l := &Listener{network: "unix", address: path, uid: uid, gid: gid}
	return l, l.bind()
}

// ListenInet makes a socket on a port of a loopback address.
func ListenInet(host string, port int) (*Listener, error) {
	l := &Listener{network: "tcp", address: net.JoinHostPort(host, strconv.Itoa(port))}
	return l, l.bind()
}

// Addr returns the address that pmcd has to connect to.
func (l *Listener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.l.Addr()
}

// Close ends the waiting, and with it Server.Listen.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.l == nil {
		return nil
	}
	return l.l.Close()
}

// bind makes the socket, or makes it again.
func (l *Listener) bind() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	if l.l != nil {
		l.l.Close()
	}
	if l.network == "unix" {
		if err := l.clear(); err != nil {
			return err
		}
	}
	n, err := net.Listen(l.network, l.address)
	if err != nil {
		return err
	}
	l.l = n
	if l.network != "unix" {
		return nil
	}
	n.(*net.UnixListener).SetUnlinkOnClose(false) // by then the path may be that of another program's socket
	if err := os.Chmod(l.address, 0o660); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(l.address, l.uid, l.gid); err != nil {
			return err
		}
	}
	l.made, err = os.Lstat(l.address)
	return err
}

// clear removes a socket that nobody listens on.
func (l *Listener) clear() error {
	info, err := os.Lstat(l.address)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s exists and is not a socket: remove it, or choose another path", l.address)
	}
	c, err := net.Dial("unix", l.address)
	switch {
	case err == nil:
		c.Close()
		return fmt.Errorf("%s: another program listens there: %w", l.address, syscall.EADDRINUSE)
	case errors.Is(err, syscall.ECONNREFUSED): // nobody listens
		return os.Remove(l.address)
	case errors.Is(err, os.ErrNotExist): // gone by now
		return nil
	}
	return err
}

// present reports whether the path still leads to the socket.
func (l *Listener) present() bool {
	if l.network != "unix" {
		return true
	}
	info, err := os.Lstat(l.address)
	l.mu.Lock()
	defer l.mu.Unlock()
	return err == nil && os.SameFile(info, l.made)
}

// accept waits for a connection and keeps the path alive meanwhile.
func (l *Listener) accept() (net.Conn, error) {
	for began := time.Now(); ; {
		check := pathCheck
		if time.Since(began) < quickTime {
			check = quickCheck
		}
		if !l.present() {
			if err := l.bind(); err != nil {
				if !retry(err) {
					return nil, err
				}
				time.Sleep(check)
				continue
			}
		}
		l.mu.Lock()
		n := l.l
		l.mu.Unlock()
		if u, ok := n.(*net.UnixListener); ok {
			u.SetDeadline(time.Now().Add(check))
		}
		c, err := n.Accept()
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
	}
}

// retry reports whether making a socket may succeed later: pmcd may be about to remove the
// path, or the machine has just been started and the folder is not there yet.
func retry(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, os.ErrExist)
}

// Listen answers pmcd on one connection after the other until Stop is called or the
// listener fails or is closed.
func (s *Server) Listen(l *Listener) error {
	var end error
	over := make(chan struct{}) // no goroutine serves any more
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					end = err
				}
				s.Stop()
				return
			}
			s.serveOne(c, over)
		}
	}()
	s.run()
	close(over)
	l.Close()
	<-done
	if l.network == "unix" && l.present() {
		os.Remove(l.address)
	}
	return end
}

// serveOne has one connection served and returns when it has ended, or when over says
// that nobody serves it any more.
func (s *Server) serveOne(c net.Conn, over <-chan struct{}) {
	if !trusted(c) {
		s.complaints.Printf(-1, "%v is not pmcd: closing the connection", c.RemoteAddr())
		c.Close()
		return
	}
	ended := make(chan struct{})
	s.log.Printf("pmcd connected")
	s.attach(c, func(err error) {
		s.log.Printf("pmcd disconnected: %v", err)
		close(ended)
	})
	select {
	case <-ended:
	case <-over:
		c.Close()
	}
}

// trusted reports whether the peer is pmcd, and so may say who its clients are. Anybody can
// connect to a port of the loopback address, but pmcd runs as root, as PCP's user or as the
// agent's own. A peer on a unix socket had the permission to connect.
func trusted(c net.Conn) bool {
	far, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return true
	}
	near, ok := c.LocalAddr().(*net.TCPAddr)
	if !ok {
		return false
	}
	uid, ok := tcpOwner(far, near)
	if uid == 0 || uid == os.Geteuid() {
		return ok
	}
	pmcd, err := user.Lookup(pcpUser())
	return ok && err == nil && pmcd.Uid == strconv.Itoa(uid)
}

// tcpOwner finds the user that owns the far end of a TCP connection within this machine, in
// the kernel's table; see proc(5). Both addresses have to match, because sockets of several
// users may share a local port. The far end has to be established and held by a process.
// One that was closed while what it sent was still to be read belongs to root according to
// some kernels.
func tcpOwner(far, near *net.TCPAddr) (uid int, ok bool) {
	farIP, nearIP := far.IP.To4(), near.IP.To4()
	table := "/proc/net/tcp"
	if farIP == nil || nearIP == nil {
		farIP, nearIP, table = far.IP, near.IP, "/proc/net/tcp6"
	}
	text, err := os.ReadFile(table)
	if err != nil {
		return 0, false
	}
	const established = "01"
	from, to := procAddr(farIP, far.Port), procAddr(nearIP, near.Port)
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) > 9 && f[1] == from && f[2] == to && f[3] == established && f[9] != "0" {
			uid, err := strconv.Atoi(f[7])
			return uid, err == nil
		}
	}
	return 0, false
}

// procAddr writes an address as the kernel's table does: words of the machine's own
// byte order in hexadecimal.
func procAddr(ip net.IP, port int) string {
	var b strings.Builder
	for i := 0; i < len(ip); i += 4 {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(ip[i:]))
	}
	return fmt.Sprintf("%s:%04X", b.String(), port)
}
