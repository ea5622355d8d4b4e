package pcp

// Label is a name and a value attached to an agent, an instance domain, a cluster,
// a metric or an instance; see pmLookupLabels(3).
type Label struct {
	Name     string // a letter, then letters, digits and underscores; at most 254 bytes
	Value    any    // string, bool, an integer or float type, nil: what JSON has
	Optional bool   // a note, not part of the identity of a time series
}

// Labels is what one LABEL_REQ asks for: the labels of one thing.
type Labels []Label

// LabelType says what a set of labels belongs to.
type LabelType uint32

// The levels of the label hierarchy, with PCP's numbers.
const (
	LabelContext   LabelType = 1 << iota // the host; pmcd itself answers these
	LabelDomain                          // the agent
	LabelInDom                           // an instance domain
	LabelCluster                         // a cluster of metrics
	LabelItem                            // one metric
	LabelInstances                       // the instances of an instance domain
)

// Flags of a label on the wire beside its LabelType.
const (
	LabelCompound uint32 = 1 << 6
	LabelOptional uint32 = 1 << 7
)

// TextType says which help text is asked for; one of the first two and one of the
// last two bits are set.
type TextType uint32

// Bits of a TextType, with PCP's numbers.
const (
	TextOneLine TextType = 1 << iota
	TextHelp
	TextPMID  // the identifier is a PMID
	TextInDom // the identifier is an InDom
)

// Attr is the code of a client's attribute; see __pmAttrKey in PCP and pmcd(1).
type Attr uint32

// The attributes that pmcd passes on, with PCP's numbers.
const (
	AttrProtocol  Attr = 1
	AttrSecure    Attr = 2
	AttrCompress  Attr = 3
	AttrUserAuth  Attr = 4
	AttrUserName  Attr = 5
	AttrAuthName  Attr = 6
	AttrPassword  Attr = 7
	AttrMethod    Attr = 8
	AttrRealm     Attr = 9
	AttrUnixSock  Attr = 10
	AttrUserID    Attr = 11
	AttrGroupID   Attr = 12
	AttrLocal     Attr = 13
	AttrProcessID Attr = 14
	AttrContainer Attr = 15
)

// Changes of state that travel in the first word of a RESULT.
const (
	StateAdded    uint32 = 1  // an agent was added
	StateRestart  uint32 = 2  // an agent was started again
	StateDropped  uint32 = 4  // an agent was dropped
	StateLabels   uint32 = 8  // labels changed; an agent may raise this
	StateNames    uint32 = 16 // the name space changed; an agent may raise this
	StateHostname uint32 = 32
)

// Features that the flags of a CREDS announce.
const (
	FeatureSecure    uint16 = 0x0001
	FeatureAuth      uint16 = 0x0004
	FeatureContainer uint16 = 0x0040
	FeatureLabels    uint16 = 0x0200
	FeatureHighres   uint16 = 0x0400
	FeatureDescs     uint16 = 0x0800
)
