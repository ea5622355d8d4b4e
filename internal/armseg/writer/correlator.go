package writer

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// own makes the correlator of an execution that begins now: with its parent's trace
// context and an id of its own in it, or with this host's address.
func (w *Writer) own(parent *layout.Correlator, flags byte, handle, tran uint32, b []byte) []byte {
	c := layout.Correlator{
		Flags: flags, Vendor: layout.Vendor, Version: layout.AgentVersion, Instance: uint16(get32(w.base, layout.ProcUID)),
		Handle: handle, Class: tran,
	}
	var context [layout.TraceContextLen]byte
	if parent.TraceContext() {
		c.AddrFormat = layout.AddrTraceContext
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
	word := bytesAt(n.base, layout.NamesAddrFormat, 4)
	length := min(binary.NativeEndian.Uint16(word[2:]), 24)
	return binary.NativeEndian.Uint16(word), bytesAt(n.base, layout.NamesAddress, uint64(length))
}
