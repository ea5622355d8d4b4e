package agent

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

func newTree(users *account.Users, r *roster, d *demand, now func() time.Time, complain func(uint32, string, ...any)) *tree {
	return &tree{users: users, conf: users.Conf, contexts: newContexts(users), roster: r, demand: d, now: now, complain: complain,
		groups: make(map[string]*group), paths: make(map[string]*live), waiting: make(map[string][]*live),
		metrics: make(map[pcp.PMID]*column), used: make(map[string]*column), nodes: make(map[string]int), owners: make(map[string][]*source)}
}

// open lets the tree export metrics.
func (t *tree) open(s *pmda.Server, n *naming.Names, k *naming.Keeper) {
	t.server, t.names, t.keeper, t.contexts.names = s, n, k, n
}

// add exports a context. If the context has to wait, add puts it into the queue for its
// path.
func (t *tree) add(l *live) {
	if err := t.tryAdd(l); err != nil {
		if waits(err) {
			t.waiting[l.c.Path] = append(t.waiting[l.c.Path], l)
			if err == naming.ErrNumber {
				t.freed = append(t.freed, l.c.Path)
			}
		}
		l.src.fault(l.c.Path, err)
	}
}

func (t *tree) tryAdd(l *live) error {
	c, s, limits := l.c, l.src, t.conf
	if err := t.may(s.user, c.Path); err != nil {
		return err
	}
	if other := t.paths[c.Path]; other != nil {
		if !precedes(s, other.src) {
			return errTaken
		}
		t.displace(other, errTaken)
	}
	switch n := len(c.Stats); {
	case s.user.Contexts >= limits.Contexts:
		return account.Over("contexts", "maxcontexts", limits.Contexts)
	case s.user.Values+n > limits.Statistics:
		return account.Over("values", "maxstatistics", limits.Statistics)
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
	t.most = max(t.most, len(t.paths))
	t.exports++
	t.values += l.form.n
	s.user.Contexts++
	s.user.Values += len(c.Stats)
	s.values += l.form.n
	s.count++
	if c.From >= 0 {
		if err := t.contexts.add(s, c); err != nil {
			s.fault(c.Path, err)
		}
	}
	return nil
}

func (t *tree) addFixed(l *live) error {
	g := t.group(l.c.Path, false)
	f, err := t.form(l, g)
	if err != nil {
		t.tidy(g)
		return err
	}
	g.live, l.form = l, f
	t.hold(f, g, 1)
	g.join(l)
	t.use(f, g, 1)
	return nil
}

func (t *tree) addVolatile(l *live) error {
	path, inst := t.names.Home(l.c.Path, func(parent string) bool { return t.groups[parent] != nil })
	u := l.src.user
	g := t.group(path, true)
	if g.held == 0 {
		g.inst = t.names.Divided(path)
	}
	if err := t.domain(g, u); err != nil {
		return err
	}
	var err error
	key := formKey{g, l.c.From}
	f := l.src.forms[key]
	if f == nil || !t.complete(f, g) {
		if f != nil {
			t.hold(f, g, -1)
			delete(l.src.forms, key)
		}
		if f, err = t.form(l, g); err != nil {
			return err
		}
		l.src.forms[key] = f
		t.hold(f, g, 1)
	}
	if l.inst, err = t.names.Instance(g.path, inst, u); err != nil {
		return err
	}
	if _, taken := g.insts.Get(l.inst); taken { // in a domain that has numbers of its own
		l.inst += naming.Suffix(inst)
	}
	known := t.names.HasInstance(g.insts.Serial, l.inst)
	if !known {
		if err := t.users.NameLeft(u); err != nil {
			return err
		}
	}
	l.form = f
	g.join(l)
	id, err := g.insts.Add(l.inst, l.at)
	if err != nil {
		g.leave(l)
		return err
	}
	if id > g.highest { // new numbers ascend
		g.highest = id
		_ = t.users.NewName(u) // NameLeft has checked that one is left
		t.relabel = true
	}
	if !known && g.insts.IDs != nil { // not in a domain that has numbers of its own
		t.users.Name(u, l.inst)
	}
	t.use(f, g, 1)
	return nil
}

// use counts the contexts that use the metrics of a form.
func (t *tree) use(f *form, g *group, n int) {
	for i, s := range f.stats {
		if s == nil {
			continue
		}
		col := g.columns[i]
		if col.users += n; col.users == 0 {
			col.away = t.now()
		}
	}
}

// hold counts the suppliers that declare the statistics of a form. Such a supplier keeps the
// metrics' names until it goes, even while it has no context of the kind.
func (t *tree) hold(f *form, g *group, n int) {
	g.held += n
	for i, s := range f.stats {
		if s == nil {
			continue
		}
		col := g.columns[i]
		if col.holders += n; col.there && (col.holders == 0 || col.holders == n) {
			t.names.Living(col.metric.Name, n)
		}
	}
}

// drop removes a context.
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
		t.hold(l.form, l.group, -1)
	}
	t.use(l.form, l.group, -1)
	delete(t.paths, path)
	if len(t.paths) < t.most/4 { // a map does not shrink by itself
		t.paths, t.most = maps.Collect(maps.All(t.paths)), len(t.paths)
	}
	t.exports--
	t.values -= l.form.n
	l.src.user.Contexts--
	l.src.user.Values -= len(l.c.Stats)
	l.src.values -= l.form.n
	l.src.count--
	if l.c.From >= 0 {
		t.contexts.drop(l.src, l.c)
	}
	l.group.leave(l)
	if t.waiting[path] != nil {
		t.freed = append(t.freed, path)
	}
}

// retry exports contexts whose path is free now.
func (t *tree) retry() {
	freed := t.freed
	t.freed = nil
	for _, path := range freed {
		for t.waiting[path] != nil {
			l := t.waiting[path][0]
			err := t.tryAdd(l)
			if errors.Is(err, errTaken) || errors.Is(err, errBelow) {
				break
			}
			if err == naming.ErrNumber {
				t.freed = append(t.freed, path)
				break
			}
			if t.waiting[path] = t.waiting[path][1:]; len(t.waiting[path]) == 0 {
				delete(t.waiting, path)
			}
			if err != nil {
				l.src.fault(path, err)
			} else {
				t.complain(l.src.user.UID, "supplier %s: has %s now", l.src.row.title, path)
			}
		}
	}
}
