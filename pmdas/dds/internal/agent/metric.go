package agent

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// maxColumns bounds how many statistics a group may have.
const maxColumns = math.MaxUint16

// column finds or makes the metric of a group for a statistic. If a running supplier shows a
// different statistic under the label, column takes the next label and returns second as true.
// A supplier that is gone reserves nothing: its metric becomes the metric of this statistic,
// with a new number if the form differs.
func (t *tree) column(g *group, l *live, s *reader.Stat) (col *column, second bool, err error) {
	typ := typeOf(s)
	m := t.declare(l, g, s, typ)
	of := shape{typ, m.Sem, m.Units}
	labels := g.labels(l, s, of)
	for i, label := range labels {
		if col, err = g.column(label); err != nil {
			return nil, false, err
		}
		col.stat = s.Name
		if col.there && col.holders > 0 && !col.shows(l, s, of) && i < len(labels)-1 {
			continue
		}
		if col.there && col.shape() != of {
			t.remove(col)
			t.groups[g.key] = g
		}
		if !col.there || col.holders == 0 && (!alike(&col.metric, &m) || t.renamed(col, l.src.user)) {
			err = t.export(col, l, m, s, typ)
		}
		return col, i > 0, err
	}
	return nil, false, nil
}

// labels returns the labels that the metric of a statistic may have; the first free one is
// taken. For a volatile context the first label is the statistic's name. The kind's name
// stands before it if the supplier declares several kinds with such a statistic below one
// context. The next label always has the kind's name, and the last one also has the form.
func (g *group) labels(l *live, s *reader.Stat, of shape) []string {
	if !g.volatile {
		return []string{s.Name}
	}
	kind := l.src.kinds[l.c.From]
	long := kind.name + "/" + s.Name
	formed := long + "_" + of.String()
	if kind.one {
		return []string{s.Name, long, formed}
	}
	return []string{long, formed}
}

// shows reports whether the metric may show a statistic. It must have the metric's form. It
// must also come from the same kind of context, or have the same declaration.
func (col *column) shows(l *live, s *reader.Stat, of shape) bool {
	if col.shape() != of {
		return false
	}
	if !col.group.volatile || col.kind == l.src.kinds[l.c.From].name {
		return true
	}
	d := col.decl
	d.Offset = s.Offset
	return d == *s
}

// shape has the properties of a metric that clients expect never to change. A metric of
// another shape is another metric.
type shape struct {
	typ   pcp.Type
	sem   pcp.Sem
	units pcp.Units
}

func (col *column) shape() shape { return shape{col.typ, col.metric.Sem, col.metric.Units} }

// String returns the form as it appears in names and in the keys of numbers.
func (s shape) String() string {
	text := strings.ToLower(fmt.Sprintf("%v_%v", s.typ, s.sem))
	if s.units != pcp.None {
		text += "_" + strings.ReplaceAll(s.units.String(), "/", "per")
	}
	return text
}

// column finds or makes a column by its label.
func (g *group) column(label string) (*column, error) {
	i, ok := g.byLabel[label]
	if !ok {
		if len(g.columns) >= maxColumns {
			return nil, fmt.Errorf("%w: the contexts below one path have more than %d different statistics", reader.ErrLimit, maxColumns)
		}
		i = len(g.columns)
		g.columns = append(g.columns, &column{group: g, index: i, label: label})
		g.byLabel[label] = i
	}
	return g.columns[i], nil
}

// alike reports whether two declarations are the same in everything that may change.
func alike(a, b *pmda.Metric) bool {
	return a.OneLine == b.OneLine && a.Help == b.Help && reflect.DeepEqual(a.Labels, b.Labels)
}

// export adds a column's metric, or adds it again if it has changed.
func (t *tree) export(col *column, l *live, m pmda.Metric, s *reader.Stat, typ pcp.Type) error {
	u := l.src.user
	key := t.names.Key(fmt.Sprintf("%v %v %08x", typ, m.Sem, m.Units.Word()), col.statistic().Key())
	if key.New() {
		if err := t.users.NewMetric(u); err != nil {
			return err
		}
	}
	if err := t.names.Give(key, u); err != nil {
		return naming.ErrNumber
	}
	if col.there {
		t.remove(col)
		t.groups[col.group.key] = col.group
	}
	if u.Metrics >= t.conf.Metrics && !t.dropOldest(u) {
		return account.Over("metrics", "maxmetrics", t.conf.Metrics)
	}
	var err error
	if m.Name, err = t.name(col, u); err != nil {
		return err
	}
	if col.decl, col.kind = *s, ""; l.c.From >= 0 {
		col.kind = l.src.kinds[l.c.From].name
	}
	if err := t.enter(col, u, m, key.Text, typ); err != nil {
		return err
	}
	t.keeper.Put(col.kept())
	return nil
}

// enter exports a metric under its name and charges it to a user's account. It removes metrics
// that are in the way of the name and whose suppliers are gone.
func (t *tree) enter(col *column, u *account.User, m pmda.Metric, key string, typ pcp.Type) error {
	var err error
	if m.Cluster, m.Item, err = t.names.Item(key); err != nil {
		return err
	}
	t.evict(m.Name)
	m.Get = col.getter(t, typ)
	memory := memoryOf(&m)
	if err := t.users.Hold(u, memory); err != nil {
		return err
	}
	if err := t.server.Add(m); err != nil {
		t.users.Release(u, memory)
		return err
	}
	col.metric, col.key, col.typ, col.user, col.there, col.away = m, key, typ, u, true, t.now()
	u.Metrics++
	t.relabel = true
	t.used[m.Name] = col
	t.node(m.Name, 1)
	if col.holders > 0 {
		t.names.Living(m.Name, 1)
	}
	t.metrics[t.server.PMID(m.Cluster, m.Item)] = col
	t.changed = true
	return nil
}

// memoryOf returns about how many bytes the agent holds for a metric.
func memoryOf(m *pmda.Metric) int64 {
	const each, label = 2560, 64
	n := each + len(m.OneLine) + len(m.Help)
	for _, l := range m.Labels {
		text, _ := l.Value.(string)
		n += label + len(text)
	}
	return int64(n)
}

// node counts a metric that comes or goes.
func (t *tree) node(name string, n int) {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '.' {
			continue
		}
		if t.nodes[name[:i]] += n; t.nodes[name[:i]] == 0 {
			delete(t.nodes, name[:i])
		}
	}
}

// evict removes metrics whose suppliers are gone and whose name is the given one, a part of
// it, or below it.
func (t *tree) evict(name string) {
	for i := range name {
		if name[i] == '.' {
			t.evictOne(t.used[name[:i]])
		}
	}
	if t.nodes[name] == 0 {
		return
	}
	for n, col := range t.used {
		if n == name || strings.HasPrefix(n, name+".") {
			t.evictOne(col)
		}
	}
}

func (t *tree) evictOne(col *column) {
	if col != nil && col.holders == 0 && col.users == 0 {
		t.remove(col)
	}
}

// statistic returns what the metric's name is made from.
func (col *column) statistic() naming.Statistic {
	return naming.Statistic{Path: col.group.path, Volatile: col.group.volatile, Inst: col.group.inst, Label: col.label}
}

// name makes the name of a metric, on a user's account.
func (t *tree) name(col *column, u *account.User) (string, error) {
	return t.names.Metric(col.statistic(), u, func(name string) bool {
		other := t.used[name]
		return other != nil && other != col && other.holders > 0
	})
}

// renamed reports whether a metric should have another name now.
func (t *tree) renamed(col *column, u *account.User) bool {
	name, err := t.name(col, u)
	return err == nil && name != col.metric.Name
}

// reshape renames the metrics of volatile contexts below a context that now has statistics of
// its own.
func (t *tree) reshape(path string) {
	g := t.groups[naming.GroupKey(path, true)]
	if g == nil {
		return
	}
	g.inst = true
	for _, col := range g.columns {
		if !col.there {
			continue
		}
		m, away := col.metric, col.away
		name, err := t.name(col, col.user)
		if err != nil || name == m.Name {
			continue
		}
		t.remove(col)
		t.groups[g.key] = g
		m.Name = name
		if err := t.enter(col, col.user, m, col.key, col.typ); err != nil {
			t.complain(col.user.UID, "metric %s, which was %s: %v", name, col.metric.Name, err)
		}
		col.away = away
	}
}

// typeOf returns the PCP type that holds every value of a statistic without loss.
func typeOf(s *reader.Stat) pcp.Type {
	switch s.Field().Op {
	case reader.OpU8, reader.OpU16, reader.OpU32:
		return pcp.TypeU32
	case reader.OpI8, reader.OpI16, reader.OpI32:
		return pcp.Type32
	case reader.OpFloat:
		return pcp.TypeFloat
	case reader.OpDouble:
		return pcp.TypeDouble
	case reader.OpText:
		return pcp.TypeString
	case reader.OpTime32, reader.OpTime64:
		return pcp.Type64
	}
	if s.Signed() {
		return pcp.Type64
	}
	return pcp.TypeU64
}

// form finds or makes the metrics for a context's statistics. It leaves out statistics that
// cannot be exported and notes them with the supplier. If no statistic is left, it returns the
// last reason as the error.
func (t *tree) form(l *live, g *group) (*form, error) {
	f := &form{src: l.src}
	f.pad(len(g.columns))
	var last error
	var refused []leftOut
	for i := range l.c.Stats {
		s := &l.c.Stats[i]
		col, second, err := t.column(g, l, s)
		if err != nil {
			last = err
			refused = append(refused, leftOut{l.c.Path + "/" + s.Name, err})
			continue
		}
		if second {
			f.second = true
			l.src.second(l.c.Path+"/"+s.Name, col.metric.Name)
		}
		f.pad(len(g.columns))
		f.fields[col.index], f.stats[col.index], f.has[col.index] = s.Field(), s, true
		f.n++
	}
	if f.n == 0 && last != nil || last == naming.ErrNumber {
		return nil, last // only the refusal of the whole context counts
	}
	for _, r := range refused {
		if r.err != naming.ErrNumber {
			l.src.fault(r.what, r.err)
		}
	}
	return f, nil
}

// leftOut is a statistic that is not exported.
type leftOut struct {
	what string
	err  error
}

// pad makes room for columns that came later.
func (f *form) pad(n int) {
	for len(f.fields) < n {
		f.fields, f.stats, f.has = append(f.fields, reader.Field{}), append(f.stats, nil), append(f.has, false)
	}
}

// expire removes metrics whose suppliers have been away for too long.
func (t *tree) expire(now time.Time) {
	for _, col := range t.used {
		if col.users == 0 && now.Sub(col.away) >= t.conf.Keep {
			t.remove(col)
		}
	}
}

// remove removes a metric. Its number and name stay its own.
func (t *tree) remove(col *column) {
	t.server.Remove(col.metric.Name)
	delete(t.used, col.metric.Name)
	t.node(col.metric.Name, -1)
	if col.holders > 0 {
		t.names.Living(col.metric.Name, -1)
	}
	delete(t.metrics, t.server.PMID(col.metric.Cluster, col.metric.Item))
	t.keeper.Forget(col.key, col.noted)
	col.there, col.noted = false, false
	t.users.Release(col.user, memoryOf(&col.metric))
	col.user.Metrics--
	t.users.Forget(col.user)
	t.changed = true
	t.tidy(col.group)
}

// tidy forgets a group that has nothing left. Instance domains are kept for ever.
func (t *tree) tidy(g *group) {
	if g.insts == nil && g.live == nil && !slices.ContainsFunc(g.columns, func(c *column) bool { return c.there }) {
		delete(t.groups, g.key)
	}
}

// dropOldest makes room on a user's account: it removes the metric that has been without a
// supplier for longest.
func (t *tree) dropOldest(u *account.User) bool {
	var oldest *column
	for _, col := range t.used {
		if col.user == u && col.users == 0 && (oldest == nil || col.away.Before(oldest.away)) {
			oldest = col
		}
	}
	if oldest != nil {
		t.remove(oldest)
	}
	return oldest != nil
}
