package pmda

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmns"
)

// table is what an agent exports, ready to be looked up: by number for requests on
// values, by name for requests on the name space.
type table struct {
	domain  int
	metrics map[pcp.PMID]*metric
	names   *pmns.Tree
	indoms  map[pcp.InDom]domain
}

// metric is a Metric with its numbers.
type metric struct {
	Metric
	desc  pcp.Desc
	indom domain // nil for a metric with one value

	fetch uint64 // the last fetch that asked for it, and how often
	times int
}

func newTable(domainNumber int) *table {
	return &table{
		domain:  domainNumber,
		metrics: make(map[pcp.PMID]*metric),
		names:   new(pmns.Tree),
		indoms:  make(map[pcp.InDom]domain),
	}
}

// add checks a metric and takes it into the table. The error names every mistake.
func (t *table) add(m Metric) error {
	pmid := pcp.MakePMID(t.domain, m.Cluster, m.Item)
	bad := checkMetric(&m)
	if old := t.metrics[pmid]; old != nil && pmid.Cluster() == m.Cluster && pmid.Item() == m.Item {
		bad = append(bad, fmt.Errorf("number %d.%d is taken by %s", m.Cluster, m.Item, old.Name))
	}
	c := &metric{Metric: m, indom: m.Get.indom}
	c.desc = pcp.Desc{PMID: pmid, Type: m.Get.typ, InDom: pcp.InDomNull, Sem: m.Sem, Units: m.Units}
	if c.indom != nil {
		c.desc.InDom = pcp.MakeInDom(t.domain, c.indom.serial())
		if err := t.addInDom(c.indom); err != nil {
			bad = append(bad, err)
		}
	}
	var err error
	if len(bad) == 0 {
		err = t.names.Add(m.Name, pmid)
	} else {
		err = pmns.CheckName(m.Name)
	}
	if err != nil {
		bad = append(bad, err)
	}
	if len(bad) > 0 {
		return fmt.Errorf("metric %q: %w", m.Name, errors.Join(bad...))
	}
	t.metrics[pmid] = c
	return nil
}

// remove takes a metric away.
func (t *table) remove(name string) bool {
	pmid, err := t.names.Lookup(name)
	if err != nil {
		return false
	}
	delete(t.metrics, pmid)
	return t.names.Remove(name) == nil
}

func (t *table) addInDom(d domain) error {
	id := pcp.MakeInDom(t.domain, d.serial())
	if old, ok := t.indoms[id]; ok {
		if old != d {
			return fmt.Errorf("%s and %s have the same serial %d", old.title(), d.title(), d.serial())
		}
		return nil
	}
	var bad []error
	if d.serial() < 0 || d.serial() > pcp.MaxSerial {
		bad = append(bad, fmt.Errorf("%s: serial %d is not within 0..%d", d.title(), d.serial(), pcp.MaxSerial))
	}
	if one, _ := d.help(); one == "" {
		bad = append(bad, fmt.Errorf("%s: no one-line help", d.title()))
	}
	if err := pdu.CheckLabels(d.labels()); err != nil {
		bad = append(bad, fmt.Errorf("%s: %w", d.title(), err))
	}
	t.indoms[id] = d
	return errors.Join(bad...)
}

func checkMetric(m *Metric) (bad []error) {
	say := func(format string, args ...any) { bad = append(bad, fmt.Errorf(format, args...)) }
	if m.Cluster < 0 || m.Cluster > pcp.MaxCluster {
		say("cluster %d is not within 0..%d", m.Cluster, pcp.MaxCluster)
	}
	if m.Item < 0 || m.Item > pcp.MaxItem {
		say("item %d is not within 0..%d", m.Item, pcp.MaxItem)
	}
	if m.Get.fetch == nil {
		say("no Get")
	} else if !m.Get.typ.Valid() && m.Get.typ != pcp.TypeNoSupport {
		say("type %v cannot be declared by an agent", m.Get.typ)
	}
	if !m.Sem.Valid() {
		say("semantics %v is not counter, instant or discrete", m.Sem)
	}
	if m.Sem == pcp.SemCounter && m.Get.typ > pcp.TypeDouble {
		say("a counter cannot be of type %v", m.Get.typ)
	}
	if !m.Units.Valid() {
		say("units %#08x have a scale or an extra unit that PCP does not have", m.Units.Word())
	}
	if m.OneLine == "" {
		say("no one-line help")
	}
	if strings.Contains(m.OneLine, "\n") {
		say("the one-line help has more than one line")
	}
	if err := pdu.CheckLabels(m.Labels); err != nil {
		bad = append(bad, err)
	}
	return bad
}

// build makes the table of an agent. It reports all mistakes together.
func build(a *Agent, domainNumber int) (*table, error) {
	var bad []error
	if a.Name == "" || strings.ContainsAny(a.Name, " \t\n/") {
		bad = append(bad, fmt.Errorf("name %q is not one word without slashes", a.Name))
	}
	if domainNumber < 1 || domainNumber > pcp.MaxDomain {
		bad = append(bad, fmt.Errorf("domain %d is not within 1..%d", domainNumber, pcp.MaxDomain))
		domainNumber = 1 // so that this mistake does not hide others
	}
	t := newTable(domainNumber)
	if len(a.Metrics) == 0 && len(a.Roots) == 0 {
		bad = append(bad, errors.New("the agent has neither metrics nor dynamic subtrees"))
	}
	for _, r := range a.Roots {
		if err := pmns.CheckName(r); err != nil {
			bad = append(bad, fmt.Errorf("dynamic subtree: %w", err))
		}
	}
	if a.Anonymous && a.Warm != nil && len(a.Roots) > 0 && !a.NamesNotReady {
		bad = append(bad, errors.New("an Anonymous agent with Warm and dynamic subtrees makes PCP 7 refuse all names of "+
			"all agents until it is ready: leave out Anonymous, or set NamesNotReady to accept that"))
	}
	bad = append(bad, checkAgentLabels(a)...)
	for _, m := range a.Metrics {
		if err := t.add(m); err != nil {
			bad = append(bad, err)
		}
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("pmda: agent %q is not well declared:\n%w", a.Name, errors.Join(bad...))
	}
	return t, nil
}

// checkAgentLabels includes the label that is added, so that another "agent" is found.
func checkAgentLabels(a *Agent) (bad []error) {
	if err := pdu.CheckLabels(a.domainLabels()); err != nil {
		bad = append(bad, err)
	}
	for _, cluster := range slices.Sorted(maps.Keys(a.ClusterLabels)) {
		if cluster < 0 || cluster > pcp.MaxCluster {
			bad = append(bad, fmt.Errorf("labels of cluster %d: not within 0..%d", cluster, pcp.MaxCluster))
		}
		if err := pdu.CheckLabels(a.ClusterLabels[cluster]); err != nil {
			bad = append(bad, fmt.Errorf("labels of cluster %d: %w", cluster, err))
		}
	}
	return bad
}

// domainLabels returns the labels of all the agent's metrics.
func (a *Agent) domainLabels() pcp.Labels {
	return append(pcp.Labels{{Name: "agent", Value: a.Name}}, a.Labels...)
}

// list returns the metrics in the order of their numbers.
func (t *table) list() []*metric {
	list := make([]*metric, 0, len(t.metrics))
	for _, m := range t.metrics {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *metric) int { return int(a.desc.PMID) - int(b.desc.PMID) })
	return list
}

// domains returns the instance domains in the order of their serials.
func (t *table) domains() []domain {
	list := make([]domain, 0, len(t.indoms))
	for _, d := range t.indoms {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b domain) int { return a.serial() - b.serial() })
	return list
}
