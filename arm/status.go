package arm

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// Status says how an execution of a transaction ended. There are three.
type Status uint32

// The ways in which a transaction ends, with the numbers of the ARM 2.0 guide.
const (
	Good    = Status(writer.Good)    // as expected
	Aborted = Status(writer.Aborted) // the system failed, or the caller gave up
	Failed  = Status(writer.Failed)  // an error in the transaction itself
)

// systemErrors are time-outs, and errors of the network and of resources that are used up.
var systemErrors = []error{
	context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.ETIMEDOUT, driver.ErrBadConn,
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
	syscall.ENETDOWN, syscall.ENETUNREACH, syscall.ENETRESET, syscall.EHOSTDOWN, syscall.EHOSTUNREACH,
	syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO,
}

// StatusOf returns the status of an execution that ended with err, by the rule of
// docs/measuring-transactions.md, "How a transaction ends". Without an error it is Good.
// It is Aborted if the system failed: a context was cancelled, time ran out, a connection
// was refused, broke or found no way, a disk was full, or there was no more memory or no
// more files. Every other error is the program's, and the status is Failed.
func StatusOf(err error) Status {
	if err == nil {
		return Good
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() ||
		slices.ContainsFunc(systemErrors, func(system error) bool { return errors.Is(err, system) }) {
		return Aborted
	}
	return Failed
}

// String returns good, aborted or failed.
func (s Status) String() string {
	switch s {
	case Good:
		return "good"
	case Aborted:
		return "aborted"
	case Failed:
		return "failed"
	}
	return "unknown status"
}
