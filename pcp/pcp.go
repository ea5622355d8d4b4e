// Package pcp holds the words and numbers of Performance Co-Pilot: identifiers,
// metric descriptors, units, values, labels, event records and error codes, as
// PMAPI(3), pmLookupDesc(3) and pmLookupLabels(3) define them.
//
// Names follow PCP's own: PM_TYPE_U32 is TypeU32, PM_SEM_COUNTER is SemCounter,
// PM_ERR_INST is ErrInst, pmDesc is Desc. The package knows no protocol and does
// no input or output; its values may be used by any number of goroutines.
package pcp

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds of the fields of a PMID and of an InDom.
const (
	MaxDomain  = 510 // 511 marks dynamic subtrees in the name space
	MaxCluster = 1<<12 - 1
	MaxItem    = 1<<10 - 1
	MaxSerial  = 1<<22 - 1
)

// PMID is a performance metric identifier: domain (9 bits), cluster (12 bits)
// and item (10 bits), below one unused bit.
type PMID uint32

// PMIDNull is no metric at all.
const PMIDNull PMID = 0xffffffff

// MakePMID packs the three fields; bits beyond a field's width are cut.
func MakePMID(domain, cluster, item int) PMID {
	return PMID(domain&0x1ff<<22 | cluster&MaxCluster<<10 | item&MaxItem)
}

// Domain returns the number of the agent that the metric belongs to.
func (p PMID) Domain() int { return int(p >> 22 & 0x1ff) }

// Cluster returns the agent's own group number of the metric.
func (p PMID) Cluster() int { return int(p >> 10 & MaxCluster) }

// Item returns the number of the metric within its cluster.
func (p PMID) Item() int { return int(p & MaxItem) }

// String prints the dotted form that PCP's tools use: domain.cluster.item.
func (p PMID) String() string {
	if p == PMIDNull {
		return "PM_ID_NULL"
	}
	return fmt.Sprintf("%d.%d.%d", p.Domain(), p.Cluster(), p.Item())
}

// ParsePMID reads the dotted form.
func ParsePMID(s string) (PMID, error) {
	f := strings.Split(s, ".")
	if len(f) != 3 {
		return PMIDNull, fmt.Errorf("pcp: metric identifier %q: want domain.cluster.item", s)
	}
	var n [3]int
	for i, max := range []int{0x1ff, MaxCluster, MaxItem} {
		v, err := strconv.ParseUint(f[i], 10, 16)
		if err != nil || int(v) > max {
			return PMIDNull, fmt.Errorf("pcp: metric identifier %q: %q is not within 0..%d", s, f[i], max)
		}
		n[i] = int(v)
	}
	return MakePMID(n[0], n[1], n[2]), nil
}

// InDom identifies an instance domain: domain (9 bits) and serial (22 bits).
type InDom uint32

// InDomNull is the instance domain of a metric with a single value.
const InDomNull InDom = 0xffffffff

// MakeInDom packs the two fields; bits beyond a field's width are cut.
func MakeInDom(domain, serial int) InDom {
	return InDom(domain&0x1ff<<22 | serial&MaxSerial)
}

// Domain returns the number of the agent that the instance domain belongs to.
func (d InDom) Domain() int { return int(d >> 22 & 0x1ff) }

// Serial returns the agent's own number of the instance domain.
func (d InDom) Serial() int { return int(d & MaxSerial) }

// String prints the dotted form that PCP's tools use: domain.serial.
func (d InDom) String() string {
	if d == InDomNull {
		return "PM_INDOM_NULL"
	}
	return fmt.Sprintf("%d.%d", d.Domain(), d.Serial())
}

// InstNull stands for "no instance": it goes with the value of a metric that has
// just one, and with requests for all instances. Instance ids are 0..2^31-1.
const InstNull int32 = -1

// Instance is one member of an instance domain. ID is what PCP calls the internal
// and Name the external instance identifier.
type Instance struct {
	ID   int32
	Name string
}

// Type says how a value is represented.
type Type int32

// The types of values, with PCP's numbers.
const (
	TypeNoSupport       Type = -1
	Type32              Type = 0
	TypeU32             Type = 1
	Type64              Type = 2
	TypeU64             Type = 3
	TypeFloat           Type = 4
	TypeDouble          Type = 5
	TypeString          Type = 6
	TypeAggregate       Type = 7
	TypeAggregateStatic Type = 8
	TypeEvent           Type = 9
	TypeHighresEvent    Type = 10
	TypeUnknown         Type = 255
)

// Valid reports whether an agent may declare a metric of this type.
func (t Type) Valid() bool { return t >= Type32 && t <= TypeHighresEvent }

// String prints the name that pmTypeStr(3) gives.
func (t Type) String() string {
	switch t {
	case TypeNoSupport:
		return "NO_SUPPORT"
	case TypeUnknown:
		return "UNKNOWN"
	}
	names := [...]string{"32", "U32", "64", "U64", "FLOAT", "DOUBLE", "STRING", "AGGREGATE",
		"AGGREGATE_STATIC", "EVENT", "HIGHRES_EVENT"}
	if t >= 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("Type(%d)", int32(t))
}

// Sem says how consecutive values of a metric relate. The zero value is not valid.
type Sem int32

// The semantics of values, with PCP's numbers.
const (
	SemCounter  Sem = 1 // grows for ever; its rate is of interest
	SemInstant  Sem = 3 // may be different the next moment
	SemDiscrete Sem = 4 // changes seldom; the last value stays good
)

// Valid reports whether s is one of the three.
func (s Sem) Valid() bool { return s == SemCounter || s == SemInstant || s == SemDiscrete }

// String prints the name that pmSemStr(3) gives.
func (s Sem) String() string {
	switch s {
	case SemCounter:
		return "counter"
	case SemInstant:
		return "instant"
	case SemDiscrete:
		return "discrete"
	}
	return fmt.Sprintf("Sem(%d)", int32(s))
}

// Desc describes a metric, as pmLookupDesc(3) returns it.
type Desc struct {
	PMID  PMID
	Type  Type
	InDom InDom
	Sem   Sem
	Units Units
}
