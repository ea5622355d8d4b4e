package agent

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/pcp-rtime/rtime/internal/ids"
	"github.com/pcp-rtime/rtime/pcp"
)

func (t *tree) init(a *Agent) {
	*t = tree{agent: a, groups: make(map[string]*group), paths: make(map[string]*live), fixed: make(map[string]int),
		waiting: make(map[string][]*live), metrics: make(map[pcp.PMID]*column), used: make(map[string]*column), below: make(map[string]int)}
}

// open opens the files of the numbers that are kept for ever: metrics, instance domains,
// and who of several that come out alike has a name unchanged.
func (t *tree) open() error {
	files := []struct {
		to   *numbers
		part string
		max  int32
	}{
		{&t.items, "items", (pcp.MaxCluster+1-firstCluster)*(pcp.MaxItem+1) - 1},
		{&t.serials, "serials", pcp.MaxSerial - firstSerial},
		{&t.names, "names", ids.FirstVolatile - 1},
		{&t.instances, "instances", math.MaxInt32},
	}
	maps, errs := make([]*ids.Map, len(files)), make([]error, len(files))
	var all sync.WaitGroup // to open one takes as long as the disk does
	for i, f := range files {
		if t.agent.stateDir == "" {
			*f.to = make(memory)
			continue
		}
		all.Go(func() { maps[i], errs[i] = ids.OpenMax(t.path(f.part), f.max) })
	}
	all.Wait()
	for i, m := range maps {
		if m != nil {
			*files[i].to = m
			t.opened(t.path(files[i].part), m)
		}
	}
	return errors.Join(errs...)
}

// path returns where numbers are kept.
func (t *tree) path(part string) string {
	return filepath.Join(t.agent.stateDir, Name+"."+part+".ids")
}

// opened notes that a file is to be closed, and says what is wrong with it.
func (t *tree) opened(path string, m *ids.Map) {
	if d := m.Damage(); d != nil {
		t.agent.server.Logf("%s is damaged and was set aside: %v", path, d)
	}
	if err := m.Err(); err != nil {
		t.agent.server.Logf("%s: no new names for now: %v", path, err)
	}
	t.closers = append(t.closers, m.Close)
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

func (t *tree) addFixed(l *live) error {
	g := t.group(l.c.Path, l.c.Path)
	f, err := t.form(l, g)
	if err != nil {
		t.tidy(g)
		return err
	}
	g.live, l.form = l, f
	g.settle(l)
	t.use(f, g, 1)
	return nil
}

func (t *tree) addVolatile(l *live) error {
	path, inst := t.home(l.c.Path)
	u, limits := l.sup.user, &t.agent.conf
	if t.agent.newNames(u) < 1 {
		return overLimit("new names in a day", limits.Names)
	}
	g := t.group(path, path+"/*")
	if err := t.domain(g, u); err != nil {
		return err
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
	l.form = f
	g.settle(l)
	id, err := g.insts.Add(l.inst, l.at)
	if err != nil {
		g.leave(l)
		return err
	}
	if id > g.highest { // new numbers ascend
		g.highest = id
		u.names.left--
		t.relabel = true
	}
	t.use(f, g, 1)
	return nil
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

// use counts the contexts that have a form's metrics.
func (t *tree) use(f *form, g *group, n int) {
	for i, s := range f.stats {
		if s == nil {
			continue
		}
		col := g.columns[i]
		if col.users += n; col.users == 0 {
			col.away, t.unsaved = t.agent.now(), true
		} else if col.users == n {
			t.unsaved = true
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
	l.group.leave(l)
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

// number splits a metric's number into cluster and item.
func (t *tree) number(key string) (cluster, item int, err error) {
	n, err := t.items.ID(key)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errNumber, err)
	}
	return firstCluster + int(n)>>10, int(n) & pcp.MaxItem, nil
}
