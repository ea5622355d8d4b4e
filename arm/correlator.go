package arm

import (
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// ErrCorrelator says that bytes or a text are not a correlator.
var ErrCorrelator = errors.New("arm: not a correlator")

// Correlator names an execution of a transaction to the executions that it causes, also in
// other processes and on other hosts (ARM 2.0 guide, "Transaction Correlation"). The zero
// value names no execution. Correlators can be compared.
type Correlator struct{ s string }

// CorrelatorFromBytes takes a correlator of any agent. It begins with its length in two
// bytes, in network byte order, and has at most 168 bytes. Bytes beyond its length are
// ignored.
func CorrelatorFromBytes(b []byte) (Correlator, error) {
	if len(b) < 4 {
		return Correlator{}, ErrCorrelator
	}
	n := int(binary.BigEndian.Uint16(b))
	if n < 4 || n > len(b) || n > layout.CorrelatorMax {
		return Correlator{}, ErrCorrelator
	}
	return Correlator{string(b[:n])}, nil
}

// CorrelatorFromTraceparent makes a correlator of the value of a traceparent header (W3C
// Trace Context, level 1), with the same bytes as libarm's arm_correlator_from_traceparent.
func CorrelatorFromTraceparent(s string) (Correlator, error) {
	context, ok := parseTraceparent(s)
	if !ok {
		return Correlator{}, ErrCorrelator
	}
	c := layout.Correlator{AddrFormat: layout.AddrTraceContext, Vendor: layout.Vendor, Version: layout.AgentVersion, Address: context[:]}
	var space [layout.CorrelatorMax]byte
	return Correlator{string(c.Append(space[:0]))}, nil
}

// parseTraceparent takes version, trace id, parent id and flags apart. Versions above 00
// may say more after these.
func parseTraceparent(s string) (context [25]byte, ok bool) {
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return context, false
	}
	var version [1]byte
	for _, part := range []struct {
		to   []byte
		from string
	}{{version[:], s[:2]}, {context[:16], s[3:35]}, {context[16:24], s[36:52]}, {context[24:], s[53:55]}} {
		if !lowerHex(part.to, part.from) {
			return context, false
		}
	}
	switch {
	case version[0] == 0xff || version[0] == 0 && len(s) != 55 || len(s) > 55 && s[55] != '-':
		return context, false
	case [16]byte(context[:16]) == [16]byte{} || [8]byte(context[16:24]) == [8]byte{}:
		return context, false
	}
	return context, true
}

func lowerHex(to []byte, from string) bool {
	for i := range len(from) {
		if c := from[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	var space [32]byte
	_, err := hex.Decode(to, space[:copy(space[:], from)])
	return err == nil
}

// IsZero reports whether there is no correlator.
func (c Correlator) IsZero() bool { return c.s == "" }

// Bytes returns the bytes to send to others, which begin with the length in two bytes.
func (c Correlator) Bytes() []byte { return []byte(c.s) }

// Traced reports whether the correlator asks to trace what its execution causes.
func (c Correlator) Traced() bool {
	p, ok := layout.ParseCorrelator([]byte(c.s))
	return ok && p.Flags&(layout.FlagAgentTrace|layout.FlagUserTrace) != 0
}

// Traceparent returns the value of a traceparent header. ok is false for a correlator
// that carries no trace context.
func (c Correlator) Traceparent() (header string, ok bool) {
	p, ok := layout.ParseCorrelator([]byte(c.s))
	if !ok || !p.TraceContext() {
		return "", false
	}
	b := append(make([]byte, 0, 55), "00-"...)
	b = append(hex.AppendEncode(b, p.Address[:16]), '-')
	b = append(hex.AppendEncode(b, p.Address[16:24]), '-')
	return string(hex.AppendEncode(b, p.Address[24:25])), true
}

// String returns the bytes in hexadecimal.
func (c Correlator) String() string { return hex.EncodeToString([]byte(c.s)) }
