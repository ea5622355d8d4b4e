package naming

import (
	"fmt"
	"strings"

	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// Statistic is what a metric's name is made from.
type Statistic struct {
	Path     string // of its fixed context, or of the fixed context above the volatile ones that have it
	Volatile bool
	Inst     bool   // the name has the part Inst
	Label    string // the statistic's name, with further parts before it if it alone is not enough
}

// Inst is a part of the names of volatile contexts' statistics. It tells these from the
// statistics of the fixed context above, if that has any.
const Inst = "inst"

// Key returns the path of a statistic. In the path of volatile contexts' statistics an asterisk
// stands for the contexts' names. If a context's own name is made of asterisks, one more is
// added to it.
func (s Statistic) Key() string { return GroupKey(s.Path, s.Volatile) + "/" + s.Label }

// GroupKey returns the key of a fixed context, or of the volatile ones below it.
func GroupKey(path string, volatile bool) string {
	key := path
	if strings.Contains(path, "*") {
		parts := strings.Split(path, "/")
		for i, p := range parts {
			if strings.Trim(p, "*") == "" {
				parts[i] += "*"
			}
		}
		key = strings.Join(parts, "/")
	}
	if volatile {
		key += "/*"
	}
	return key
}

// Metric makes the name of a metric, on a user's account. The parts of the context's path and
// those of the label are the parts of the name. If a part comes out like one of another kind or
// of another path, one of the two gets a suffix; claim decides which. taken reports whether
// another metric has a name.
func (n *Names) Metric(s Statistic, u *account.User, taken func(name string) bool) (string, error) {
	name, node := n.Root, ""
	add := func(part, original string) error {
		node = name + "." + part
		mine, err := n.claim(node, u, "/") // contexts may share a node; statistics may not
		if name = node; !mine {
			name += Suffix(original)
		}
		return err
	}
	for i := strings.IndexByte(s.Path+"/", '/') + 1; i <= len(s.Path); i++ { // the first part is Root
		if i < len(s.Path) && s.Path[i] != '/' {
			continue
		}
		if err := add(Part(s.Path[strings.LastIndexByte(s.Path[:i], '/')+1:i]), s.Path[:i]); err != nil {
			return "", err
		}
	}
	originals := []string{s.Key()}
	if s.Inst {
		if err := add(Inst, s.Path+"/*"); err != nil {
			return "", err
		}
	} else if s.Volatile && !strings.Contains(s.Label, "/") {
		// Both share one name: the context itself has no statistics now. If it gets some later,
		// this metric has another name by then.
		originals = append(originals, GroupKey(s.Path, false)+"/"+s.Label)
	} else if !s.Volatile {
		originals = append(originals, GroupKey(s.Path, true)+"/"+s.Label)
	}
	kind := strings.Split(s.Label, "/")
	for i, part := range kind[:len(kind)-1] {
		if err := add(Part(part), s.Path+"/"+strings.Join(kind[:i+1], "/")); err != nil {
			return "", err
		}
	}
	leaf := name + "." + Part(kind[len(kind)-1])
	mine, err := n.claim(leaf, u, originals...)
	if !mine || taken(leaf) {
		leaf += Suffix(s.Key())
	}
	return leaf, err
}

// claim reports whether the thing called by one of the originals has the plain name. The first
// one that comes has it while suppliers that are there have something of that name or below it.
// After that another user may take the name over; among the things of one user the first keeps
// it for ever. All of this is kept: the plain name, the thing that has it, and its user. Each
// take-over adds the same again with a higher number.
func (n *Names) claim(plain string, u *account.User, originals ...string) (bool, error) {
	turn := n.last(func(turn int) string { return holder(plain, turn) })
	key, user := holder(plain, max(turn, 0)), fmt.Sprint(" @", u.UID)
	if turn >= 0 {
		for _, o := range originals {
			if _, mine := n.names.Lookup(key + " " + o); mine {
				return true, nil
			}
		}
		if _, same := n.names.Lookup(key + user); same || n.living[plain] > 0 || !n.Complete() || n.Users.NewName(u) != nil {
			return false, nil
		}
		key = holder(plain, turn+1)
	}
	for _, name := range []string{key + user, key + " " + originals[0], key} { // the key comes last: it makes the others count
		if err := n.register(name, u); err != nil {
			return false, err
		}
	}
	return true, nil
}

// register gives one of the names a number, on a user's account.
func (n *Names) register(name string, u *account.User) error {
	if _, ok := n.names.Lookup(name); ok {
		return nil
	}
	if _, err := n.names.ID(name); err != nil {
		return ErrNumber
	}
	n.Users.Name(u, name)
	return nil
}

// holder returns the key of the one that has the name after so many take-overs.
func holder(plain string, turn int) string {
	if turn == 0 {
		return plain
	}
	return fmt.Sprintf("%s ^%d", plain, turn)
}

// Living counts the metrics of suppliers that come or go.
func (n *Names) Living(name string, add int) {
	for i := range len(name) + 1 {
		if i == len(name) || name[i] == '.' {
			count(n.living, name[:i], add)
		}
	}
}
