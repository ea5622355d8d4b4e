package agent

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// maxColumns bounds how many statistics a group may have.
const maxColumns = math.MaxUint16

// column finds the metric of a group for a statistic, or makes it.
func (t *tree) column(g *group, l *live, s *reader.Stat) (*column, error) {
	typ := typeOf(s)
	col, err := g.column(s.Name)
	if err != nil {
		return nil, err
	}
	m, key := t.declare(l, g, s, typ)
	if col.there && col.shape() != (shape{typ, m.Sem, m.Units}) {
		// Who has it may come back, and finds it as it was: another user's is refused.
		if col.users > 0 || col.user.UID != l.src.user.UID {
			return nil, errTyped
		}
		t.remove(col) // nobody has it as it was
		t.groups[g.key] = g
	}
	if col.there && (col.users > 0 || alike(&col.metric, &m) && !t.renamed(col, l.src.user)) {
		return col, nil
	}
	return col, t.export(col, l, m, key, typ)
}

// shape is what of a metric clients take to be for ever: one of another shape is another
// metric.
type shape struct {
	typ   pcp.Type
	sem   pcp.Sem
	units pcp.Units
}

func (col *column) shape() shape { return shape{col.typ, col.metric.Sem, col.metric.Units} }

// column finds a column by name, or makes it.
func (g *group) column(name string) (*column, error) {
	i, ok := g.byName[name]
	if !ok {
		if len(g.columns) >= maxColumns {
			return nil, fmt.Errorf("%w: more than %d statistics", reader.ErrLimit, maxColumns)
		}
		i = len(g.columns)
		g.columns = append(g.columns, &column{group: g, index: i, stat: name})
		g.byName[name] = i
	}
	return g.columns[i], nil
}

// alike reports whether two declarations differ in nothing that may change.
func alike(a, b *pmda.Metric) bool {
	return a.OneLine == b.OneLine && a.Help == b.Help && reflect.DeepEqual(a.Labels, b.Labels)
}

// export adds a column's metric, or adds it anew where it has changed.
func (t *tree) export(col *column, l *live, m pmda.Metric, key string, typ pcp.Type) error {
	u := l.src.user
	if !t.names.Known(key) {
		if err := t.users.NewMetric(u); err != nil {
			return err
		}
	}
	if _, _, err := t.names.Item(key); err != nil {
		return naming.ErrNumber
	}
	if col.there {
		t.remove(col)
		t.groups[col.group.key] = col.group
	}
	if u.Metrics >= t.conf.Metrics && !t.dropOldest(u) {
		return account.Over("metrics", t.conf.Metrics)
	}
	return t.enter(col, u, m, key, typ)
}

// enter gives a metric its number and its name, and has it exported on a user's account.
func (t *tree) enter(col *column, u *account.User, m pmda.Metric, key string, typ pcp.Type) error {
	var err error
	if m.Cluster, m.Item, err = t.names.Item(key); err != nil {
		return naming.ErrNumber
	}
	if m.Name, err = t.name(col, u); err != nil {
		return err
	}
	m.Get = col.getter(t, typ)
	if err := t.server.Add(m); err != nil {
		return err
	}
	col.metric, col.key, col.typ, col.user, col.there, col.away = m, key, typ, u, true, t.now()
	u.Metrics++
	t.relabel, t.unsaved = true, true
	t.used[m.Name] = col
	t.names.Used(m.Name, 1)
	t.metrics[t.server.PMID(m.Cluster, m.Item)] = col
	t.changed = true
	return nil
}

// name makes the name of a metric, on a user's account.
func (t *tree) name(col *column, u *account.User) (string, error) {
	return t.names.Metric(col.group.path, col.group.key, col.stat, u, func(name string) bool {
		other := t.used[name]
		return other != nil && other != col
	})
}

// renamed reports whether a metric without supplier is due another name.
func (t *tree) renamed(col *column, u *account.User) bool {
	name, err := t.name(col, u)
	return err == nil && name != col.metric.Name
}

// typeOf returns the type that loses nothing of what a statistic can be.
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

// form finds, or makes, the metrics for a context's statistics. Those that cannot be
// exported are left out, which is the supplier's fault; if that leaves none, the last
// reason is the error.
func (t *tree) form(l *live, g *group) (*form, error) {
	f := &form{src: l.src}
	f.pad(len(g.columns))
	var last error
	var refused []leftOut
	for i := range l.c.Stats {
		s := &l.c.Stats[i]
		col, err := t.column(g, l, s)
		if err != nil {
			last = err
			refused = append(refused, leftOut{l.c.Path + "/" + s.Name, err})
			continue
		}
		f.pad(len(g.columns))
		f.fields[col.index], f.stats[col.index], f.has[col.index] = s.Field(), s, true
		f.shapes[col.index] = col.shape()
		f.n++
	}
	if f.n == 0 && last != nil || last == naming.ErrNumber {
		return nil, last // the context's own refusal is the only one that counts
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
		f.shapes = append(f.shapes, shape{})
	}
}

// expire takes metrics away whose suppliers have been away for long.
func (t *tree) expire(now time.Time) {
	for _, col := range t.used {
		if col.users == 0 && now.Sub(col.away) >= t.conf.Keep {
			t.remove(col)
		}
	}
}

// remove takes a metric away. Its number and name stay its own.
func (t *tree) remove(col *column) {
	t.server.Remove(col.metric.Name)
	delete(t.used, col.metric.Name)
	t.names.Used(col.metric.Name, -1)
	delete(t.metrics, t.server.PMID(col.metric.Cluster, col.metric.Item))
	col.there, t.unsaved = false, true
	col.user.Metrics--
	t.users.Settle(col.user)
	t.changed = true
	t.tidy(col.group)
}

// tidy forgets a group that has nothing. Instance domains are for ever.
func (t *tree) tidy(g *group) {
	if g.insts == nil && g.live == nil && !slices.ContainsFunc(g.columns, func(c *column) bool { return c.there }) {
		delete(t.groups, g.key)
	}
}

// dropOldest makes room on a user's account: the metric goes that has been without a
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
