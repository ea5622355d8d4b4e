package agent

import (
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// group finds the group of a fixed context, or of the volatile ones below it. If there is
// none, it makes one.
func (t *tree) group(path string, volatile bool) *group {
	key := naming.GroupKey(path, volatile)
	g := t.groups[key]
	if g == nil {
		g = &group{key: key, path: path, volatile: volatile, byLabel: make(map[string]int), highest: -1}
		t.groups[key] = g
	}
	return g
}

// domain gives a group its instance domain, if it has none, on a user's account.
func (t *tree) domain(g *group, u *account.User) error {
	if g.insts != nil {
		return nil
	}
	if limit := t.users.Conf.Domains; u.Domains >= limit {
		t.tidy(g)
		return account.Over("contexts with volatile ones below", "maxdomains", limit)
	}
	serial, err := t.names.Serial(g.path, u)
	if err != nil {
		return naming.ErrNumber
	}
	u.Domains++
	g.insts = &pmda.InDom[place]{
		Serial: serial, Name: "contexts below " + g.path, Keep: true, IDs: t.names.Instances(serial),
		OneLine:        "volatile contexts below " + naming.Line(g.path),
		Help:           "Suppliers add and delete them while they run. Their paths are in the label path.",
		Prepare:        func(list []place) { g.collect(t, list) },
		InstanceLabels: func(p place) pcp.Labels { return t.bounded(g.lives[p]) },
	}
	return nil
}

// join gives a context a place in its group.
func (g *group) join(l *live) {
	if n := len(g.free); n > 0 {
		l.at = g.free[n-1]
		g.free = g.free[:n-1]
	} else {
		l.at = place(len(g.lives))
		g.lives, g.spots, g.seen = append(g.lives, nil), append(g.spots, spot{}), append(g.seen, 0)
	}
	g.lives[l.at], g.spots[l.at] = l, spot{l.c.Place, l.form}
	l.group = g
}

// leave gives the place back.
func (g *group) leave(l *live) {
	g.lives[l.at], g.spots[l.at] = nil, spot{}
	g.free = append(g.free, l.at)
	l.group = nil
	if len(g.free) == len(g.lives) { // slices do not shrink by themselves
		g.lives, g.spots, g.seen, g.free = nil, nil, nil, nil
		for _, col := range g.columns {
			col.bits, col.texts = nil, nil
		}
	}
}

// complete reports whether all metrics of a form are still exported. If a metric has its
// second name and no context at present, it reports false, so that the metric can get its
// first name.
func (t *tree) complete(f *form, g *group) bool {
	second := f.second
	for i, s := range f.stats {
		if s == nil {
			continue
		}
		if !g.columns[i].there {
			return false
		}
		second = second && g.columns[i].users == 0
	}
	return !second
}
