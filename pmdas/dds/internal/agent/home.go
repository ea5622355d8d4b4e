package agent

import (
	"strconv"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/names"
)

// home returns the context below which a volatile one is an instance, and the name of
// the instance: nested ones join with a slash. That is the nearest fixed one that is there
// when the volatile one is seen for the first time, and is for ever: the instance's number,
// which is kept, tells which it was.
func (t *tree) home(path string) (parent, inst string) {
	nearest := ""
	for parent = layout.Parent(path); ; parent = layout.Parent(parent) {
		inst = path[len(parent)+1:]
		if name, mine := t.title(parent, inst); mine && t.numbered(parent, name) {
			return parent, inst
		}
		shared := layout.Shared(parent)
		if nearest == "" && (shared || t.fixed[parent] > 0 || t.groups[parent] != nil) {
			nearest = parent
		}
		if shared {
			return nearest, path[len(nearest)+1:]
		}
	}
}

// title returns the name of an instance, and whether it is its path's for ever. Otherwise
// nobody has it, and it is to be registered. Of several paths that come out alike the first
// one has the plain name, the others a suffix: one that is as it came out needs no more than
// its number for that, another one is registered among the names.
func (t *tree) title(parent, path string) (name string, mine bool) {
	name = names.Instance(path)
	plain := parent + "/* " + name
	_, registered := t.names.Lookup(plain)
	switch {
	case name == path:
		if registered {
			name += names.Suffix(path)
		}
		return name, true
	case registered:
		if _, mine = t.names.Lookup(plain + " " + path); !mine {
			name += names.Suffix(path)
		}
		return name, true
	case t.numbered(parent, name):
		return name + names.Suffix(path), true
	}
	return name, false
}

// numbered reports whether an instance has its number already.
func (t *tree) numbered(parent, name string) bool {
	serial, ok := t.serials.Lookup(parent)
	if ok {
		_, ok = t.instances.Lookup(strconv.Itoa(firstSerial+int(serial)) + " " + name)
	}
	return ok
}

// instance returns an instance's name; where another context has it, with a suffix.
func (t *tree) instance(g *group, path string) (string, error) {
	name, mine := t.title(g.path, path)
	if !mine {
		if _, err := t.owns(g.path+"/* "+name, path); err != nil {
			return "", err
		}
	}
	if _, taken := g.insts.Get(name); taken { // in a domain whose numbers are elsewhere
		name += names.Suffix(path)
	}
	return name, nil
}
