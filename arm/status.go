package arm

import (
	"context"
	"errors"

	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// Status says how an execution of a transaction ended. There are three.
type Status uint32

// The ways in which a transaction ends, with the numbers of the ARM 2.0 guide.
const (
	Good    = Status(writer.Good)    // as expected
	Aborted = Status(writer.Aborted) // given up, for reasons of the system or of who asked
	Failed  = Status(writer.Failed)  // an error in the transaction itself
)

// StatusOf is Good for no error, Aborted for one of a context that was cancelled or whose
// deadline passed, and otherwise Failed.
func StatusOf(err error) Status {
	switch {
	case err == nil:
		return Good
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
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
