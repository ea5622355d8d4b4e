package pmapi

import (
	"errors"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
)

// Errors that an Error of this package may wrap. It may also wrap the pcp.Error that pmcd has
// answered, context.Canceled, context.DeadlineExceeded, a *pdu.ParseError for an answer that
// breaks the protocol, and errors of packages net, os and crypto/tls.
var (
	// ErrBusy: another goroutine has a request on this Conn. A Client waits instead.
	ErrBusy = errors.New("another request is under way; a Conn does one thing at a time")
	// ErrClosed: the Conn or Client has been closed, or an earlier request has broken the Conn.
	ErrClosed = errors.New("the connection is closed")
	// ErrTimeout: pmcd has not answered within Options.RequestTimeout, or the connection was
	// not made within Options.ConnectTimeout. pcp.ErrTimeout is a different error: with it pmcd
	// says that one of its agents has not answered.
	ErrTimeout = errors.New("pmcd has not answered in time")
	// ErrProtocol: what pmcd has sent is not an answer to the request.
	ErrProtocol = errors.New("the answer does not belong to the request")
	// ErrTooLong: the request is longer than pmcd takes.
	ErrTooLong = fmt.Errorf("the request is longer than the %d bytes that pmcd takes; ask for less at a time", maxRequest)
	// ErrNotOffered: this pmcd does not support the request.
	ErrNotOffered = errors.New("pmcd does not offer this")
)

// Error says which request to which pmcd has failed, and why.
type Error struct {
	Op   string // the request, such as "fetch"
	Host string // as given to ParseHost
	Err  error

	again bool
}

func (e *Error) Error() string { return fmt.Sprintf("pmapi: %s from %q: %v", e.Op, e.Host, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// MayRetry reports whether a request that failed with err may be sent again, on a new
// connection if this one is closed. It is true only if the request cannot be carried out twice
// and a second attempt may have a different result. That is so if nothing of the request was
// sent. For all requests except a store, it is also so if the connection broke or a deadline
// ended the request. An answer of pmcd is final, except for pcp.ErrAgain and pcp.ErrConnLimit.
// MayRetry is false for errors of other packages.
func MayRetry(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.again
}

// isAnswer reports whether err is an answer of pmcd. The connection is good after that.
func isAnswer(err error) bool {
	_, ok := err.(pcp.Error)
	return ok
}

// isRefusal reports whether pmcd refuses this client, or the client refuses this pmcd, so that
// another attempt would end in the same way.
func isRefusal(err error) bool {
	var code pcp.Error
	errors.As(err, &code)
	temporary := code == pcp.ErrAgain || code == pcp.ErrConnLimit
	return code != 0 && !temporary || errors.Is(err, ErrNotOffered)
}
