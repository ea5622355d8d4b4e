package pmapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// maxRequest is the length of the longest message that pmcd takes from a client, unless pmcd's
// option -L sets another limit.
const maxRequest = 64 << 10

// Conn is a connection to a pmcd. It does one thing at a time: a request while another is
// under way fails with ErrBusy. If it is uncertain what comes next on the connection, the Conn
// closes it for good, and later requests fail with ErrClosed. This happens when the connection
// breaks, when pmcd breaks the protocol, and when a context or a time-out ends a request whose
// answer is still to come. A Client then makes a new Conn.
//
// Any goroutine may call Close at any time.
type Conn struct {
	requests
	host Host
	opts Options

	raw      net.Conn // the socket; deadlines are set on it
	rw       io.ReadWriter
	secured  bool // the connection uses TLS
	r        *pdu.Reader
	features uint16
	changes  Changes

	busy   atomic.Bool
	closed atomic.Bool
	broken error // why the connection was closed; owned by the goroutine that is busy

	out     []byte // the request
	profile []byte // the profile message that pmcd has
}

// exchange is a request and the handling of its answer.
type exchange interface {
	// name says what is asked for. Errors contain it.
	name() string
	// append appends the request to b.
	append(c *Conn, b []byte) ([]byte, error)
	// take takes one message of the answer and reports whether it was the last. If the error
	// is a pcp.Error, it is pmcd's answer; after any other error the connection is closed.
	take(c *Conn, b []byte) (done bool, err error)
	// repeatable reports whether the request may be carried out twice without harm.
	repeatable() bool
}

// exchanger carries out requests: a Conn or a Client.
type exchanger interface {
	exchange(ctx context.Context, x exchange) error
}

// requests holds the methods that Conn and Client share.
type requests struct{ via exchanger }

// Dial connects to the pmcd of a host. The host has the notation of ParseHost; "" means
// "local:". The context and Options.ConnectTimeout limit how long this takes.
func Dial(ctx context.Context, host string, o *Options) (*Conn, error) {
	h, err := ParseHost(host)
	if err != nil {
		return nil, err
	}
	return dial(ctx, h, o.resolve())
}

func dial(ctx context.Context, h Host, o Options) (*Conn, error) {
	limited, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	var failed error
	refused := false
	for _, t := range h.targets() {
		c, err := dialTarget(limited, h, o, t)
		if err == nil {
			return c, nil
		}
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case limited.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
			err = ErrTimeout
		}
		refused = isRefusal(err)
		over := refused || err == ErrTimeout || ctx.Err() != nil
		if failed != nil {
			err = fmt.Errorf("%w; %w", failed, err)
		}
		if failed = err; over {
			break
		}
	}
	return nil, &Error{Op: "connection", Host: h.String(), Err: failed, again: !refused}
}

func dialTarget(ctx context.Context, h Host, o Options, t target) (*Conn, error) {
	raw, err := o.Dial(ctx, t.network, t.address)
	for pause := time.Millisecond; errors.Is(err, syscall.EAGAIN) && ctx.Err() == nil; pause = min(2*pause, 50*time.Millisecond) {
		// The socket's queue is full, because pmcd is busy. With TCP the kernel would wait.
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		raw, err = o.Dial(ctx, t.network, t.address)
	}
	if err != nil {
		return nil, err
	}
	c := &Conn{host: h, opts: o, raw: raw, rw: raw}
	c.via = c
	release := c.limit(ctx, o.ConnectTimeout)
	if err = c.greet(ctx, t); err == nil {
		release()
		return c, nil
	}
	release()
	raw.Close()
	return nil, err
}

// longAgo is a deadline in the past.
var longAgo = time.Unix(1, 0)

// limit sets limits for what is read and written from now on: d, and the context. The caller
// must call release before it uses the connection for anything else.
func (c *Conn) limit(ctx context.Context, d time.Duration) (release func()) {
	_ = c.raw.SetDeadline(time.Now().Add(d)) // an error shows at the next use
	if ctx.Done() == nil {
		return nothing
	}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.raw.SetDeadline(longAgo)
		close(over)
	})
	return func() {
		if !stop() {
			<-over // otherwise the deadline could end the next request
		}
	}
}

func nothing() {}

// Close closes the connection. A request that is under way fails with ErrClosed.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	return c.raw.Close()
}

// Host returns the host that the connection was made to.
func (c *Conn) Host() Host { return c.host }

// Features returns the pcp.Feature... bits that pmcd has offered.
func (c *Conn) Features() uint16 { return c.features }

// exchange carries out a request.
func (c *Conn) exchange(ctx context.Context, x exchange) error {
	if !c.busy.CompareAndSwap(false, true) {
		return c.fail(x, ErrBusy, true)
	}
	defer c.busy.Store(false)
	switch {
	case ctx.Err() != nil:
		return c.fail(x, ctx.Err(), true)
	case c.broken != nil:
		return c.fail(x, fmt.Errorf("%w: %w", ErrClosed, c.broken), true)
	case c.closed.Load():
		return c.fail(x, ErrClosed, true)
	case c.r.Buffered() > 0:
		// Bytes that nobody has asked for would be taken for the answer.
		return c.breakOff(x, fmt.Errorf("%w: it has come before it", ErrProtocol), true)
	}
	out, err := x.append(c, c.out[:0])
	if err != nil {
		return c.fail(x, err, false)
	}
	c.out = out
	release := c.limit(ctx, c.opts.RequestTimeout)
	sent, err := c.talk(x)
	release()
	switch {
	case err == nil:
		return nil
	case isAnswer(err):
		return c.fail(x, err, err == pcp.ErrAgain && x.repeatable())
	case ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded):
		err = ctx.Err()
	case c.closed.Load():
		err = ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = ErrTimeout
	case err == io.EOF:
		err = fmt.Errorf("pmcd has closed the connection: %w", io.ErrUnexpectedEOF)
	}
	return c.breakOff(x, err, !sent || x.repeatable())
}

// talk sends c.out and reads the answer. sent is false if nothing was sent.
func (c *Conn) talk(x exchange) (sent bool, err error) {
	if sent, err := c.write(); err != nil {
		return sent, err
	}
	for {
		b, err := c.r.Next()
		if err != nil {
			return true, err
		}
		if done, err := x.take(c, b); done || err != nil {
			return true, err
		}
	}
}

// write sends c.out. sent is false if nothing was sent.
func (c *Conn) write() (sent bool, err error) {
	if !c.secured {
		n, err := c.rw.Write(c.out)
		return n > 0, err
	}
	// Over TLS pmcd does not see a second message in the same record until it gets another.
	for b := c.out; len(b) > 0; {
		h, err := pdu.ParseHeader(b)
		if err != nil {
			return sent, err
		}
		n, err := c.rw.Write(b[:h.Len])
		if sent = sent || n > 0; err != nil {
			return sent, err
		}
		b = b[h.Len:]
	}
	return true, nil
}

// breakOff closes the connection because of err.
func (c *Conn) breakOff(x exchange, err error, again bool) error {
	c.broken = err
	c.Close()
	return c.fail(x, err, again)
}

func (c *Conn) fail(x exchange, err error, again bool) error {
	return &Error{Op: x.name(), Host: c.host.String(), Err: err, again: again}
}

// refusal returns the code of an ERROR, or 0 for another message. Codes above 0 are notices.
func refusal(b []byte) (code pcp.Error, err error) {
	if h, err := pdu.ParseHeader(b); err != nil || h.Type != pdu.TypeError {
		return 0, err
	}
	var e pdu.Error
	if err := e.Parse(b); err != nil {
		return 0, err
	}
	if e.Code == 0 {
		return 0, fmt.Errorf("%w: it is an error without a code", ErrProtocol)
	}
	return e.Code, nil
}

// query is a request with one answer.
type query struct {
	op              string
	needs           uint16 // features of pmcd
	request, answer pdu.PDU
	check           func() error // checks the answer; may be nil
}

func (q *query) name() string     { return q.op }
func (q *query) repeatable() bool { return true }

func (q *query) append(c *Conn, b []byte) ([]byte, error) {
	if c.features&q.needs != q.needs {
		return b, ErrNotOffered
	}
	if q.request.Length() > maxRequest {
		return b, ErrTooLong
	}
	return q.request.Append(b, 0), nil
}

// otherThanAnswer reports whether b is not the answer itself. An error ends the request; a note
// of changes does not.
func (c *Conn) otherThanAnswer(b []byte) (other, done bool, err error) {
	code, err := refusal(b)
	switch {
	case err != nil:
		return true, false, err
	case code > 0:
		c.changes.note(uint32(code))
		return true, false, nil
	case code < 0:
		return true, true, code
	}
	return false, false, nil
}

func (q *query) take(c *Conn, b []byte) (bool, error) {
	if other, done, err := c.otherThanAnswer(b); other {
		return done, err
	}
	if err := q.answer.Parse(b); err != nil || q.check == nil {
		return true, err
	}
	return true, q.check()
}

func (r requests) ask(ctx context.Context, op string, request, answer pdu.PDU) error {
	return r.via.exchange(ctx, &query{op: op, request: request, answer: answer})
}
