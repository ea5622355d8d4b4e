package naming

import (
	"fmt"
	"strings"

	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// Metric makes the name of a metric, on a user's account, for a statistic of the fixed
// context at path, or of the volatile ones below it, which key tells. Parts that come out
// like others of another kind, or of another path, have a suffix; see claim for who has
// not. taken reports whether another metric has a name.
func (n *Names) Metric(path, key, stat string, u *account.User, taken func(name string) bool) (string, error) {
	name := n.Root
	for i := len(n.Root) + 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		node := name + "." + Part(path[strings.LastIndexByte(path[:i], '/')+1:i])
		mine, err := n.claim(node, "/", u) // contexts may share a node; statistics may not
		if err != nil {
			return "", err
		}
		if name = node; !mine {
			name += Suffix(path[:i])
		}
	}
	leaf, original := name+"."+Part(stat), key+"/"+stat
	mine, err := n.claim(leaf, original, u)
	if !mine || taken(leaf) {
		leaf += Suffix(original)
	}
	return leaf, err
}

// claim reports whether what was called original has the plain name: the first one that
// comes, for as long as its metric is there, with or without supplier. After that another
// user may take the name over; of one user's the same one has it for ever. All that is kept:
// plain, what has it and who, and again under a higher number for each that took it over.
func (n *Names) claim(plain, original string, u *account.User) (bool, error) {
	turn := n.holder(plain)
	key, user := generation(plain, turn), fmt.Sprint(" @", u.UID)
	if _, there := n.names.Lookup(key); there {
		if _, mine := n.names.Lookup(key + " " + original); mine {
			return true, nil
		}
		if _, same := n.names.Lookup(key + user); same || !n.vacant(plain) || n.Users.NewName(u) != nil {
			return false, nil
		}
		key = generation(plain, turn+1)
	}
	for _, name := range []string{key + user, key + " " + original, key} { // the key last: it makes them count
		if _, err := n.names.ID(name); err != nil {
			return false, ErrNumber
		}
	}
	return true, nil
}

// holder returns how often a plain name has been taken over.
func (n *Names) holder(plain string) int {
	has := func(turn int) bool {
		_, ok := n.names.Lookup(generation(plain, turn))
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

func generation(plain string, turn int) string {
	if turn == 0 {
		return plain
	}
	return fmt.Sprintf("%s ^%d", plain, turn)
}

// vacant reports whether no metric has a name or is below it. At the start that is not known
// until all are there again.
func (n *Names) vacant(name string) bool {
	return n.below[name] == 0 && n.Settled()
}

// Used counts a metric that comes or goes.
func (n *Names) Used(name string, add int) {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '.' {
			continue
		}
		if n.below[name[:i]] += add; n.below[name[:i]] == 0 {
			delete(n.below, name[:i])
		}
	}
}
