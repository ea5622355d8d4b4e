package pmda

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/internal/ids"
	"github.com/pcp-rtime/rtime/pcp"
)

// InDom declares an instance domain. Each of its instances carries a T, from which the
// metrics over the domain are computed. Fields that are not needed may be left out. An
// InDom belongs to one agent, and its methods to the serving goroutine.
//
// An id once given to a name is never given to another. With Keep the ids are kept on disk,
// so that this holds across restarts and archives stay true. Names are told apart by what
// stands before the first blank, as PCP's clients expect.
type InDom[T any] struct {
	Serial  int    // number of the domain within the agent, the same for ever
	Name    string // for messages and for the file of ids, such as "hosts"
	Keep    bool   // keep ids for ever, in the agent's file of numbers
	OneLine string
	Help    string
	Labels  pcp.Labels // of the domain itself

	// IDs, if not nil, is where ids come from, whatever Keep says. It is for agents that
	// have so many domains that a space of numbers for each would cost too much.
	IDs Numbers

	// InstanceLabels, if not nil, gives the labels of one instance.
	InstanceLabels func(T) pcp.Labels

	// Prepare, if not nil, is called once in each fetch, before its first value is asked
	// for, with what was added for the instances that the client wants. It can read in one
	// go what several metrics show. It must not Add or Remove.
	Prepare func([]T)

	// Lookup, if not nil, is called when a client asks for an instance by a name that is
	// not there. It may Add the instance. Its error goes to the client.
	Lookup func(c *Client, name string) error

	id    pcp.InDom
	ids   Numbers
	all   list[T]         // the active instances
	known []known         // the rest about them, at the same indices
	names map[string]int  // the first word of the name to the index
	byID  map[int32]int32 // id to the index
	most  int             // instances at once since the maps were made
	gen   uint64          // changes with every change of instances
	cache list[T]         // the instances that the profile wants, if not all
	state wantedState     // of what the cache was made
	allAt time.Time       // when all instances were last asked for
}

// known is what else is known of an instance.
type known struct {
	name string
	used time.Duration // when it was last asked for by itself, since epoch; 0 if never
}

// epoch is what times of use are counted from. A Duration takes a third of the room of a Time.
var epoch = time.Now()

// domain is what the server needs of an InDom of any type.
type domain interface {
	Domain
	serial() int
	title() string
	kept() bool
	source() Numbers
	help() (oneline, long string)
	open(id pcp.InDom, n Numbers) error
	labels() pcp.Labels
	instances() []pcp.Instance
	nameOf(id int32) (string, bool)
	idOf(name string) (int32, bool)
	lookup(c *Client, name string) error
	instanceLabels() []instanceLabels
	use(s *Server) // notes that the wanted instances are asked for
}

type instanceLabels struct {
	inst   int32
	labels pcp.Labels
}

// Errors of InDom.Add.
var (
	ErrBadName   = errors.New("instance names are not empty and hold no newline and no zero byte")
	ErrNameTaken = errors.New("another instance has the same name up to the first blank")
)

// Add adds an instance, or replaces the data of one that is there, and returns its id.
func (d *InDom[T]) Add(name string, data T) (int32, error) {
	if name == "" || strings.ContainsAny(name, "\n\x00") {
		return 0, fmt.Errorf("instance %q of %s: %w", name, d.title(), ErrBadName)
	}
	key := firstWord(name)
	if i, ok := d.names[key]; ok {
		if d.known[i].name != name {
			return 0, fmt.Errorf("instance %q of %s: %w: %q", name, d.title(), ErrNameTaken, d.known[i].name)
		}
		d.all.data[i] = data
		d.gen++
		return d.all.ids[i], nil
	}
	d.init()
	id, err := d.ids.ID(name)
	if err != nil {
		return 0, fmt.Errorf("instance %q of %s: %w", name, d.title(), err)
	}
	d.names[key] = d.Len()
	d.byID[id] = int32(d.Len())
	d.all.add(id, data)
	d.known = append(d.known, known{name: name})
	d.most = max(d.most, d.Len())
	d.gen++
	return id, nil
}

// Remove takes an instance away and reports whether it was there. Its id stays
// reserved for its name.
func (d *InDom[T]) Remove(name string) bool {
	i, ok := d.find(name)
	if !ok {
		return false
	}
	last := d.Len() - 1
	delete(d.names, firstWord(name))
	delete(d.byID, d.all.ids[i])
	if i != last {
		d.all.ids[i], d.all.data[i], d.known[i] = d.all.ids[last], d.all.data[last], d.known[last]
		d.names[firstWord(d.known[i].name)] = i
		d.byID[d.all.ids[i]] = int32(i)
	}
	d.all.truncate(last)
	d.known[last] = known{}
	d.known = d.known[:last]
	d.gen++
	if last < d.most/4 {
		d.shrink()
	}
	return true
}

// shrink gives back the memory of instances that are gone: maps and slices do not shrink by
// themselves.
func (d *InDom[T]) shrink() {
	d.most = d.Len()
	d.cache = list[T]{}
	d.all = list[T]{slices.Clone(d.all.ids), slices.Clone(d.all.data)}
	d.known = slices.Clone(d.known)
	d.names, d.byID = make(map[string]int, d.most), make(map[int32]int32, d.most)
	for i, id := range d.all.ids {
		d.names[firstWord(d.known[i].name)], d.byID[id] = i, int32(i)
	}
}

// find returns the index of an instance.
func (d *InDom[T]) find(name string) (i int, ok bool) {
	i, ok = d.names[firstWord(name)]
	return i, ok && d.known[i].name == name
}

// Get returns what was added under a name.
func (d *InDom[T]) Get(name string) (data T, ok bool) {
	if i, found := d.find(name); found {
		return d.all.data[i], true
	}
	return data, false
}

// ByID returns what was added under an id.
func (d *InDom[T]) ByID(id int32) (data T, ok bool) {
	if i, found := d.byID[id]; found {
		return d.all.data[i], true
	}
	return data, false
}

// Len returns the number of instances.
func (d *InDom[T]) Len() int { return len(d.known) }

// All calls f for each instance until it returns false. f must not add or remove.
func (d *InDom[T]) All(f func(inst pcp.Instance, data T) bool) {
	for i, id := range d.all.ids {
		if !f(pcp.Instance{ID: id, Name: d.known[i].name}, d.all.data[i]) {
			return
		}
	}
}

// Used returns when a client last asked for a value of the instance, by name or together
// with all others. It returns the zero time if none has.
func (d *InDom[T]) Used(name string) time.Time {
	i, ok := d.find(name)
	if !ok {
		return time.Time{}
	}
	if used := epoch.Add(d.known[i].used); d.known[i].used != 0 && used.After(d.allAt) {
		return used
	}
	return d.allAt
}

// ID returns the number of the instance domain once the agent is being served.
func (d *InDom[T]) ID() pcp.InDom { return d.id }

func (d *InDom[T]) init() {
	if d.names == nil {
		d.names, d.byID = make(map[string]int), make(map[int32]int32)
	}
	if d.ids == nil {
		d.ids = &counter{ids: make(map[string]int32)}
	}
}

func (d *InDom[T]) domain() domain { return d }
func (d *InDom[T]) use(s *Server)  { d.wanted(s) }
func (d *InDom[T]) serial() int    { return d.Serial }
func (d *InDom[T]) kept() bool     { return d.Keep }

func (d *InDom[T]) source() Numbers { return d.IDs }

func (d *InDom[T]) help() (string, string) { return d.OneLine, d.Help }
func (d *InDom[T]) labels() pcp.Labels     { return d.Labels }

func (d *InDom[T]) title() string {
	if d.Name != "" {
		return d.Name
	}
	return fmt.Sprintf("instance domain %d", d.Serial)
}

// open gives the domain its number and, unless n is nil, where its ids come from. Instances
// that are there already get their ids from n, too.
func (d *InDom[T]) open(id pcp.InDom, n Numbers) error {
	d.id = id
	d.init()
	if n == nil {
		return nil
	}
	d.ids = n
	clear(d.byID)
	d.gen++
	for i := range d.known {
		id, err := n.ID(d.known[i].name)
		if err != nil {
			return fmt.Errorf("instance %q of %s: %w", d.known[i].name, d.title(), err)
		}
		d.all.ids[i] = id
		d.byID[id] = int32(i)
	}
	return nil
}

func (d *InDom[T]) instances() []pcp.Instance {
	out := make([]pcp.Instance, d.Len())
	for i, id := range d.all.ids {
		out[i] = pcp.Instance{ID: id, Name: d.known[i].name}
	}
	return out
}

func (d *InDom[T]) nameOf(id int32) (string, bool) {
	if i, ok := d.byID[id]; ok {
		return d.known[i].name, true
	}
	return "", false
}

// idOf finds an instance by its whole name or, if what is asked for has no blank, by
// the first word of its name.
func (d *InDom[T]) idOf(name string) (int32, bool) {
	i, ok := d.names[firstWord(name)]
	if !ok || strings.IndexByte(name, ' ') >= 0 && d.known[i].name != name {
		return 0, false
	}
	d.known[i].used = time.Since(epoch) // a client that looks it up is about to ask for values
	return d.all.ids[i], true
}

func (d *InDom[T]) lookup(c *Client, name string) error {
	if d.Lookup == nil {
		return pcp.ErrInst
	}
	return d.Lookup(c, name)
}

func (d *InDom[T]) instanceLabels() []instanceLabels {
	if d.InstanceLabels == nil {
		return nil
	}
	out := make([]instanceLabels, d.Len())
	for i, id := range d.all.ids {
		out[i] = instanceLabels{id, d.InstanceLabels(d.all.data[i])}
	}
	return out
}

func firstWord(name string) string {
	if i := strings.IndexByte(name, ' '); i >= 0 {
		return name[:i]
	}
	return name
}

// counter gives out numbers for as long as the agent runs.
type counter struct{ ids map[string]int32 }

func (c *counter) ID(name string) (int32, error) {
	id, ok := c.ids[name]
	if ok {
		return id, nil
	}
	if len(c.ids) > math.MaxInt32 {
		return 0, ids.ErrFull
	}
	id = int32(len(c.ids))
	c.ids[name] = id
	return id, nil
}
