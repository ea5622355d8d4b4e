package armseg

import (
	"encoding/binary"
	"math/rand/v2"
)

// What correlators of this library say of it (ARM 2.0 guide, appendix).
const (
	CorrelatorFormat = 1
	Vendor           = 41377
	AgentVersion     = 2
	AddrTraceContext = 41377 // a W3C trace context: trace id, parent id, flags

	FlagAgentTrace = 0x80 // flags of a correlator: a trace is asked for by the agent
	FlagUserTrace  = 0x40 // or by the application

	correlatorHead  = 22 // bytes before the address
	traceContextLen = 25
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

// ParseCorrelator takes a correlator apart. ok is false for what is none of format 1.
// What follows after its length is left alone.
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

// Append appends the correlator's bytes; its address has 146 at most.
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
	return c.Vendor == Vendor && c.AddrFormat == AddrTraceContext && len(c.Address) == traceContextLen
}

// own makes the correlator of an execution that begins now: with its parent's trace
// context and an id of its own in it, or with this host's address.
func (w *Writer) own(parent *Correlator, flags byte, handle, tran uint32, b []byte) []byte {
	c := Correlator{
		Flags: flags, Vendor: Vendor, Version: AgentVersion, Instance: uint16(get32(w.base, ProcUID)),
		Handle: handle, Class: tran,
	}
	var context [traceContextLen]byte
	if parent.TraceContext() {
		c.AddrFormat = AddrTraceContext
		copy(context[:], parent.Address)
		binary.BigEndian.PutUint64(context[16:], rand.Uint64()|1) // 0 is no id
		c.Address = context[:]
	} else {
		c.AddrFormat, c.Address = w.names.address()
	}
	return c.Append(b)
}

// address is the host's, as the header of the file of names has it.
func (n *names) address() (format uint16, address []byte) {
	word := bytesAt(n.base, NamesAddrFormat, 4)
	length := min(binary.NativeEndian.Uint16(word[2:]), 24)
	return binary.NativeEndian.Uint16(word), bytesAt(n.base, NamesAddress, uint64(length))
}
