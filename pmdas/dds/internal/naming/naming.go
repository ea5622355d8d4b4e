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
	"path/filepath"
	"strconv"
	"sync"

	"github.com/pcp-rtime/rtime/internal/ids"
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
	Agent string // its name, which the files' names begin with
	Root  string // of all metrics' names
	Dir   string // of the files; empty: numbers hold for as long as the agent runs
	Users *account.Users
	Log   func(format string, args ...any)

	// Settled reports whether all metrics that outlive their suppliers are shown again,
	// and all suppliers are taken in.
	Settled func() bool
}

// Names gives names and numbers.
type Names struct {
	Options
	items, serials, names numbers
	instances             numbers // of all domains that have no file of their own
	closers               []func() error

	fixed map[string]int // how many suppliers have a fixed context
	below map[string]int // how many metrics there are at a node of the name space and below it
}

// numbers gives names numbers for ever.
type numbers interface {
	ID(name string) (int32, error)
	Lookup(name string) (int32, bool)
}

// memory gives out numbers for as long as the agent runs.
type memory map[string]int32

func (m memory) ID(name string) (int32, error) {
	id, ok := m[name]
	if !ok {
		id = int32(len(m))
		m[name] = id
	}
	return id, nil
}

func (m memory) Lookup(name string) (int32, bool) {
	id, ok := m[name]
	return id, ok
}

// Open opens the files of the numbers that are kept for ever: metrics, instance domains,
// and who of several that come out alike has a name unchanged.
func Open(o Options) (*Names, error) {
	n := &Names{Options: o, fixed: make(map[string]int), below: make(map[string]int)}
	files := []struct {
		to   *numbers
		part string
		max  int32
	}{
		{&n.items, "items", (pcp.MaxCluster+1-FirstCluster)*(pcp.MaxItem+1) - 1},
		{&n.serials, "serials", pcp.MaxSerial - FirstSerial},
		{&n.names, "names", ids.FirstVolatile - 1},
		{&n.instances, "instances", math.MaxInt32},
	}
	maps, errs := make([]*ids.Map, len(files)), make([]error, len(files))
	var all sync.WaitGroup // to open one takes as long as the disk does
	for i, f := range files {
		if o.Dir == "" {
			*f.to = make(memory)
			continue
		}
		all.Go(func() { maps[i], errs[i] = ids.OpenMax(n.path(f.part), f.max) })
	}
	all.Wait()
	for i, m := range maps {
		if m != nil {
			*files[i].to = m
			n.opened(n.path(files[i].part), m)
		}
	}
	return n, errors.Join(errs...)
}

// path returns where numbers are kept.
func (n *Names) path(part string) string {
	return filepath.Join(n.Dir, n.Agent+"."+part+".ids")
}

// opened notes that a file is to be closed, and says what is wrong with it.
func (n *Names) opened(path string, m *ids.Map) {
	if d := m.Damage(); d != nil {
		n.Log("%s is damaged and was set aside: %v", path, d)
	}
	if err := m.Err(); err != nil {
		n.Log("%s: no new names for now: %v", path, err)
	}
	n.closers = append(n.closers, m.Close)
}

// Close closes the files.
func (n *Names) Close() {
	for _, f := range n.closers {
		if err := f(); err != nil {
			n.Log("%v", err)
		}
	}
}

// Sync waits until all numbers are on the disk.
func (n *Names) Sync() error {
	for _, f := range []numbers{n.items, n.serials, n.names, n.instances} {
		if m, ok := f.(*ids.Map); ok {
			if err := m.Sync(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Writable reports whether the files are this process's to write.
func (n *Names) Writable() bool {
	items, ok := n.items.(*ids.Map)
	return ok && items.Err() == nil
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
// share one file, as to open one takes as long as the disk does. A domain that has a file
// of its own, as earlier versions made them, goes on with that, which is nil.
func (n *Names) Instances(serial int) pmda.Numbers {
	if n.Dir != "" && there(filepath.Join(n.Dir, fmt.Sprintf("%s.%d.ids", n.Agent, serial))) {
		return nil
	}
	return within{n.instances, strconv.Itoa(serial) + " "}
}

// within gives the instances of one domain numbers of those that all share.
type within struct {
	all    numbers
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
