package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg"
	"github.com/pcp-rtime/rtime/internal/ids"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/names"
)

// tree is what is exported of all suppliers' contexts: groups of metrics that share
// a fixed context, or the volatile contexts below one.
type tree struct {
	agent   *Agent
	groups  map[string]*group // by context path; with "/*" for the volatile ones below
	paths   map[string]*live  // contexts with statistics that are exported
	fixed   map[string]int    // how many suppliers have a fixed context
	waiting map[string][]*live
	freed   []string // paths for which somebody waits
	metrics map[pcp.PMID]*column
	used    map[string]*column // by the metric's name

	items, serials, names numbers
	closers               []func() error

	fetch   uint64 // counts requests
	wanted  []*group
	ids     []pcp.PMID // what wanted was made for
	plan    uint64     // counts how often it was made
	changed bool       // since
	broken  []*supplier
	exports int // live contexts
	values  int
}

// numbers gives names numbers for ever.
type numbers interface {
	ID(name string) (int32, error)
	Lookup(name string) (int32, bool)
}

// memory gives out numbers for as long as the agent runs.
type memory map[string]int32

func (m memory) ID(name string) (int32, error) {
	id, ok := m[name]
	if !ok {
		id = int32(len(m))
		m[name] = id
	}
	return id, nil
}

func (m memory) Lookup(name string) (int32, bool) {
	id, ok := m[name]
	return id, ok
}

// Clusters and serials below these are the agent's own.
const (
	firstCluster = 8
	firstSerial  = 16
)

// live is a context that a supplier has at present. Volatile ones are what the instances
// of their group's instance domain carry.
//
// What every value needs comes first, to be in one line of the processor's cache.
type live struct {
	seen uint64   // the request that vals belong to
	have *form    // form, or nil where there are no values
	vals []uint64 // by column
	tree *tree

	sup   *supplier
	c     *ddsseg.Context
	group *group // nil while it is not exported
	form  *form
	inst  string // name of the instance
}

// form says where in the data of one kind of context the values of a group's columns
// lie. It is shared by the contexts of one template.
type form struct {
	fields []ddsseg.Field // by column
	stats  []*ddsseg.Stat // by column, nil for those that the context has not got
	has    []bool         // by column, whether there is one
	n      int            // values exported

	want []uint16 // the columns it has that requests ask for at present
	seen uint64   // the plan that want belongs to
}

type formKey struct {
	group *group
	from  int
}

// group is a fixed context's metrics, or those of the volatile contexts below one.
type group struct {
	key     string
	path    string // of the fixed context
	live    *live  // a fixed context that is there
	insts   *pmda.InDom[*live]
	columns []*column
	byName  map[string]int
	want    []uint16 // columns that the present request asks for
	highest int32    // id of an instance
}

// column is a metric.
type column struct {
	group  *group
	index  int
	stat   string
	typ    pcp.Type
	metric pmda.Metric
	user   *account // who has it on his account
	users  int      // live contexts that have it
	away   time.Time
	there  bool // exported
}

func (t *tree) init(a *Agent) {
	*t = tree{agent: a, groups: make(map[string]*group), paths: make(map[string]*live), fixed: make(map[string]int),
		waiting: make(map[string][]*live), metrics: make(map[pcp.PMID]*column), used: make(map[string]*column)}
}

// open opens the files of the numbers that are kept for ever: metrics, instance domains,
// and who of several that come out alike has a name unchanged.
func (t *tree) open() error {
	for _, f := range []struct {
		to   *numbers
		part string
		max  int32
	}{
		{&t.items, "items", (pcp.MaxCluster+1-firstCluster)*(pcp.MaxItem+1) - 1},
		{&t.serials, "serials", pcp.MaxSerial - firstSerial},
		{&t.names, "names", ids.FirstVolatile - 1},
	} {
		if t.agent.stateDir == "" {
			*f.to = make(memory)
			continue
		}
		path := filepath.Join(t.agent.stateDir, Name+"."+f.part+".ids")
		m, err := ids.OpenMax(path, f.max)
		if err != nil {
			return err
		}
		if d := m.Damage(); d != nil {
			t.agent.server.Logf("%s is damaged and was set aside: %v", path, d)
		}
		if err := m.Err(); err != nil {
			t.agent.server.Logf("%s: no new names for now: %v", path, err)
		}
		*f.to = m
		t.closers = append(t.closers, m.Close)
	}
	return nil
}

func (t *tree) close() {
	for _, f := range t.closers {
		if err := f(); err != nil {
			t.agent.server.Logf("%v", err)
		}
	}
}

// note counts the fixed contexts, which are what volatile ones are instances below.
func (t *tree) note(path string, n int) {
	if t.fixed[path] += n; t.fixed[path] == 0 {
		delete(t.fixed, path)
	}
}

// home returns the fixed context below which a volatile one is an instance, and the name
// of the instance: nested ones join with a slash.
func (t *tree) home(path string) (parent, inst string) {
	parent = ddsseg.Parent(path)
	for !ddsseg.Shared(parent) && t.fixed[parent] == 0 && t.groups[parent] == nil {
		parent = ddsseg.Parent(parent)
	}
	return parent, path[len(parent)+1:]
}

// add exports a context, or has it wait for its path to become free.
func (t *tree) add(l *live) {
	s := l.sup
	if err := t.tryAdd(l); err != nil {
		if err == errTaken || err == errNumber {
			t.waiting[l.c.Path] = append(t.waiting[l.c.Path], l)
			if err == errNumber {
				t.freed = append(t.freed, l.c.Path)
			}
		}
		s.fault(l.c.Path, err)
	}
}

func (t *tree) tryAdd(l *live) error {
	c, s, limits := l.c, l.sup, &t.agent.conf
	switch n := len(c.Stats); {
	case t.paths[c.Path] != nil:
		return errTaken
	case s.user.contexts >= limits.Contexts:
		return overLimit("contexts", limits.Contexts)
	case s.user.values+n > limits.Statistics:
		return overLimit("statistics", limits.Statistics)
	}
	var err error
	if c.From >= 0 {
		err = t.addVolatile(l)
	} else {
		err = t.addFixed(l)
	}
	if err != nil {
		return err
	}
	t.paths[c.Path] = l
	t.exports++
	t.values += l.form.n
	s.user.contexts++
	s.user.values += len(c.Stats)
	s.values += l.form.n
	s.row.contexts++
	return nil
}

func (t *tree) group(path, key string) *group {
	g := t.groups[key]
	if g == nil {
		g = &group{key: key, path: path, byName: make(map[string]int), highest: -1}
		t.groups[key] = g
	}
	return g
}

func (t *tree) addFixed(l *live) error {
	g := t.group(l.c.Path, l.c.Path)
	f, err := t.form(l, g)
	if err != nil {
		t.tidy(g)
		return err
	}
	g.live, l.group, l.form = l, g, f
	t.use(f, g, 1)
	return nil
}

func (t *tree) addVolatile(l *live) error {
	path, inst := t.home(l.c.Path)
	u, limits, now := l.sup.user, &t.agent.conf, t.agent.now()
	if u.names.fill(now, float64(limits.Names), float64(limits.Names)/86400) < 1 {
		return overLimit("new names of instances in a day", limits.Names)
	}
	g := t.group(path, path+"/*")
	if g.insts == nil {
		if u.domains >= limits.Domains {
			delete(t.groups, g.key)
			return overLimit("contexts with volatile ones below", limits.Domains)
		}
		serial, err := t.serials.ID(path)
		if err != nil {
			return errNumber
		}
		u.domains++
		g.insts = &pmda.InDom[*live]{
			Serial: firstSerial + int(serial), Name: "contexts below " + path, Keep: true,
			OneLine:        "volatile contexts below " + names.Line(path),
			Help:           "Suppliers add and delete them while they run. Their paths are in the label path.",
			InstanceLabels: (*live).labels,
		}
	}
	var err error
	f := l.sup.forms[formKey{g, l.c.From}]
	if f == nil || !t.complete(f, g) {
		if f, err = t.form(l, g); err != nil {
			return err
		}
		l.sup.forms[formKey{g, l.c.From}] = f
	}
	if l.inst, err = t.instance(g, inst); err != nil {
		return err
	}
	id, err := g.insts.Add(l.inst, l)
	if err != nil {
		return err
	}
	if id > g.highest { // new numbers ascend
		g.highest = id
		u.names.left--
	}
	l.group, l.form = g, f
	t.use(f, g, 1)
	return nil
}

// instance returns an instance's name; where another context has it, with a suffix.
func (t *tree) instance(g *group, path string) (string, error) {
	name, mine := names.Instance(path), true
	if name != path {
		var err error
		if mine, err = t.owns(g.key+" "+name, path); err != nil {
			return "", err
		}
	}
	if _, taken := g.insts.Get(name); taken || !mine {
		return name + names.Suffix(path), nil
	}
	return name, nil
}

// owns reports whether what was called original is, or becomes, the one that has the
// plain name; the same one for ever.
func (t *tree) owns(plain, original string) (bool, error) {
	if _, ok := t.names.Lookup(plain + " " + original); ok {
		return true, nil
	}
	if _, taken := t.names.Lookup(plain); taken {
		return false, nil
	}
	if _, err := t.names.ID(plain); err != nil {
		return false, errNumber
	}
	if _, err := t.names.ID(plain + " " + original); err != nil {
		return false, errNumber
	}
	return true, nil
}

// complete reports whether all metrics of a form are still exported.
func (t *tree) complete(f *form, g *group) bool {
	for i, s := range f.stats {
		if s != nil && !g.columns[i].there {
			return false
		}
	}
	return true
}

// form finds, or makes, the metrics for a context's statistics. Those that cannot be
// exported are left out, which is the supplier's fault; if that leaves none, the last
// reason is the error.
func (t *tree) form(l *live, g *group) (*form, error) {
	f := &form{}
	f.pad(len(g.columns))
	var last error
	for i := range l.c.Stats {
		s := &l.c.Stats[i]
		col, err := t.column(g, l, s)
		if err != nil {
			last = err
			if err != errNumber {
				l.sup.fault(l.c.Path+"/"+s.Name, err)
			}
			continue
		}
		f.pad(len(g.columns))
		f.fields[col.index], f.stats[col.index], f.has[col.index] = s.Field(), s, true
		f.n++
	}
	if f.n == 0 && last != nil || last == errNumber {
		return nil, last
	}
	return f, nil
}

// pad makes room for columns that came later.
func (f *form) pad(n int) {
	for len(f.fields) < n {
		f.fields, f.stats, f.has = append(f.fields, ddsseg.Field{}), append(f.stats, nil), append(f.has, false)
	}
}

// use counts the contexts that have a form's metrics.
func (t *tree) use(f *form, g *group, n int) {
	for i, s := range f.stats {
		if s == nil {
			continue
		}
		col := g.columns[i]
		if col.users += n; col.users == 0 {
			col.away = t.agent.now()
		}
	}
}

// drop takes a context away.
func (t *tree) drop(l *live) {
	path := l.c.Path
	if l.group == nil {
		t.waiting[path] = slices.DeleteFunc(t.waiting[path], func(w *live) bool { return w == l })
		if len(t.waiting[path]) == 0 {
			delete(t.waiting, path)
		}
		return
	}
	if l.c.From >= 0 {
		l.group.insts.Remove(l.inst)
	} else {
		l.group.live = nil
	}
	t.use(l.form, l.group, -1)
	delete(t.paths, path)
	t.exports--
	t.values -= l.form.n
	l.sup.user.contexts--
	l.sup.user.values -= len(l.c.Stats)
	l.sup.values -= l.form.n
	l.sup.row.contexts--
	l.group = nil
	if t.waiting[path] != nil {
		t.freed = append(t.freed, path)
	}
}

// retry gives those a turn that waited for a path. Their fault is mended then.
func (t *tree) retry() {
	freed := t.freed
	t.freed = nil
	for _, path := range freed {
		for t.waiting[path] != nil {
			l := t.waiting[path][0]
			err := t.tryAdd(l)
			if err == errTaken {
				break
			}
			if err == errNumber {
				t.freed = append(t.freed, path)
				break
			}
			if t.waiting[path] = t.waiting[path][1:]; len(t.waiting[path]) == 0 {
				delete(t.waiting, path)
			}
			if err != nil {
				l.sup.fault(path, err)
			} else {
				t.agent.complain("supplier %s: has %s now", l.sup.row.title, path)
			}
		}
	}
}

// expire takes metrics away whose suppliers have been away for long.
func (t *tree) expire(now time.Time) {
	for _, col := range t.used {
		if col.users == 0 && now.Sub(col.away) >= t.agent.conf.Keep {
			t.remove(col)
		}
	}
}

// remove takes a metric away. Its number and name stay its own.
func (t *tree) remove(col *column) {
	t.agent.server.Remove(col.metric.Name)
	delete(t.used, col.metric.Name)
	delete(t.metrics, t.agent.server.PMID(col.metric.Cluster, col.metric.Item))
	col.there = false
	col.user.metrics--
	t.agent.settle(col.user)
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
func (t *tree) dropOldest(u *account) bool {
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

// want notes which columns a request asks for.
func (t *tree) want(list []pcp.PMID) {
	if !t.changed && slices.Equal(list, t.ids) {
		return
	}
	for _, g := range t.wanted {
		g.want = g.want[:0]
	}
	t.wanted, t.changed = t.wanted[:0], false
	t.plan++
	t.ids = append(t.ids[:0], list...)
	for _, id := range list {
		col := t.metrics[id]
		if col == nil || slices.Contains(col.group.want, uint16(col.index)) {
			continue
		}
		if len(col.group.want) == 0 {
			t.wanted = append(t.wanted, col.group)
		}
		col.group.want = append(col.group.want, uint16(col.index))
	}
}

// vendor is the second element of a path.
func vendor(path string) string {
	_, rest, _ := strings.Cut(path, "/")
	v, _, _ := strings.Cut(rest, "/")
	return v
}

// number splits a metric's number into cluster and item.
func (t *tree) number(key string) (cluster, item int, err error) {
	n, err := t.items.ID(key)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errNumber, err)
	}
	return firstCluster + int(n)>>10, int(n) & pcp.MaxItem, nil
}
