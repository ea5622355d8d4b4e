package naming

import (
	"errors"
	"strconv"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// Home returns the context below which a volatile one is an instance, and the name of the
// instance; the names of nested ones are joined with a slash. That context is the nearest
// fixed one that is there when the volatile one is seen for the first time, and it never
// changes: the number of the instance, which is kept, tells which it was. grouped reports
// whether there are metrics of a fixed context.
func (n *Names) Home(path string, grouped func(parent string) bool) (parent, inst string) {
	nearest := ""
	for parent = layout.Parent(path); ; parent = layout.Parent(parent) {
		inst = path[len(parent)+1:]
		if name, mine := n.title(parent, inst); mine && n.numbered(parent, name) {
			return parent, inst
		}
		shared := layout.Shared(parent)
		if nearest == "" && (shared || n.fixed[parent] > 0 || grouped(parent)) {
			nearest = parent
		}
		if shared {
			return nearest, path[len(nearest)+1:]
		}
	}
}

// title returns the name of an instance, and whether the name belongs to this path for ever.
// If it does not, no path has it yet, and the caller registers it. If several paths give the
// same name, the first gets the plain name and the others a suffix. A name that was not
// rewritten needs only its number; a rewritten name is registered among the names.
func (n *Names) title(parent, path string) (name string, mine bool) {
	name = Instance(path)
	plain := parent + "/* " + name
	_, registered := n.names.Lookup(plain)
	switch {
	case name == path:
		if registered {
			name += Suffix(path)
		}
		return name, true
	case registered:
		if _, mine = n.names.Lookup(plain + " " + path); !mine {
			name += Suffix(path)
		}
		return name, true
	case n.numbered(parent, name):
		return name + Suffix(path), true
	}
	return name, false
}

// numbered reports whether an instance already has a number.
func (n *Names) numbered(parent, name string) bool {
	serial, ok := n.serials.Lookup(parent)
	if ok {
		_, ok = n.instances.Lookup(strconv.Itoa(FirstSerial+int(serial)) + " " + name)
	}
	return ok
}

// Instance returns the name of an instance below a context, with a suffix if another context
// has that name. What it registers is charged to the user's account.
func (n *Names) Instance(parent, path string, u *account.User) (string, error) {
	name, mine := n.title(parent, path)
	if !mine {
		if err := n.Users.NameLeft(u); err != nil {
			return "", err
		}
		if _, err := n.owns(parent+"/* "+name, path, u); err != nil {
			return "", err
		}
	}
	return name, nil
}

// owns reports whether the path called original has the plain name, or gets it now. The path
// then has the name for ever.
func (n *Names) owns(plain, original string, u *account.User) (bool, error) {
	if _, ok := n.names.Lookup(plain + " " + original); ok {
		return true, nil
	}
	if _, taken := n.names.Lookup(plain); taken {
		return false, nil
	}
	if err := errors.Join(n.register(plain, u), n.register(plain+" "+original, u)); err != nil {
		return false, ErrNumber
	}
	return true, nil
}
