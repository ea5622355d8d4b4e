package pdu

import (
	"encoding/binary"
	"errors"
	"syscall"

	"github.com/pcp-rtime/rtime/pcp"
)

// Type returns TypeError.
func (p *Error) Type() Type { return TypeError }

// Length returns 16.
func (p *Error) Length() int { return HeaderLen + 4 }

// Append writes the code as it is; SafeCode makes one that an agent may answer.
//
//	12  code: 0, a negative error code, or from pmcd to a client the positive
//	    bits pcp.State...
func (p *Error) Append(b []byte, from int32) []byte {
	return put32(appendHeader(b, p.Length(), TypeError, from), uint32(p.Code))
}

// Parse reads the plain form; pmcd's first words to a client are a Greeting.
func (p *Error) Parse(b []byte) error {
	c := open(b, TypeError)
	p.Code = pcp.Error(c.i32("code"))
	return c.done()
}

// Greeting is the longer form of ERROR with which pmcd opens the connection of a
// client. Decode does not expect it: a client parses its first PDU as a Greeting.
type Greeting struct {
	Code     pcp.Error // negative: refused
	Version  uint8     // 2
	Features uint16    // pcp.Feature... that pmcd offers
}

// Type returns TypeError.
func (p *Greeting) Type() Type { return TypeError }

// Length returns 20.
func (p *Greeting) Length() int { return HeaderLen + 8 }

// Append writes the licence byte as pmcd does. It has long had no meaning.
//
//	12  code
//	16  version, one byte whose top bit is 0
//	17  licensed, one byte: 1
//	18  features, two bytes
func (p *Greeting) Append(b []byte, from int32) []byte {
	b = appendHeader(b, p.Length(), TypeError, from)
	b = put32(b, uint32(p.Code))
	b = append(b, p.Version&0x7f, 1)
	return binary.BigEndian.AppendUint16(b, p.Features)
}

// Parse reads the longer form only.
func (p *Greeting) Parse(b []byte) error {
	c := open(b, TypeError)
	p.Code = pcp.Error(c.i32("code"))
	w := c.u32("version and features")
	p.Version = uint8(w>>24) & 0x7f
	p.Features = uint16(w)
	return c.done()
}

// SafeCode returns the code with which an agent may answer a request that failed
// with err: the pcp.Error or the negative syscall.Errno that err wraps, or else
// ErrGeneric. Codes that pmcd takes for a failure of the connection, or for news
// rather than an answer, become ErrGeneric too: ErrIPC, ErrTimeout, EPIPE and
// ErrPMDAReady. So does everything that is not negative: a code of 0 in answer to a
// request for instances or text kills pmcd.
func SafeCode(err error) pcp.Error {
	code := pcp.ErrGeneric
	var pe pcp.Error
	var errno syscall.Errno
	switch {
	case errors.As(err, &pe):
		code = pe
	case errors.As(err, &errno):
		code = pcp.ErrnoError(errno)
	}
	switch code {
	case pcp.ErrIPC, pcp.ErrTimeout, pcp.ErrPMDAReady, pcp.ErrnoError(syscall.EPIPE):
		return pcp.ErrGeneric
	}
	if code >= 0 {
		return pcp.ErrGeneric
	}
	return code
}
