package pmda

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/internal/ids"
	"github.com/pcp-rtime/rtime/pcp"
)

// InDom declares an instance domain whose instances each carry a T: what the metrics
// over it are computed from. The zero value of the fields that are not needed works.
// An InDom belongs to one agent, and its methods to the serving goroutine.
//
// An id once given to a name is never given to another; with Keep the ids are kept
// on disk, so that this holds over restarts and archives stay true. Names are told
// apart by what stands before the first blank, as PCP's clients expect.
type InDom[T any] struct {
	Serial  int    // number of the domain within the agent, the same for ever
	Name    string // for messages and for the file of ids, such as "hosts"
	Keep    bool   // keep ids for ever
	OneLine string
	Help    string
	Labels  pcp.Labels // of the domain itself

	// InstanceLabels, if not nil, gives the labels of one instance.
	InstanceLabels func(T) pcp.Labels

	// Lookup, if not nil, is called when a client asks for an instance by a name
	// that is not there. It may Add it; its error goes to the client.
	Lookup func(c *Client, name string) error

	id    pcp.InDom
	ids   Numbers
	slots []slot[T]      // the active instances
	names map[string]int // the first word of the name to the index in slots
	byID  map[int32]int  // id to the index in slots
	gen   uint64         // changes with every change of slots
	cache []slot[T]      // the instances that the profile wants, if not all
	state wantedState    // of what the cache was made
	allAt time.Time      // when all instances were last asked for
}

type slot[T any] struct {
	id   int32
	name string
	data T
	used time.Time
}

type wantedState struct {
	gen, profile, fetch uint64
}

// domain is what the server needs of an InDom of any type.
type domain interface {
	Domain
	serial() int
	title() string
	kept() bool
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
		if d.slots[i].name != name {
			return 0, fmt.Errorf("instance %q of %s: %w: %q", name, d.title(), ErrNameTaken, d.slots[i].name)
		}
		d.slots[i].data = data
		d.gen++
		return d.slots[i].id, nil
	}
	d.init()
	id, err := d.ids.ID(name)
	if err != nil {
		return 0, fmt.Errorf("instance %q of %s: %w", name, d.title(), err)
	}
	d.names[key] = len(d.slots)
	d.byID[id] = len(d.slots)
	d.slots = append(d.slots, slot[T]{id: id, name: name, data: data})
	d.gen++
	return id, nil
}

// Remove takes an instance away and reports whether it was there. Its id stays
// reserved for its name.
func (d *InDom[T]) Remove(name string) bool {
	i, ok := d.names[firstWord(name)]
	if !ok || d.slots[i].name != name {
		return false
	}
	last := len(d.slots) - 1
	delete(d.names, firstWord(name))
	delete(d.byID, d.slots[i].id)
	if i != last {
		d.slots[i] = d.slots[last]
		d.names[firstWord(d.slots[i].name)] = i
		d.byID[d.slots[i].id] = i
	}
	d.slots[last] = slot[T]{}
	d.slots = d.slots[:last]
	d.gen++
	return true
}

// Get returns what was added under a name.
func (d *InDom[T]) Get(name string) (data T, ok bool) {
	if i, found := d.names[firstWord(name)]; found && d.slots[i].name == name {
		return d.slots[i].data, true
	}
	return data, false
}

// ByID returns what was added under an id.
func (d *InDom[T]) ByID(id int32) (data T, ok bool) {
	if i, found := d.byID[id]; found {
		return d.slots[i].data, true
	}
	return data, false
}

// Len returns the number of instances.
func (d *InDom[T]) Len() int { return len(d.slots) }

// All calls f for each instance until it returns false. f must not add or remove.
func (d *InDom[T]) All(f func(inst pcp.Instance, data T) bool) {
	for i := range d.slots {
		if !f(pcp.Instance{ID: d.slots[i].id, Name: d.slots[i].name}, d.slots[i].data) {
			return
		}
	}
}

// Used returns when a value of the instance was last asked for, be it by name or
// with all others; the zero time if never.
func (d *InDom[T]) Used(name string) time.Time {
	i, ok := d.names[firstWord(name)]
	if !ok || d.slots[i].name != name {
		return time.Time{}
	}
	if d.slots[i].used.After(d.allAt) {
		return d.slots[i].used
	}
	return d.allAt
}

// ID returns the number of the instance domain once the agent is being served.
func (d *InDom[T]) ID() pcp.InDom { return d.id }

// wanted returns the instances that the current profile wants. The answer is kept
// until the profile or the instances change, so that a fetch costs what the wanted
// instances cost and not what all do.
func (d *InDom[T]) wanted(s *Server) []slot[T] {
	state := wantedState{d.gen, s.profile.gen, s.fetches}
	list, all := d.cache, s.profile.all(d.id)
	switch {
	case all:
		list = d.slots
	case state.gen != d.state.gen || state.profile != d.state.profile:
		d.cache = d.resolve(s.profile, d.cache[:0])
		list = d.cache
	}
	if state.fetch != d.state.fetch {
		d.touch(list, all, s.now)
	}
	d.state = state
	if all { // the cache was not made for this state
		d.state.profile = 0
	}
	return list
}

func (d *InDom[T]) touch(list []slot[T], all bool, now time.Time) {
	if all {
		d.allAt = now
		return
	}
	for i := range list {
		if j, ok := d.byID[list[i].id]; ok {
			d.slots[j].used = now
		}
	}
}

// resolve lists the wanted instances: those named, or all but those named.
func (d *InDom[T]) resolve(p *profile, list []slot[T]) []slot[T] {
	if named, ok := p.only(d.id); ok {
		for _, id := range named {
			if i, ok := d.byID[id]; ok {
				list = append(list, d.slots[i])
			}
		}
		return list
	}
	for i := range d.slots {
		if p.wants(d.id, d.slots[i].id) {
			list = append(list, d.slots[i])
		}
	}
	return list
}

func (d *InDom[T]) init() {
	if d.names == nil {
		d.names, d.byID = make(map[string]int), make(map[int32]int)
	}
	if d.ids == nil {
		d.ids = &counter{max: math.MaxInt32, ids: make(map[string]int32)}
	}
}

func (d *InDom[T]) domain() domain { return d }
func (d *InDom[T]) use(s *Server)  { d.wanted(s) }
func (d *InDom[T]) serial() int    { return d.Serial }
func (d *InDom[T]) kept() bool     { return d.Keep }

func (d *InDom[T]) help() (string, string) { return d.OneLine, d.Help }
func (d *InDom[T]) labels() pcp.Labels     { return d.Labels }

func (d *InDom[T]) title() string {
	if d.Name != "" {
		return d.Name
	}
	return fmt.Sprintf("instance domain %d", d.Serial)
}

// open gives the domain its number and, unless n is nil, where its ids come from.
// Instances that are there already get their ids from n too.
func (d *InDom[T]) open(id pcp.InDom, n Numbers) error {
	d.id = id
	d.init()
	if n == nil {
		return nil
	}
	d.ids = n
	clear(d.byID)
	d.gen++
	for i := range d.slots {
		id, err := n.ID(d.slots[i].name)
		if err != nil {
			return fmt.Errorf("instance %q of %s: %w", d.slots[i].name, d.title(), err)
		}
		d.slots[i].id = id
		d.byID[id] = i
	}
	return nil
}

func (d *InDom[T]) instances() []pcp.Instance {
	list := make([]pcp.Instance, len(d.slots))
	for i := range d.slots {
		list[i] = pcp.Instance{ID: d.slots[i].id, Name: d.slots[i].name}
	}
	return list
}

func (d *InDom[T]) nameOf(id int32) (string, bool) {
	if i, ok := d.byID[id]; ok {
		return d.slots[i].name, true
	}
	return "", false
}

// idOf finds an instance by its whole name or, if what is asked for has no blank, by
// the first word of its name.
func (d *InDom[T]) idOf(name string) (int32, bool) {
	i, ok := d.names[firstWord(name)]
	if !ok || strings.IndexByte(name, ' ') >= 0 && d.slots[i].name != name {
		return 0, false
	}
	d.slots[i].used = time.Now() // whoever looks it up is about to ask for values
	return d.slots[i].id, true
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
	list := make([]instanceLabels, len(d.slots))
	for i := range d.slots {
		list[i] = instanceLabels{d.slots[i].id, d.InstanceLabels(d.slots[i].data)}
	}
	return list
}

func firstWord(name string) string {
	if i := strings.IndexByte(name, ' '); i >= 0 {
		return name[:i]
	}
	return name
}

// counter gives out numbers 0..max for as long as the agent runs.
type counter struct {
	max int32
	ids map[string]int32
}

func (c *counter) ID(name string) (int32, error) {
	id, ok := c.ids[name]
	if ok {
		return id, nil
	}
	id = int32(len(c.ids))
	if id > c.max {
		return 0, ids.ErrFull
	}
	c.ids[name] = id
	return id, nil
}
