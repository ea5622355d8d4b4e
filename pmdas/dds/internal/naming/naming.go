// Package naming decides under which names and numbers of PCP the contexts and statistics
// of suppliers are shown. Names that PCP does not allow are rewritten (see Part), names
// that come out alike are told apart, and numbers that were once given are kept for ever.
//
// Everything here belongs to the agent's serving goroutine, but for what a Keeper writes.
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

// Clusters and serials below these are the agent's own.
const (
	FirstCluster = 8
	FirstSerial  = 16
)

// ErrNumber tells that no number could be given.
var ErrNumber = errors.New("no number at present")

// Options are what Names are made with.
type Options struct {
	Agent string // its name, which the names of files begin with
	Root  string // of all metrics' names
	Dir   string // of the files; empty: nothing is kept
	Store Store
	Users *account.Users
	Log   func(format string, args ...any)

	// Settled reports whether all metrics that outlive their suppliers are shown again,
	// and all suppliers are taken in.
	Settled func() bool
}

// Store is where numbers come from; *pmda.Server is one.
type Store interface {
	OpenIDs(part string, max int32) (pmda.KeptNumbers, error)
	HasIDs(part string) bool
}

// Names gives names and numbers.
type Names struct {
	Options
	items, serials, names pmda.KeptNumbers
	instances             pmda.KeptNumbers // of all domains that have none of their own

	fixed map[string]int // how many suppliers have a fixed context
	below map[string]int // how many metrics there are at a node of the name space and below it
}

// Open opens the numbers that are kept for ever: metrics, instance domains, instances, and
// who of several that come out alike has a name unchanged.
func Open(o Options) (*Names, error) {
	n := &Names{Options: o, fixed: make(map[string]int), below: make(map[string]int)}
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

// Known reports whether a metric's key has its number already.
func (n *Names) Known(key string) bool {
	_, ok := n.items.Lookup(key)
	return ok
}

// Item returns a metric's number, split into cluster and item.
func (n *Names) Item(key string) (cluster, item int, err error) {
	id, err := n.items.ID(key)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", ErrNumber, err)
	}
	return FirstCluster + int(id)>>10, int(id) & pcp.MaxItem, nil
}

// Serial returns the number of the instance domain of the contexts below a path.
func (n *Names) Serial(path string) (int, error) {
	id, err := n.serials.ID(path)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNumber, err)
	}
	return FirstSerial + int(id), nil
}

// Instances returns where the instances of a domain have their numbers from: all domains
// share them. A domain that has numbers of its own, as earlier versions gave them, goes on
// with those, which is nil.
func (n *Names) Instances(serial int) pmda.Numbers {
	if n.Store.HasIDs(strconv.Itoa(serial)) {
		return nil
	}
	return within{n.instances, strconv.Itoa(serial) + " "}
}

// within gives the instances of one domain numbers of those that all share.
type within struct {
	all    pmda.Numbers
	prefix string
}

func (w within) ID(name string) (int32, error) { return w.all.ID(w.prefix + name) }

// Fixed counts the fixed contexts of suppliers, which are what volatile ones are
// instances below.
func (n *Names) Fixed(path string, add int) {
	if n.fixed[path] += add; n.fixed[path] == 0 {
		delete(n.fixed, path)
	}
}
