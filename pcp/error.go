package pcp

import (
	"fmt"
	"syscall"
)

// Error is an error code of PCP as it stands on the wire: one of the PM_ERR_*
// numbers (pmerr(1) lists them) or the negative of an errno. Compare with
// errors.Is.
type Error int32

// The codes an agent or its clients meet, with PCP's numbers.
const (
	ErrGeneric      Error = -12345
	ErrPMNS         Error = -12346
	ErrText         Error = -12349 // no help text
	ErrAppVersion   Error = -12350
	ErrValue        Error = -12351 // no value at the moment
	ErrTimeout      Error = -12353 // never an agent's answer: pmcd drops it
	ErrReset        Error = -12355
	ErrName         Error = -12357 // unknown metric name
	ErrPMID         Error = -12358 // unknown metric
	ErrInDom        Error = -12359 // unknown instance domain
	ErrInst         Error = -12360 // unknown instance
	ErrUnit         Error = -12361
	ErrConv         Error = -12362
	ErrTrunc        Error = -12363
	ErrSign         Error = -12364
	ErrProfile      Error = -12365
	ErrIPC          Error = -12366 // never an agent's answer: pmcd drops it
	ErrEOF          Error = -12368
	ErrNoProfile    Error = -12381
	ErrNoAgent      Error = -12386
	ErrPermission   Error = -12387
	ErrConnLimit    Error = -12388 // pmcd to client: too many connections from its host
	ErrAgain        Error = -12389 // not at the moment, try again
	ErrNotConn      Error = -12391 // pmcd to agent: this client is gone
	ErrNonLeaf      Error = -12394
	ErrType         Error = -12397
	ErrNoContainer  Error = -12399
	ErrBadStore     Error = -12400
	ErrClientCert   Error = -12408 // pmcd wants a client's certificate
	ErrNoLabels     Error = -12410
	ErrPMDAFenced   Error = -12411
	ErrTooSmall     Error = -12443
	ErrTooBig       Error = -12444
	ErrPMDAReady    Error = -13393 // agent to pmcd: ready from now on
	ErrPMDANotReady Error = -13394 // agent to pmcd: not ready until further notice
	ErrNYI          Error = -21344
)

// ErrnoError is the code for an error number of the operating system.
func ErrnoError(e syscall.Errno) Error { return Error(-int32(e)) }

var errorText = map[Error]string{
	ErrGeneric:      "Generic error, already reported above",
	ErrPMNS:         "Problems parsing PMNS definitions",
	ErrText:         "One-line or help text is not available",
	ErrAppVersion:   "Metric not supported by this version of monitored application",
	ErrValue:        "Missing metric value(s)",
	ErrTimeout:      "Timeout waiting for a response from PMCD",
	ErrReset:        "PMCD reset or configuration change",
	ErrName:         "Unknown metric name",
	ErrPMID:         "Unknown or illegal metric identifier",
	ErrInDom:        "Unknown or illegal instance domain identifier",
	ErrInst:         "Unknown or illegal instance identifier",
	ErrUnit:         "Illegal pmUnits specification",
	ErrConv:         "Impossible value or scale conversion",
	ErrTrunc:        "Truncation in value conversion",
	ErrSign:         "Negative value in conversion to unsigned",
	ErrProfile:      "Explicit instance identifier(s) required",
	ErrIPC:          "IPC protocol failure",
	ErrEOF:          "IPC channel closed",
	ErrNoProfile:    "Missing profile - protocol botch",
	ErrNoAgent:      "No PMCD agent for domain of request",
	ErrPermission:   "No permission to perform requested operation",
	ErrConnLimit:    "PMCD connection limit for this host exceeded",
	ErrAgain:        "Try again. Information not currently available",
	ErrNotConn:      "Not Connected",
	ErrNonLeaf:      "Metric name is not a leaf in PMNS",
	ErrType:         "Unknown or illegal metric type",
	ErrNoContainer:  "Container not found",
	ErrBadStore:     "Bad input to pmstore",
	ErrClientCert:   "PMCD requires a client certificate",
	ErrNoLabels:     "No support for metric label metadata",
	ErrPMDAFenced:   "PMDA is currently fenced and unable to respond to requests",
	ErrTooSmall:     "Insufficient elements in list",
	ErrTooBig:       "Result size exceeded",
	ErrPMDAReady:    "PMDA is now responsive to requests",
	ErrPMDANotReady: "PMDA is not yet ready to respond to requests",
	ErrNYI:          "Functionality not yet implemented",
}

// Error returns the text that pmErrStr(3) gives.
func (e Error) Error() string {
	if s, ok := errorText[e]; ok {
		return s
	}
	if e < 0 && e > -1000 {
		return syscall.Errno(-e).Error()
	}
	return fmt.Sprintf("PCP error %d", int32(e))
}
