package pmda

import (
	"io"
	"syscall"
	"unsafe"
)

// quiet is a connection that makes its system calls without telling the Go scheduler. They
// are short: the descriptor does not block, and if there is nothing to read or no room to
// write, the netpoller waits. After each rest, an ordinary system call would wake the
// runtime's monitor thread. An agent that is asked now and then would spend more on that
// thread than on its answer.
//
// One goroutine may read while another writes.
type quiet struct {
	io.Closer
	in, out transfer
}

// transfer is one direction.
type transfer struct {
	conn syscall.RawConn
	call uintptr // SYS_READ or SYS_WRITE
	try  func(fd uintptr) bool
	buf  []byte
	n    int
	err  syscall.Errno
}

// quieten makes a connection quiet if it has descriptors. It returns others as they are.
func quieten(conn io.ReadWriteCloser) io.ReadWriteCloser {
	var in, out syscall.Conn
	switch c := conn.(type) {
	case *pipe:
		in, out = c.in, c.out
	case syscall.Conn:
		in, out = c, c
	default:
		return conn
	}
	r, err1 := in.SyscallConn()
	w, err2 := out.SyscallConn()
	if err1 != nil || err2 != nil {
		return conn
	}
	q := &quiet{Closer: conn}
	q.in.init(r, syscall.SYS_READ)
	q.out.init(w, syscall.SYS_WRITE)
	widen(w)
	return q
}

// widen makes a pipe large enough for most answers, if the kernel allows it. With the usual
// 64 KiB, the two sides wake each other for each 64 KiB of an answer. With a megabyte there
// would be fewer wake-ups still, but the pipe's memory would push what the agent works on
// out of the processor's cache, which costs as much. The memory is used only while an
// answer waits in it. widen leaves a socket as it is.
func widen(c syscall.RawConn) {
	_ = c.Control(func(fd uintptr) {
		_, _, _ = syscall.RawSyscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize)
	})
}

func (t *transfer) init(c syscall.RawConn, call uintptr) {
	t.conn, t.call = c, call
	t.try = t.once // made once: a method value is an allocation
}

// once makes the call and reports whether it did anything.
func (t *transfer) once(fd uintptr) bool {
	for {
		n, _, err := syscall.RawSyscall(t.call, fd, uintptr(unsafe.Pointer(&t.buf[0])), uintptr(len(t.buf)))
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		case 0:
			t.n = int(n)
		default:
			t.n = 0
		}
		t.err = err
		return true
	}
}

func (q *quiet) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	t := &q.in
	t.buf = b
	err := t.conn.Read(t.try)
	t.buf = nil
	switch {
	case err != nil:
		return 0, err
	case t.err != 0:
		return 0, t.err
	case t.n == 0:
		return 0, io.EOF
	}
	return t.n, nil
}

func (q *quiet) Write(b []byte) (int, error) {
	t, done := &q.out, 0
	for done < len(b) {
		t.buf = b[done:]
		err := t.conn.Write(t.try)
		t.buf = nil
		if err != nil {
			return done, err
		}
		if t.err != 0 {
			return done, t.err
		}
		done += t.n
	}
	return done, nil
}

const (
	setPipeSize = 1024 + 7 // F_SETPIPE_SZ
	pipeSize    = 256 << 10
)
