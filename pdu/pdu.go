// Package pdu is the codec of PCP's protocol data units, version 2: the messages
// between pmcd and its agents, and those between pmcd and its clients. It turns
// bytes into values and back; it knows no names, sockets or logs.
//
// Every PDU is a struct with Parse, which reads one whole PDU, and Append, which
// writes one; Decode picks the struct by the type in the header. Parse is as
// strict as pmcd 7: no field may reach beyond the PDU and no byte may be left over.
// What Parse returns owns its bytes, unless its comment says otherwise. A length
// or count read from the wire is never allocated before the bytes are seen that
// it claims.
//
// All integers are big-endian. Strings are preceded by their length and padded
// with '~' to a multiple of four bytes. See docs/wire.md for the layouts.
package pdu

import (
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
)

// Type is the type of a PDU.
type Type uint32

// The types of PDUs. A request goes to an agent and its answer comes from there, unless a
// comment says otherwise.
const (
	TypeError         Type = 0x7000
	TypeResult        Type = 0x7001 // answer to Fetch; from pmcd to an agent: store
	TypeProfile       Type = 0x7002 // no answer
	TypeFetch         Type = 0x7003
	TypeDescReq       Type = 0x7004
	TypeDesc          Type = 0x7005
	TypeInstanceReq   Type = 0x7006
	TypeInstance      Type = 0x7007
	TypeTextReq       Type = 0x7008
	TypeText          Type = 0x7009
	TypeCreds         Type = 0x700c
	TypeIDs           Type = 0x700d
	TypeNames         Type = 0x700e
	TypeChild         Type = 0x700f
	TypeTraverse      Type = 0x7010
	TypeAttr          Type = 0x7011 // no answer
	TypeLabelReq      Type = 0x7012
	TypeLabel         Type = 0x7013
	TypeHighresFetch  Type = 0x7014 // client to pmcd only
	TypeHighresResult Type = 0x7015 // pmcd to client only
	TypeDescIDs       Type = 0x7016 // client to pmcd only
	TypeDescs         Type = 0x7017 // pmcd to client only
)

// HeaderLen is the length of the header that every PDU begins with.
const HeaderLen = 12

// Header is what every PDU begins with.
//
//	0  length of the whole PDU in bytes, 12 or more
//	4  type
//	8  from: pmcd to agent the slot of the client in pmcd's table (in CREDS pmcd's
//	   process id); agent to pmcd not looked at
type Header struct {
	Len  int
	Type Type
	From int32
}

// PDU is any of the messages of this package.
type PDU interface {
	// Type returns the type that stands in the header.
	Type() Type
	// Length returns how many bytes Append adds.
	Length() int
	// Append writes the whole PDU, header included, behind b.
	Append(b []byte, from int32) []byte
	// Parse reads one whole PDU, header included. After an error the receiver
	// is in no particular state. It may reuse the receiver's slices.
	Parse(b []byte) error
}

// ParseError says what is wrong with a PDU: its type, the field, and the offset of
// the field in the PDU.
type ParseError struct {
	Type   Type
	Field  string
	Offset int
	Cause  error
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("pdu: %v: %s at byte %d: %v", e.Type, e.Field, e.Offset, e.Cause)
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Cause }

// Creds opens a connection: the agent's, or the client's, version and features.
type Creds struct {
	Version uint8  // 2
	Flags   uint16 // pcp.Feature...
}

// Error answers a request that failed or, with code 0, one that succeeded and has no other
// answer. From pmcd, ErrNotConn tells an agent that the client in From is gone.
type Error struct{ Code pcp.Error }

// Profile says which instances later fetches of one client's context want.
type Profile struct {
	Context int32
	Default ProfileState   // for instance domains without an entry
	InDoms  []InDomProfile // at most one for each instance domain
}

// ProfileState says what the list of an InDomProfile does.
type ProfileState uint32

const (
	Include ProfileState = 0 // all instances but those listed
	Exclude ProfileState = 1 // no instances but those listed
)

// InDomProfile is the part of a Profile that concerns one instance domain.
type InDomProfile struct {
	InDom pcp.InDom
	State ProfileState
	List  []int32
}

// Fetch asks for the values of metrics. HighresFetch is the same for a client that
// wants a time stamp in nanoseconds; pmcd never sends it to an agent.
type Fetch struct {
	Context int32
	PMIDs   []pcp.PMID
}

// HighresFetch is a client's request for a HighresResult.
type HighresFetch Fetch

// Result holds values: the answer to Fetch (where Sec holds pcp.State... bits when
// it comes from an agent, and a time when pmcd sends it to a client), or values to
// store.
type Result struct {
	Sec, Usec uint32
	Sets      []ValueSet
}

// HighresResult is a Result with a time stamp in nanoseconds.
type HighresResult struct {
	Sec, Nsec int64
	Sets      []ValueSet
}

// ValueSet holds the values of one metric, or the code that says why there are none.
type ValueSet struct {
	PMID   pcp.PMID
	Err    pcp.Error // negative, or 0
	Values []InstValue
}

// InstValue is the value of one instance. A number in situ, whose type the wire
// does not tell, is of type TypeU32; As gives it the type of its metric.
type InstValue struct {
	Inst  int32
	Value pcp.Value
}

// DescReq asks for a descriptor.
type DescReq struct{ PMID pcp.PMID }

// Desc answers DescReq.
type Desc struct{ Desc pcp.Desc }

// DescIDs is a client's request for many descriptors.
type DescIDs struct{ PMIDs []pcp.PMID }

// Descs answers DescIDs; a descriptor that could not be found has the PMID PMIDNull.
type Descs struct{ Descs []pcp.Desc }

// InstanceReq asks for all instances of an instance domain (Inst InstNull, Name
// empty), the name of one (Inst), or the id of one (Name).
type InstanceReq struct {
	InDom pcp.InDom
	Inst  int32
	Name  string
}

// Instance answers InstanceReq.
type Instance struct {
	InDom     pcp.InDom
	Instances []pcp.Instance
}

// TextReq asks for help text on a PMID or an InDom, by the bits in Kind.
type TextReq struct {
	Ident uint32
	Kind  pcp.TextType
}

// Text answers TextReq.
type Text struct {
	Ident uint32
	Text  string
}

// IDs carries metric identifiers: the answer to Names, or a request for the names
// of one identifier. Status is the number found, or an error.
type IDs struct {
	Status int32
	PMIDs  []pcp.PMID
}

// Names carries names: a request for their identifiers, or the answer to IDs,
// Child and Traverse. Status is nil or has an entry for each name: 0 for a leaf
// of the name space, 1 for a node.
type Names struct {
	Names  []string
	Status []int32
}

// Child asks for the names just below a node of the name space.
type Child struct {
	Name   string
	Status bool // whether the answer is to tell leaves from nodes
}

// Traverse asks for the full names of all leaves at and below a node.
type Traverse struct{ Name string }

// Attr tells an agent one attribute of the client in From.
type Attr struct {
	Attr  pcp.Attr
	Value string
}

// LabelReq asks for labels: of the domain, cluster, metric or instance domain that
// Ident names, or of all its instances.
type LabelReq struct {
	Ident uint32
	Kind  pcp.LabelType
}

// Label answers LabelReq: one set, or one for each instance.
type Label struct {
	Ident uint32
	Kind  pcp.LabelType
	Sets  []LabelSet
}

// LabelSet holds the labels of one thing; Inst is InstNull unless it is an instance.
// In a set that was parsed, values are what encoding/json makes of them.
type LabelSet struct {
	Inst   int32
	Labels pcp.Labels
}
