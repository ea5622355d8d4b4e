package armotel

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/internal/protocol"
)

// systemErrors are parts of the types of errors that the system is to blame for, in lower
// case, as instrumentation names them in several languages.
var systemErrors = []string{"timeout", "timedout", "deadline", "cancel", "net.operror", "syscall.errno", "connect", "brokenpipe", "unavailable"}

// status says how a span ended, by the rule of docs/measuring-transactions.md, "How a
// transaction ends". Whether there was an error is the program's judgement.
func status(s trace.ReadOnlySpan) arm.Status {
	if s.Status().Code != codes.Error {
		return arm.Good
	}
	aborted := false
	for _, a := range s.Attributes() {
		switch a.Key {
		case "http.response.status_code", "http.status_code":
			if code := a.Value.AsInt64(); code >= 400 {
				return protocol.HTTP(int(code))
			}
		case "rpc.grpc.status_code":
			if code := a.Value.AsInt64(); code > 0 {
				return protocol.GRPC(uint32(code))
			}
		case "db.system", "db.system.name":
			aborted = true
		default:
			aborted = aborted || system(a)
		}
	}
	for _, e := range s.Events() {
		for _, a := range e.Attributes {
			aborted = aborted || system(a)
		}
	}
	if aborted {
		return arm.Aborted
	}
	return arm.Failed
}

// system reports whether an attribute is the type of an error of the system.
func system(a attribute.KeyValue) bool {
	if a.Key != "error.type" && a.Key != "exception.type" {
		return false
	}
	kind := strings.ReplaceAll(strings.ToLower(a.Value.AsString()), "_", "")
	for _, part := range systemErrors {
		if strings.Contains(kind, part) {
			return true
		}
	}
	return false
}
