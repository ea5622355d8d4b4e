package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/pcp-rtime/rtime/internal/ddsseg"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/names"
)

// maxColumns bounds how many statistics a group may have.
const maxColumns = math.MaxUint16

// column finds the metric of a group for a statistic, or makes it.
func (t *tree) column(g *group, l *live, s *ddsseg.Stat) (*column, error) {
	typ := typeOf(s)
	i, ok := g.byName[s.Name]
	if !ok {
		if len(g.columns) >= maxColumns {
			return nil, fmt.Errorf("%w: more than %d statistics", ddsseg.ErrLimit, maxColumns)
		}
		i = len(g.columns)
		g.columns = append(g.columns, &column{group: g, index: i, stat: s.Name})
		g.byName[s.Name] = i
	}
	col := g.columns[i]
	m, key := t.declare(l, g, s, typ)
	if col.there && (col.typ != typ || col.metric.Sem != m.Sem || col.metric.Units != m.Units) {
		if col.users > 0 {
			return nil, errTyped
		}
		t.remove(col) // nobody has it as it was
		t.groups[g.key] = g
	}
	if col.there && (col.users > 0 || alike(&col.metric, &m)) {
		return col, nil
	}
	return col, t.export(col, l, m, key, typ)
}

// alike reports whether two declarations differ in nothing that may change.
func alike(a, b *pmda.Metric) bool {
	return a.OneLine == b.OneLine && a.Help == b.Help && reflect.DeepEqual(a.Labels, b.Labels)
}

// export adds a column's metric, or adds it anew where it has changed.
func (t *tree) export(col *column, l *live, m pmda.Metric, key string, typ pcp.Type) error {
	var err error
	if m.Cluster, m.Item, err = t.number(key); err != nil {
		return errNumber
	}
	if col.there {
		t.remove(col)
		t.groups[col.group.key] = col.group
	}
	u := l.sup.user
	if u.metrics >= t.agent.conf.Metrics && !t.dropOldest(u) {
		return overLimit("metrics", t.agent.conf.Metrics)
	}
	m.Get = col.getter(typ)
	if m.Name, err = t.name(col.group, col.stat); err != nil {
		return err
	}
	if err := t.agent.server.Add(m); err != nil {
		return err
	}
	col.metric, col.typ, col.user, col.there, col.away = m, typ, u, true, t.agent.now()
	u.metrics++
	t.used[m.Name] = col
	t.metrics[t.agent.server.PMID(m.Cluster, m.Item)] = col
	t.changed = true
	return nil
}

// name makes the name of a metric. Parts that come out like others of another kind, or
// of another path, have a suffix; who has not is settled once and for all.
func (t *tree) name(g *group, stat string) (string, error) {
	name := Root
	for i := len(Root) + 1; i <= len(g.path); i++ {
		if i < len(g.path) && g.path[i] != '/' {
			continue
		}
		node := name + "." + names.Part(g.path[strings.LastIndexByte(g.path[:i], '/')+1:i])
		mine, err := t.owns(node, "/") // contexts may share a node; statistics may not
		if err != nil {
			return "", err
		}
		if name = node; !mine {
			name += names.Suffix(g.path[:i])
		}
	}
	leaf, path := name+"."+names.Part(stat), g.key+"/"+stat
	mine, err := t.owns(leaf, path)
	if !mine || t.used[leaf] != nil {
		leaf += names.Suffix(path)
	}
	return leaf, err
}

// typeOf returns the type that loses nothing of what a statistic can be.
func typeOf(s *ddsseg.Stat) pcp.Type {
	switch s.Field().Op {
	case ddsseg.OpU8, ddsseg.OpU16, ddsseg.OpU32:
		return pcp.TypeU32
	case ddsseg.OpI8, ddsseg.OpI16, ddsseg.OpI32:
		return pcp.Type32
	case ddsseg.OpFloat:
		return pcp.TypeFloat
	case ddsseg.OpDouble:
		return pcp.TypeDouble
	case ddsseg.OpText:
		return pcp.TypeString
	case ddsseg.OpTime32, ddsseg.OpTime64:
		return pcp.Type64
	}
	if s.Signed() {
		return pcp.Type64
	}
	return pcp.TypeU64
}

// declare describes the metric for a statistic. key is what its number is given to: the
// path, and what must not change under one number.
func (t *tree) declare(l *live, g *group, s *ddsseg.Stat, typ pcp.Type) (m pmda.Metric, key string) {
	m = pmda.Metric{Sem: pcp.SemInstant, Units: pcp.UnitsFromWord(s.Units)}
	if s.Counter && typ != pcp.TypeString {
		m.Sem = pcp.SemCounter
	}
	if !m.Units.Valid() || typ == pcp.TypeString {
		m.Units = pcp.None
	}
	if s.Type == ddsseg.Timeval {
		m.Units = pcp.Microseconds
	}
	path := g.key + "/" + s.Name
	if m.OneLine = names.Line(s.Descr); m.OneLine == "" {
		m.OneLine = names.Line(path)
	}
	m.Help = helpOf(l, g, s, path)
	m.Labels = metricLabels(l, g, s, path)
	return m, fmt.Sprintf("%v %v %08x %s", typ, m.Sem, m.Units.Word(), path)
}

// helpOf is the long help: the supplier's, and what the SPMI knows of a statistic.
func helpOf(l *live, g *group, s *ddsseg.Stat, path string) string {
	var b strings.Builder
	if h := names.Text(s.Help); h != "" {
		b.WriteString(h + "\n")
	}
	fmt.Fprintf(&b, "Path %s, ASN.1 number %d", names.Line(path), s.ASN)
	if s.Min != 0 || s.Max != 0 {
		fmt.Fprintf(&b, ", scale from %d to %d", s.Min, s.Max)
	}
	b.WriteString(".\n")
	if g.path == l.c.Path {
		if d := names.Line(l.c.Descr); d != "" {
			fmt.Fprintf(&b, "Context %s: %s (ASN.1 number %d).\n", names.Line(l.c.Path), d, l.c.ASN)
		}
		if h := names.Text(l.c.Help); h != "" {
			b.WriteString(h + "\n")
		}
	}
	switch s.Type {
	case ddsseg.Timeval:
		b.WriteString("A time, in microseconds since 1970 or as a length.\n")
	case ddsseg.Addr, ddsseg.Ptr:
		b.WriteString("An address.\n")
	}
	return strings.TrimSpace(b.String())
}

// metricLabels are those of a metric. Who supplies it is a label of the metric where it
// has one value, and of the instances otherwise.
func metricLabels(l *live, g *group, s *ddsseg.Stat, path string) pcp.Labels {
	own := pcp.Labels{{Name: "path", Value: names.Line(path)}, {Name: "vendor", Value: names.Line(vendor(g.path))}}
	given := s.Labels
	if l.c.From < 0 {
		own = append(own, who(l)...)
		if given == "" {
			given = l.c.Labels
		}
	}
	return withGiven(own, given)
}

func who(l *live) pcp.Labels {
	return pcp.Labels{{Name: "supplier", Value: l.sup.name}, {Name: "user", Value: l.sup.user.name}}
}

// labels are those of the instance that a volatile context is.
func (l *live) labels() pcp.Labels {
	own := append(who(l), pcp.Label{Name: "path", Value: names.Line(l.c.Path)})
	if d := names.Line(l.c.Descr); d != "" {
		own = append(own, pcp.Label{Name: "description", Value: d, Optional: true})
	}
	if h := names.Line(l.c.Help); h != "" && len(h) <= 200 {
		own = append(own, pcp.Label{Name: "help", Value: h, Optional: true})
	}
	return withGiven(own, l.c.Labels)
}

// maxGiven is how many labels of its own a supplier may give.
const maxGiven = 20

// withGiven adds the supplier's own labels, a JSON object of strings, numbers and truth
// values, as far as PCP takes them. Those of the agent cannot be replaced.
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
		more := append(slices.Clip(own), pcp.Label{Name: name, Value: object[name]})
		if reserved[name] || pdu.CheckLabels(more) != nil {
			continue
		}
		own = more
	}
	return own
}

var reserved = map[string]bool{"agent": true, "path": true, "vendor": true, "supplier": true, "user": true,
	"description": true, "hostname": true, "domainname": true, "machineid": true, "userid": true, "groupid": true, "indom_name": true}

// getter gives the column's values in the type that they have.
func (col *column) getter(typ pcp.Type) pmda.Getter {
	i := col.index
	switch typ {
	case pcp.Type32:
		return getterOf(col, func(l *live) (int32, bool) { v, ok := l.value(i); return int32(v), ok })
	case pcp.TypeU32:
		return getterOf(col, func(l *live) (uint32, bool) { v, ok := l.value(i); return uint32(v), ok })
	case pcp.Type64:
		return getterOf(col, func(l *live) (int64, bool) { v, ok := l.value(i); return int64(v), ok })
	case pcp.TypeU64:
		return getterOf(col, func(l *live) (uint64, bool) { return l.value(i) })
	case pcp.TypeFloat:
		return getterOf(col, func(l *live) (float32, bool) { v, ok := l.value(i); return float32(math.Float64frombits(v)), ok })
	case pcp.TypeDouble:
		return getterOf(col, func(l *live) (float64, bool) { v, ok := l.value(i); return math.Float64frombits(v), ok })
	}
	return getterOf(col, func(l *live) (string, bool) { return l.text(i) })
}

// getterOf gives one value for each volatile context, or that of the fixed one.
func getterOf[V pmda.Scalar](col *column, get func(*live) (V, bool)) pmda.Getter {
	g := col.group
	if g.insts != nil {
		return pmda.Per(g.insts, get)
	}
	return pmda.Value(func() (v V, err error) {
		if g.live != nil {
			if v, ok := get(g.live); ok {
				return v, nil
			}
		}
		return v, pcp.ErrValue
	})
}

// value returns the context's value in a column, as of the present request.
func (l *live) value(i int) (uint64, bool) {
	if l.seen != l.tree.fetch {
		l.collect()
	}
	if f := l.have; f != nil && i < len(f.has) && f.has[i] {
		return l.vals[i], true
	}
	return 0, false
}

// collect reads all values that the present request asks for, so that they belong
// together.
func (l *live) collect() {
	t, g, f := l.tree, l.group, l.form
	l.seen, l.have = t.fetch, nil
	if l.sup.gone || g == nil {
		return
	}
	if len(l.vals) < len(g.columns) {
		l.vals = make([]uint64, len(g.columns))
	}
	if f.seen != t.plan {
		f.choose(g, t.plan)
	}
	ok, err := l.sup.r.Collect(&l.c.Place, f.fields, f.want, l.vals)
	switch {
	case err != nil:
		t.breaks(l.sup, err)
	case !ok:
		t.agent.counts.torn++
	default:
		l.have = f
		t.agent.demand.touch(l.sup, len(f.want))
	}
}

// choose finds out which of the columns that requests ask for at present the form has.
func (f *form) choose(g *group, plan uint64) {
	f.pad(len(g.columns))
	f.seen, f.want = plan, f.want[:0]
	for _, i := range g.want {
		if f.has[i] {
			f.want = append(f.want, i)
		}
	}
}

// breaks notes that a supplier's file is damaged. It goes before the next request.
func (t *tree) breaks(s *supplier, err error) {
	if s.row.fault == nil {
		s.row.fault = err
		t.broken = append(t.broken, s)
	}
}

// text returns the context's value in a column of characters.
func (l *live) text(i int) (string, bool) {
	if _, ok := l.value(i); !ok {
		return "", false
	}
	s, ok, err := l.sup.r.Text(&l.c.Place, l.form.stats[i])
	if err != nil {
		l.sup.agent.tree.breaks(l.sup, err)
		return "", false
	}
	return names.Text(s), ok
}
