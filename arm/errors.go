package arm

import (
	"errors"

	"github.com/pcp-rtime/rtime/internal/armseg/writer"
)

// Errors to match with errors.Is: why an application or a transaction is not measured.
var (
	// ErrName says that a name has more than 127 bytes, or a NUL, or nothing but blanks.
	ErrName = errors.New("arm: not a name")
	// ErrDisabled says that INVOKE_ARM=false is in the environment.
	ErrDisabled = errors.New("arm: disabled by INVOKE_ARM")
	// ErrClosed says that the application was closed.
	ErrClosed = errors.New("arm: the application is closed")
	// ErrMetric says that metrics are declared that one transaction cannot have together:
	// seven numbers, two texts of 32 bytes, one twice, or a name of more than 43 bytes.
	ErrMetric = errors.New("arm: not a set of metrics")
	// ErrFull says that the user has 1,024 applications or 65,536 transactions.
	ErrFull = writer.ErrFull
)
