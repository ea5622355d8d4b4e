package layout

import (
	"encoding/binary"
)

// What this library puts into its correlators (ARM 2.0 guide, appendix).
const (
	CorrelatorFormat = 1
	Vendor           = 41377
	AgentVersion     = 2
	AddrTraceContext = 41377 // a W3C trace context: trace id, parent id, flags

	FlagAgentTrace = 0x80 // flags of a correlator: a trace is asked for by the agent
	FlagUserTrace  = 0x40 // or by the application

	correlatorHead  = 22 // bytes before the address
	TraceContextLen = 25
)

// Formats of addresses in correlators, as the ARM 2.0 guide's appendix numbers them.
const (
	AddrIPv4Port = 2
	AddrIPv6Port = 4
)

// Correlator is a correlator taken apart.
type Correlator struct {
	Flags      byte
	AddrFormat uint16
	Vendor     uint16
	Version    uint16
	Instance   uint16
	Handle     uint32
	Class      uint32
	Address    []byte // part of what was parsed
}

// ParseCorrelator takes a correlator apart. ok is false if the bytes are not one of
// format 1. Bytes beyond the correlator's length are ignored.
func ParseCorrelator(b []byte) (c Correlator, ok bool) {
	if len(b) < correlatorHead || b[2] != CorrelatorFormat {
		return c, false
	}
	be := binary.BigEndian
	length, addr := int(be.Uint16(b)), int(be.Uint16(b[20:]))
	if length > len(b) || length > CorrelatorMax || length < correlatorHead+addr {
		return c, false
	}
	return Correlator{
		Flags: b[3], AddrFormat: be.Uint16(b[4:]), Vendor: be.Uint16(b[6:]), Version: be.Uint16(b[8:]),
		Instance: be.Uint16(b[10:]), Handle: be.Uint32(b[12:]), Class: be.Uint32(b[16:]),
		Address: b[correlatorHead : correlatorHead+addr],
	}, true
}

// Append appends the correlator's bytes to b. Its address has at most 146 bytes.
func (c *Correlator) Append(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint16(b, uint16(correlatorHead+len(c.Address)))
	b = append(b, CorrelatorFormat, c.Flags)
	b = be.AppendUint16(b, c.AddrFormat)
	b = be.AppendUint16(b, c.Vendor)
	b = be.AppendUint16(b, c.Version)
	b = be.AppendUint16(b, c.Instance)
	b = be.AppendUint32(b, c.Handle)
	b = be.AppendUint32(b, c.Class)
	b = be.AppendUint16(b, uint16(len(c.Address)))
	return append(b, c.Address...)
}

// TraceContext reports whether the correlator carries a W3C trace context.
func (c *Correlator) TraceContext() bool {
	return c.Vendor == Vendor && c.AddrFormat == AddrTraceContext && len(c.Address) == TraceContextLen
}
