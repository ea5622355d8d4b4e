package agent

import (
	"fmt"
	"strings"

	"github.com/pcp-rtime/rtime/pmdas/dds/internal/names"
)

// name makes the name of a metric, on a user's account. Parts that come out like others of
// another kind, or of another path, have a suffix; see claim for who has not.
func (t *tree) name(col *column, u *account) (string, error) {
	g, stat, name := col.group, col.stat, Root
	for i := len(Root) + 1; i <= len(g.path); i++ {
		if i < len(g.path) && g.path[i] != '/' {
			continue
		}
		node := name + "." + names.Part(g.path[strings.LastIndexByte(g.path[:i], '/')+1:i])
		mine, err := t.claim(node, "/", u) // contexts may share a node; statistics may not
		if err != nil {
			return "", err
		}
		if name = node; !mine {
			name += names.Suffix(g.path[:i])
		}
	}
	leaf, path := name+"."+names.Part(stat), g.key+"/"+stat
	mine, err := t.claim(leaf, path, u)
	if other := t.used[leaf]; !mine || other != nil && other != col {
		leaf += names.Suffix(path)
	}
	return leaf, err
}

// claim reports whether what was called original has the plain name: the first one that
// comes, for as long as its metric is there, with or without supplier. After that another
// user may take the name over; of one user's the same one has it for ever. All that is kept:
// plain, what has it and who, and again under a higher number for each that took it over.
func (t *tree) claim(plain, original string, u *account) (bool, error) {
	n := t.holder(plain)
	key, user := generation(plain, n), fmt.Sprint(" @", u.uid)
	if _, there := t.names.Lookup(key); there {
		if _, mine := t.names.Lookup(key + " " + original); mine {
			return true, nil
		}
		if _, same := t.names.Lookup(key + user); same || !t.vacant(plain) || t.agent.newNames(u) < 1 {
			return false, nil
		}
		key = generation(plain, n+1)
		u.names.left--
	}
	for _, name := range []string{key + user, key + " " + original, key} { // the key last: it makes them count
		if _, err := t.names.ID(name); err != nil {
			return false, errNumber
		}
	}
	return true, nil
}

// holder returns how often a plain name has been taken over.
func (t *tree) holder(plain string) int {
	has := func(n int) bool {
		_, ok := t.names.Lookup(generation(plain, n))
		return ok
	}
	low, high := 0, 1 // that of low counts, or none does
	for has(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := (low + high) / 2; has(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

func generation(plain string, n int) string {
	if n == 0 {
		return plain
	}
	return fmt.Sprintf("%s ^%d", plain, n)
}

// vacant reports whether no metric has a name or is below it. At the start that is not known
// until all are there again.
func (t *tree) vacant(name string) bool {
	return t.below[name] == 0 && len(t.agent.keeper.todo) == 0 && len(t.agent.fresh) == 0
}

// nodes counts a metric that comes or goes.
func (t *tree) nodes(name string, n int) {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '.' {
			continue
		}
		if t.below[name[:i]] += n; t.below[name[:i]] == 0 {
			delete(t.below, name[:i])
		}
	}
}

// renamed reports whether a metric without supplier is due another name.
func (t *tree) renamed(col *column, u *account) bool {
	name, err := t.name(col, u)
	return err == nil && name != col.metric.Name
}
