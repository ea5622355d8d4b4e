// Package pipe speaks to an agent over a pipe, as pmcd does. Benchmarks measure through it,
// so it does as little work of its own as it can.
package pipe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Conn is an agent that runs, and the pipe to it. Requests are written and answers
// read with blocking system calls by the calling thread, as pmcd does.
type Conn struct {
	PID     int
	in, out int // the agent's standard input and output, our ends
	buf     []byte
}

// Start runs an agent in a folder, where its standard error is added to the file
// stderr, and shakes hands with it. The agent inherits the processors that the calling
// thread may use; env is added to the environment.
func Start(argv, env []string, dir string) (*Conn, error) {
	var in, out [2]int
	if err := syscall.Pipe2(in[:], syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	if err := syscall.Pipe2(out[:], syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	errs, err := os.OpenFile(filepath.Join(dir, "stderr"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer errs.Close()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir: dir, Env: append(os.Environ(), env...),
		Files: []uintptr{uintptr(in[0]), uintptr(out[1]), errs.Fd()},
	})
	syscall.Close(in[0])
	syscall.Close(out[1])
	c := &Conn{PID: pid, in: in[1], out: out[0], buf: make([]byte, 4<<20)}
	if err != nil {
		syscall.Close(c.in)
		syscall.Close(c.out)
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	if err := c.handshake(); err != nil {
		c.Stop()
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	return c, nil
}

// handshake takes the agent's credentials, answers them, and asks for all instances.
func (c *Conn) handshake() error {
	b, err := c.read()
	if err != nil {
		return err
	}
	var theirs pdu.Creds
	if err := theirs.Parse(b); err != nil {
		return err
	}
	ours := pdu.Creds{Version: 2, Flags: theirs.Flags & pcp.FeatureAuth}
	if err := c.write(ours.Append(nil, int32(os.Getpid()))); err != nil {
		return err
	}
	return c.Profile(&pdu.Profile{})
}

// Profile sends a profile; it has no answer.
func (c *Conn) Profile(p *pdu.Profile) error { return c.write(p.Append(nil, 0)) }

// Fetch sends a request that was encoded before and returns the answer, which is valid
// until the next call.
func (c *Conn) Fetch(request []byte) ([]byte, error) {
	if err := c.write(request); err != nil {
		return nil, err
	}
	b, err := c.read()
	if err != nil {
		return nil, err
	}
	if t := pdu.Type(binary.BigEndian.Uint32(b[4:])); t != pdu.TypeResult {
		return nil, fmt.Errorf("%v in answer to FETCH", t)
	}
	return b, nil
}

// Store sets one value in situ.
func (c *Conn) Store(pmid pcp.PMID, v int32) error {
	var e pdu.Error
	err := c.Exchange(&pdu.Result{Sets: []pdu.ValueSet{{PMID: pmid,
		Values: []pdu.InstValue{{Inst: pcp.InstNull, Value: pcp.Num(v)}}}}}, &e)
	if err != nil {
		return err
	}
	if e.Code != 0 {
		return fmt.Errorf("store: %w", e.Code)
	}
	return nil
}

// Exchange sends a request and reads its answer. It returns an error if the answer is an
// ERROR or of another type than asked for.
func (c *Conn) Exchange(ask, answer pdu.PDU) error {
	if err := c.write(ask.Append(nil, 0)); err != nil {
		return err
	}
	b, err := c.read()
	if err != nil {
		return err
	}
	var e pdu.Error
	if answer.Type() != pdu.TypeError && e.Parse(b) == nil {
		return e.Code
	}
	return answer.Parse(b)
}

func (c *Conn) write(b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(c.in, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// read reads one whole PDU.
func (c *Conn) read() ([]byte, error) {
	have, want := 0, pdu.HeaderLen
	for have < want {
		n, err := syscall.Read(c.out, c.buf[have:])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.ErrUnexpectedEOF
		}
		have += n
		if have >= pdu.HeaderLen {
			want = int(binary.BigEndian.Uint32(c.buf))
			if want < pdu.HeaderLen || want > len(c.buf) {
				return nil, fmt.Errorf("PDU of %d bytes", want)
			}
		}
	}
	if have > want {
		return nil, errors.New("more than one PDU in answer to a request")
	}
	return c.buf[:have], nil
}

// Stop closes the pipe, which ends an agent, and waits for it.
func (c *Conn) Stop() {
	syscall.Close(c.in)
	syscall.Close(c.out)
	if !c.waitFor(2000) {
		syscall.Kill(c.PID, syscall.SIGKILL)
		_, _ = syscall.Wait4(c.PID, nil, 0, nil)
	}
}

// waitFor reaps the agent if it ends within so many milliseconds.
func (c *Conn) waitFor(ms int) bool {
	for ; ms > 0; ms-- {
		pid, err := syscall.Wait4(c.PID, nil, syscall.WNOHANG, nil)
		if pid == c.PID || err != nil && err != syscall.EINTR {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
