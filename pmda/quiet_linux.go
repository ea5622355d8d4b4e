package pmda

import (
	"io"
	"syscall"
	"unsafe"
)

// quiet is a connection whose system calls the Go scheduler is not told of. They are
// short: the descriptor does not block, and where there is nothing to read or no
// room to write, the netpoller waits. What is saved is the runtime's monitor, which
// an ordinary system call wakes after each rest, with its futexes and its naps; an
// agent that is asked now and then spends more on those than on its answer.
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

// quieten makes a connection quiet if it is over descriptors, and returns others as
// they are.
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

// widen has a pipe take most answers whole, where the kernel grants it: with its usual 64
// KiB, the two sides wake each other for each 64 KiB of an answer. A pipe that takes a
// megabyte saves some more of that, and loses it again, as its memory then pushes what the
// agent works on out of the processor's cache. It is used only while an answer waits in
// it. A socket is left as it is.
func widen(c syscall.RawConn) {
	_ = c.Control(func(fd uintptr) {
		_, _, _ = syscall.RawSyscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize)
	})
}

func (t *transfer) init(c syscall.RawConn, call uintptr) {
	t.conn, t.call = c, call
	t.try = t.once // made once: a method value is an allocation
}

// once makes the call and reports whether it got anywhere.
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
