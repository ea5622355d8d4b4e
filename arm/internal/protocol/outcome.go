// Package protocol is what the packages that measure a protocol do alike, so that all of
// them say the same: how a transaction ended that the protocol gave a number, by the rule
// of docs/measuring-transactions.md, "How a transaction ends"; how long names are kept
// apart; and how a trace goes on.
package protocol

import "github.com/pcp-rtime/rtime/arm"

// HTTP is the outcome of a response with this status code (RFC 9110).
func HTTP(code int) arm.Status {
	switch {
	case code == 502 || code == 503 || code == 504: // who should have answered did not, or in no time
		return arm.Aborted
	case code >= 500:
		return arm.Failed
	}
	return arm.Good
}

// gRPC's status codes, as its specification numbers them.
const (
	grpcCanceled          = 1
	grpcUnknown           = 2
	grpcDeadlineExceeded  = 4
	grpcResourceExhausted = 8
	grpcAborted           = 10
	grpcUnimplemented     = 12
	grpcInternal          = 13
	grpcUnavailable       = 14
	grpcDataLoss          = 15
	grpcLast              = 16
)

// GRPC is the outcome of a call with this status code of gRPC.
func GRPC(code uint32) arm.Status {
	switch code {
	case grpcCanceled, grpcDeadlineExceeded, grpcResourceExhausted, grpcAborted, grpcUnavailable:
		return arm.Aborted
	case grpcUnknown, grpcUnimplemented, grpcInternal, grpcDataLoss:
		return arm.Failed
	}
	if code > grpcLast {
		return arm.Failed // the client has to take it for Unknown
	}
	return arm.Good
}
