package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// declare describes the metric for a statistic.
func (t *tree) declare(l *live, g *group, s *reader.Stat, typ pcp.Type) (m pmda.Metric) {
	m = pmda.Metric{Sem: pcp.SemInstant, Units: pcp.UnitsFromWord(s.Units)}
	if s.Counter && typ != pcp.TypeString {
		m.Sem = pcp.SemCounter
	}
	if !m.Units.Valid() || typ == pcp.TypeString {
		m.Units = pcp.None
	}
	if s.Type == layout.Timeval {
		m.Units = pcp.Microseconds
	}
	path := g.key + "/" + s.Name
	if m.OneLine = naming.Line(s.Descr); m.OneLine == "" {
		m.OneLine = naming.Line(path)
	}
	m.Help = helpOf(l, g, s, path)
	m.Labels = metricLabels(l, g, s, path)
	return m
}

// helpOf is the long help: the supplier's text, and what the SPMI knows of a statistic.
func helpOf(l *live, g *group, s *reader.Stat, path string) string {
	var b strings.Builder
	if h := naming.Text(s.Help); h != "" {
		b.WriteString(h + "\n")
	}
	fmt.Fprintf(&b, "Path %s, ASN.1 number %d", naming.Line(path), s.ASN)
	if s.Min != 0 || s.Max != 0 {
		fmt.Fprintf(&b, ", scale from %d to %d", s.Min, s.Max)
	}
	b.WriteString(".\n")
	if g.path == l.c.Path {
		if d := naming.Line(l.c.Descr); d != "" {
			fmt.Fprintf(&b, "Context %s: %s (ASN.1 number %d).\n", naming.Line(l.c.Path), d, l.c.ASN)
		}
		if h := naming.Text(l.c.Help); h != "" {
			b.WriteString(h + "\n")
		}
	}
	switch s.Type {
	case layout.Timeval:
		b.WriteString("A time, in microseconds since 1970 or as a length.\n")
	case layout.Addr, layout.Ptr:
		b.WriteString("An address.\n")
	}
	return strings.TrimSpace(b.String())
}

// metricLabels are the labels of a metric. A metric with a single value has its
// supplier as a label. Otherwise the instances have it.
func metricLabels(l *live, g *group, s *reader.Stat, path string) pcp.Labels {
	valueType := "SiQuantity"
	if s.Counter {
		valueType = "SiCounter"
	}
	own := pcp.Labels{{Name: "path", Value: naming.Line(path)}, {Name: "vendor", Value: naming.Line(vendor(g.path))},
		{Name: "asn", Value: s.ASN}, {Name: "min", Value: s.Min}, {Name: "max", Value: s.Max},
		{Name: "type", Value: dataTypes[s.DataType]}, {Name: "valuetype", Value: valueType}}
	given := s.Labels
	if l.c.From >= 0 {
		own = append(own, pcp.Label{Name: "kind", Value: naming.Line(l.src.kinds[l.c.From].name)})
	} else {
		own = append(own, who(l)...)
		if given == "" {
			given = l.c.Labels
		}
	}
	return withGiven(own, given)
}

// dataTypes are the SPMI's names for the data types in which statistics are presented.
var dataTypes = [layout.DataTypes]string{"SiULong", "SiLong", "SiUInt", "SiInt", "SiUShort", "SiShort", "SiChar", "SiAddr",
	"SiTimeval", "SiFloat", "SiDouble", "SiPtr", "SiUnsign"}

func who(l *live) pcp.Labels {
	return pcp.Labels{{Name: "supplier", Value: l.src.name}, {Name: "user", Value: l.src.user.Name}}
}

// labels are the labels of the instance that a volatile context is.
func (l *live) labels() pcp.Labels {
	own := append(who(l), pcp.Label{Name: "path", Value: naming.Line(l.c.Path)})
	if l.c.ASN != 0 {
		own = append(own, pcp.Label{Name: "asn", Value: l.c.ASN})
	}
	if d := naming.Line(l.c.Descr); d != "" {
		own = append(own, pcp.Label{Name: "description", Value: d, Optional: true})
	}
	if h := naming.Line(l.c.Help); h != "" && len(h) <= 200 {
		own = append(own, pcp.Label{Name: "help", Value: h, Optional: true})
	}
	return withGiven(own, l.c.Labels)
}

// maxGiven is how many labels of its own a supplier may give.
const maxGiven = 20

// withGiven adds the supplier's own labels, as far as PCP takes them. They are a JSON
// object of strings, numbers and truth values. They cannot replace those of the agent.
func withGiven(own pcp.Labels, given string) pcp.Labels {
	if given == "" {
		return own
	}
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(given))
	d.UseNumber()
	if d.Decode(&object) != nil || len(object) > maxGiven {
		return own
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		one := pcp.Labels{{Name: name, Value: object[name]}}
		if !reserved[name] && pdu.CheckLabels(one) == nil {
			own = append(own, one...)
		}
	}
	return own
}

var reserved = map[string]bool{"agent": true, "path": true, "vendor": true, "supplier": true, "user": true,
	"description": true, "asn": true, "min": true, "max": true, "type": true, "valuetype": true, "kind": true,
	"hostname": true, "domainname": true, "machineid": true, "userid": true, "groupid": true, "indom_name": true}

// vendor is the second element of a path.
func vendor(path string) string {
	_, rest, _ := strings.Cut(path, "/")
	v, _, _ := strings.Cut(rest, "/")
	return v
}
