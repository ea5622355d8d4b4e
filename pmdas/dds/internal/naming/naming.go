// Package naming decides which names and numbers of PCP the contexts and statistics of
// suppliers have. Names that PCP does not allow are rewritten (see Part), names that come out
// alike are told apart, and a number that was once given is kept for ever.
//
// Everything here belongs to the agent's serving goroutine.
package naming

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// Clusters and serials below these belong to the agent itself.
const (
	FirstCluster = 8
	FirstSerial  = 16
)

// ErrNumber says that a metric or context got no number: the file of numbers cannot be written
// now, or all numbers are used up.
var ErrNumber = errors.New("no number for it: the agent's file of numbers cannot be written now, or all numbers are used up")

// Options are the options of Open.
type Options struct {
	Root  string // of all metrics' names
	Store Store

	// Agent and Dir tell where an earlier version kept metrics: DIR/AGENT.kept. If Dir is
	// empty there is no such file.
	Agent, Dir string
	Users      *account.Users
	Log        func(format string, args ...any)

	// Complete reports whether all suppliers that are there have been taken in.
	Complete func() bool
}

// Store is where numbers come from and metrics are kept; *pmda.Server is one.
type Store interface {
	OpenIDs(part string, max int32) (pmda.KeptNumbers, error)
	HasIDs(part string) bool
	Keep(key string, value []byte) error
	Kept(each func(key string, value []byte)) error
}

// Names gives names and numbers.
type Names struct {
	Options
	items, serials, names pmda.KeptNumbers
	instances             pmda.KeptNumbers // of all domains that have no numbers of their own

	fixed   map[string]int // how many suppliers have a fixed context
	divided map[string]int // how many suppliers have it with statistics of its own
	living  map[string]int // how many metrics of suppliers that are there are at a node of the name space and below it
}

// Open opens the numbers that are kept for ever: those of metrics, instance domains and
// instances. It also opens the names: they tell which of several that come out alike has the
// name unchanged.
func Open(o Options) (*Names, error) {
	n := &Names{Options: o, fixed: make(map[string]int), divided: make(map[string]int), living: make(map[string]int)}
	for _, part := range []struct {
		to   *pmda.KeptNumbers
		name string
		max  int32
	}{
		{&n.items, "items", (pcp.MaxCluster+1-FirstCluster)*(pcp.MaxItem+1) - 1},
		{&n.serials, "serials", pcp.MaxSerial - FirstSerial},
		{&n.names, "names", math.MaxInt32 >> 1},
		{&n.instances, "instances", math.MaxInt32},
	} {
		var err error
		if *part.to, err = o.Store.OpenIDs(part.name, part.max); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Key is what a metric's number is given to.
type Key struct {
	Text  string
	known bool
	mark  string // how it is registered among the names
}

// Key returns the key of the metric for a path in a form, which is its type, semantics and
// units. A number belongs for ever to one path in one form. When the form changes, the number
// is not used any more, even if the form changes back: the metric then gets a third number.
func (n *Names) Key(form, path string) Key {
	mark := "number of " + path
	turn := n.last(func(turn int) string { return keyOf(mark, turn) })
	k := Key{Text: keyOf(form+" "+path, max(turn, 0)), mark: keyOf(mark, max(turn, 0))}
	if k.known = n.Known(k.Text); !k.known && turn >= 0 {
		k = Key{Text: keyOf(form+" "+path, turn+1), mark: keyOf(mark, turn+1)}
		k.known = n.Known(k.Text)
	}
	return k
}

// New reports whether the key has no number yet.
func (k Key) New() bool { return !k.known }

// keyOf adds to a name how often its form has changed. No path holds a tab.
func keyOf(name string, turn int) string {
	if turn == 0 {
		return name
	}
	return fmt.Sprintf("%s\t%d", name, turn)
}

// last returns the last turn whose name is registered among the names, or -1. Turns are
// registered in order.
func (n *Names) last(name func(turn int) string) int {
	has := func(turn int) bool {
		_, ok := n.names.Lookup(name(turn))
		return ok
	}
	low, high := -1, 0 // the name of turn low is there
	for has(high) {
		low, high = high, 2*high+1
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

// Known reports whether the text of a key already has a number.
func (n *Names) Known(text string) bool {
	_, ok := n.items.Lookup(text)
	return ok
}

// Give gives a key its number, on a user's account.
func (n *Names) Give(k Key, u *account.User) error {
	if _, err := n.items.ID(k.Text); err != nil {
		return fmt.Errorf("%w: %w", ErrNumber, err)
	}
	if k.New() {
		n.Users.Name(u, k.Text)
	}
	return n.register(k.mark, u) // the mark comes last: it makes the number count
}

// Item returns the number of a key's text, split into cluster and item.
func (n *Names) Item(text string) (cluster, item int, err error) {
	id, ok := n.items.Lookup(text)
	if !ok {
		return 0, 0, ErrNumber
	}
	return FirstCluster + int(id)>>10, int(id) & pcp.MaxItem, nil
}

// Serial returns the number of the instance domain of the contexts below a path. A new number
// is charged to the user's account.
func (n *Names) Serial(path string, u *account.User) (int, error) {
	_, known := n.serials.Lookup(path)
	id, err := n.serials.ID(path)
	if err == nil && !known {
		n.Users.Name(u, path)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNumber, err)
	}
	return FirstSerial + int(id), nil
}

// Instances returns the source of the numbers of a domain's instances. All domains share one
// source. A domain that has numbers of its own, as earlier versions gave them, keeps those;
// Instances then returns nil.
func (n *Names) Instances(serial int) pmda.Numbers {
	if n.Store.HasIDs(strconv.Itoa(serial)) {
		return nil
	}
	return within{n.instances, strconv.Itoa(serial) + " "}
}

// within gives the instances of one domain numbers from the source that all domains share.
type within struct {
	all    pmda.Numbers
	prefix string
}

// InstanceID returns the number of an instance of one of the agent's own domains, which are
// below FirstSerial.
func (n *Names) InstanceID(serial int, name string) (int32, error) {
	return n.instances.ID(strconv.Itoa(serial) + " " + name)
}

// HasInstance reports whether the instance already has a number.
func (n *Names) HasInstance(serial int, name string) bool {
	_, ok := n.instances.Lookup(strconv.Itoa(serial) + " " + name)
	return ok
}

func (w within) ID(name string) (int32, error) { return w.all.ID(w.prefix + name) }

// Fixed counts the fixed contexts of suppliers that are there; volatile ones are instances
// below them. It returns true if the metrics of those volatile contexts now have other names,
// because the fixed context had no statistics of its own before.
func (n *Names) Fixed(path string, statistics bool, add int) bool {
	count(n.fixed, path, add)
	if statistics {
		count(n.divided, path, add)
	}
	return statistics && add > 0 && n.divided[path] == 1
}

// Divided reports whether a supplier that is there has a fixed context of that path with
// statistics of its own.
func (n *Names) Divided(path string) bool { return n.divided[path] > 0 }

func count(m map[string]int, key string, add int) {
	if m[key] += add; m[key] == 0 {
		delete(m, key)
	}
}
