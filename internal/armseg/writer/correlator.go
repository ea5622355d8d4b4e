package writer

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// own appends the correlator of an execution that begins now. The correlator carries its
// parent's trace context with a new id in it. If the parent has none, it carries this host's
// address.
func (w *Writer) own(parent *layout.Correlator, flags byte, handle, tran uint32, b []byte) []byte {
	c := layout.Correlator{
		Flags: flags, Vendor: layout.Vendor, Version: layout.AgentVersion, Instance: uint16(w.names.uid),
		Handle: handle, Class: tran,
	}
	if w.memory {
		c.Class = 0 // the number means nothing outside this process
	}
	var context [layout.TraceContextLen]byte
	if parent.TraceContext() {
		c.AddrFormat = layout.AddrTraceContext
		copy(context[:], parent.Address)
		binary.BigEndian.PutUint64(context[16:], rand.Uint64()|1) // 0 is no id
		c.Address = context[:]
	} else {
		c.AddrFormat, c.Address = w.names.addrFormat, w.names.address
	}
	return c.Append(b)
}
