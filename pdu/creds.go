package pdu

import (
	"encoding/binary"
	"errors"
)

// credVersion is the one kind of credential that PCP has left.
const credVersion = 1

var errNoVersion = errors.New("no version among the credentials")

// Type returns TypeCreds.
func (p *Creds) Type() Type { return TypeCreds }

// Length returns 20.
func (p *Creds) Length() int { return HeaderLen + 8 }

// Append writes one credential, the version.
//
//	12  number of credentials: 1
//	16  kind, one byte: 1
//	17  version, one byte: 2
//	18  flags, two bytes
func (p *Creds) Append(b []byte, from int32) []byte {
	b = appendHeader(b, p.Length(), TypeCreds, from)
	b = put32(b, 1)
	b = append(b, credVersion, p.Version)
	return binary.BigEndian.AppendUint16(b, p.Flags)
}

// Parse skips credentials of other kinds, as pmcd does; one with the version must
// be there.
func (p *Creds) Parse(b []byte) error {
	*p = Creds{}
	c := open(b, TypeCreds)
	found := false
	for n := c.count("number of credentials", 4); n > 0; n-- {
		cred := c.view("credential", 4)
		if cred[0] == credVersion {
			found = true
			p.Version = cred[1]
			p.Flags = binary.BigEndian.Uint16(cred[2:])
		}
	}
	if !found {
		c.failAt(HeaderLen, "credentials", errNoVersion)
	}
	return c.done()
}
