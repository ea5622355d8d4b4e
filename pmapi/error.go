package pmapi

import (
	"errors"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
)

// Errors that an Error of this package may wrap. Others are the pcp.Error that pmcd has
// answered, context.Canceled and context.DeadlineExceeded, a *pdu.ParseError for an answer that breaks
// the protocol, and those of packages net, os and crypto/tls.
var (
	// ErrBusy: another goroutine has a request on this Conn. A Client waits instead.
	ErrBusy = errors.New("another request is under way; a Conn does one thing at a time")
	// ErrClosed: the Conn or Client has been closed, or an earlier request has broken the Conn.
	ErrClosed = errors.New("the connection is closed")
	// ErrTimeout: pmcd has not answered within Options.RequestTimeout, or the connection was not
	// made within Options.ConnectTimeout. pcp.ErrTimeout is another: there pmcd says that one of
	// its agents has not answered.
	ErrTimeout = errors.New("pmcd has not answered in time")
	// ErrProtocol: pmcd has answered something that is no answer to the request.
	ErrProtocol = errors.New("the answer does not belong to the request")
	// ErrTooLong: the request is longer than pmcd takes.
	ErrTooLong = fmt.Errorf("the request is longer than the %d bytes that pmcd takes; ask for less at a time", maxRequest)
	// ErrNotOffered: this pmcd does not have what the request needs.
	ErrNotOffered = errors.New("pmcd does not offer this")
)

// Error says which request to which pmcd has failed, and why. Unwrap returns the cause.
type Error struct {
	Op   string // what was asked for, such as "fetch"
	Host string // as given to ParseHost
	Err  error

	again bool
}

func (e *Error) Error() string { return fmt.Sprintf("pmapi: %s from %q: %v", e.Op, e.Host, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// MayRetry reports whether a request that failed with err may be sent again, on a new
// connection where this one is closed, without the risk that it is carried out twice, and
// whether it may have another outcome then. That is so if nothing of it has left, and for
// everything but a store if the connection broke or a deadline ended it. What pmcd has
// answered is final, except for pcp.ErrAgain and pcp.ErrConnLimit. It is false for errors of other packages.
func MayRetry(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.again
}

// isAnswer reports whether err is pmcd's answer, after which the connection is good.
func isAnswer(err error) bool {
	_, ok := err.(pcp.Error)
	return ok
}

// isRefusal reports whether pmcd does not want this client, or the client not this pmcd, so
// that another attempt ends like this one.
func isRefusal(err error) bool {
	var code pcp.Error
	errors.As(err, &code)
	temporary := code == pcp.ErrAgain || code == pcp.ErrConnLimit
	return code != 0 && !temporary || errors.Is(err, ErrNotOffered)
}
