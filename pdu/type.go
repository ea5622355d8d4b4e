package pdu

import "fmt"

// kinds lists every message: its name in PCP and how to make an empty one.
var kinds = map[Type]struct {
	name string
	make func() PDU
}{
	TypeError:         {"ERROR", func() PDU { return new(Error) }},
	TypeResult:        {"RESULT", func() PDU { return new(Result) }},
	TypeProfile:       {"PROFILE", func() PDU { return new(Profile) }},
	TypeFetch:         {"FETCH", func() PDU { return new(Fetch) }},
	TypeDescReq:       {"DESC_REQ", func() PDU { return new(DescReq) }},
	TypeDesc:          {"DESC", func() PDU { return new(Desc) }},
	TypeInstanceReq:   {"INSTANCE_REQ", func() PDU { return new(InstanceReq) }},
	TypeInstance:      {"INSTANCE", func() PDU { return new(Instance) }},
	TypeTextReq:       {"TEXT_REQ", func() PDU { return new(TextReq) }},
	TypeText:          {"TEXT", func() PDU { return new(Text) }},
	TypeCreds:         {"CREDS", func() PDU { return new(Creds) }},
	TypeIDs:           {"PMNS_IDS", func() PDU { return new(IDs) }},
	TypeNames:         {"PMNS_NAMES", func() PDU { return new(Names) }},
	TypeChild:         {"PMNS_CHILD", func() PDU { return new(Child) }},
	TypeTraverse:      {"PMNS_TRAVERSE", func() PDU { return new(Traverse) }},
	TypeAttr:          {"ATTR", func() PDU { return new(Attr) }},
	TypeLabelReq:      {"LABEL_REQ", func() PDU { return new(LabelReq) }},
	TypeLabel:         {"LABEL", func() PDU { return new(Label) }},
	TypeHighresFetch:  {"HIGHRES_FETCH", func() PDU { return new(HighresFetch) }},
	TypeHighresResult: {"HIGHRES_RESULT", func() PDU { return new(HighresResult) }},
	TypeDescIDs:       {"DESC_IDS", func() PDU { return new(DescIDs) }},
	TypeDescs:         {"DESCS", func() PDU { return new(Descs) }},
}

// Known reports whether the package has a struct for PDUs of this type.
func (t Type) Known() bool {
	_, ok := kinds[t]
	return ok
}

// String prints PCP's name of the type, without PDU_, or the number of one that
// is not known.
func (t Type) String() string {
	if k, ok := kinds[t]; ok {
		return k.name
	}
	return fmt.Sprintf("Type(%#x)", uint32(t))
}

// New returns an empty message of type t, or nil where t is not known.
func New(t Type) PDU {
	if k, ok := kinds[t]; ok {
		return k.make()
	}
	return nil
}
