package pmda_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// zoo is an agent with something of everything, and what a test wants to look at.
type zoo struct {
	agent   *pmda.Agent
	server  *pmda.Server
	beasts  *pmda.InDom[*beast]
	cages   *pmda.InDom[int32]
	refresh func(*pmda.Request)
	gone    []pmda.Client
	stores  []pmda.Store
	events  pmda.EventQueue
	hires   pmda.EventQueue
	fetch   func(*pmda.Values) // of zoo.custom
}

type beast struct {
	kind   string
	weight float64
	legs   int32
}

const zooDomain = 444

// Items of the zoo's metrics.
const (
	itemCount = iota
	itemWeight
	itemLegs
	itemKind
	itemBroken
	itemCustom
	itemEvents
	itemHires
	itemMood
	itemBlob
	itemErrno
	itemCage
)

const (
	beastDom = zooDomain<<22 | 7
	cageDom  = zooDomain<<22 | 9
)

func zooID(item int) pcp.PMID { return pcp.MakePMID(zooDomain, 3, item) }

func newZoo() *zoo {
	z := &zoo{}
	z.beasts = &pmda.InDom[*beast]{Serial: 7, Name: "beasts", OneLine: "the animals", Help: "All animals\nthere are.",
		Labels:         pcp.Labels{{Name: "fed", Value: true}},
		InstanceLabels: func(b *beast) pcp.Labels { return pcp.Labels{{Name: "kind", Value: b.kind}} },
		Lookup:         z.lookup,
	}
	z.cages = &pmda.InDom[int32]{Serial: 9, Name: "cages", OneLine: "the cages"}
	z.agent = &pmda.Agent{
		Name: "zoo", Domain: zooDomain, Roots: []string{"zoo", "zoo2"}, Metrics: z.metrics(),
		Labels:        pcp.Labels{{Name: "town", Value: "Ulm"}, {Name: "entry", Value: 3.5, Optional: true}},
		ClusterLabels: map[int]pcp.Labels{3: {{Name: "wing", Value: "east"}}},
		Start: func(s *pmda.Server) error {
			z.server = s
			for name, b := range map[string]*beast{"leo": {"lion", 190.5, 4}, "tweety 1st": {"bird", 0.03, 2}} {
				if _, err := z.beasts.Add(name, b); err != nil {
					return err
				}
			}
			return nil
		},
		Gone: func(c *pmda.Client) { z.gone = append(z.gone, *c) },
		Refresh: func(r *pmda.Request) {
			if z.refresh != nil {
				z.refresh(r)
			}
		},
	}
	return z
}

var errZoo = errors.New("the keeper is ill")

// lookup creates what begins with "new", and fails in ways of its own.
func (z *zoo) lookup(c *pmda.Client, name string) error {
	switch name {
	case "nobody":
		return nil // and adds nothing
	case "barred":
		return pcp.ErrPermission
	case "absent":
		return syscall.ENOENT
	case "odd":
		return errZoo
	case "panics":
		panic("a tiger")
	case "later":
		return pcp.ErrPMDANotReady
	case "deadly":
		return pcp.ErrIPC
	case "zero":
		return pcp.Error(0)
	}
	_, err := z.beasts.Add(name, &beast{"new", 1, 1})
	return err
}

func (z *zoo) metrics() []pmda.Metric {
	keep := func(s *pmda.Store) error {
		z.stores = append(z.stores, *s)
		return nil
	}
	m := []pmda.Metric{
		{Name: "zoo.count", Item: itemCount, Sem: pcp.SemInstant, Units: pcp.Count, OneLine: "how many",
			Help: "How many\nanimals.", Labels: pcp.Labels{{Name: "counted", Value: "daily"}}, Store: keep,
			Get: pmda.Value(func() (uint32, error) { return uint32(z.beasts.Len()), nil })},
		{Name: "zoo.beast.weight", Item: itemWeight, Sem: pcp.SemInstant, OneLine: "in kg", Store: keep,
			Get: pmda.Per(z.beasts, func(b *beast) (float64, bool) { return b.weight, b.kind != "ghost" })},
		{Name: "zoo.beast.legs", Item: itemLegs, Sem: pcp.SemDiscrete, OneLine: "legs", Store: keep,
			Get: pmda.Per(z.beasts, func(b *beast) (int32, bool) { return b.legs, b.kind != "ghost" })},
		{Name: "zoo.beast.kind", Item: itemKind, Sem: pcp.SemDiscrete, OneLine: "kind", Store: keep,
			Get: pmda.Per(z.beasts, func(b *beast) (string, bool) { return b.kind, true })},
		{Name: "zoo.broken", Item: itemBroken, Sem: pcp.SemCounter, OneLine: "fails",
			Get: pmda.Value(func() (int64, error) { return 0, pcp.ErrAgain })},
		{Name: "zoo.custom", Item: itemCustom, Sem: pcp.SemInstant, OneLine: "as the test wants",
			Get: pmda.Func(pcp.TypeU64, z.beasts, func(v *pmda.Values) { z.fetch(v) })},
		{Name: "zoo.events", Item: itemEvents, Sem: pcp.SemDiscrete, OneLine: "events", Get: pmda.Events(pcp.TypeEvent, &z.events)},
		{Name: "zoo.hires", Item: itemHires, Sem: pcp.SemDiscrete, OneLine: "events", Get: pmda.Events(pcp.TypeHighresEvent, &z.hires)},
		{Name: "zoo.mood", Item: itemMood, Sem: pcp.SemInstant, OneLine: "mood",
			Get:   pmda.Value(func() (float32, error) { return 0.5, nil }),
			Store: func(s *pmda.Store) error { return errZoo }},
		{Name: "zoo.blob", Item: itemBlob, Sem: pcp.SemInstant, OneLine: "bytes",
			Get: pmda.Value(func() ([]byte, error) { return []byte{1, 2, 3}, nil })},
		{Name: "zoo.errno", Item: itemErrno, Sem: pcp.SemInstant, OneLine: "fails by errno",
			Get: pmda.Value(func() (string, error) { return "", syscall.ENODEV })},
		{Name: "zoo.cage", Item: itemCage, Sem: pcp.SemInstant, OneLine: "cages",
			Get: pmda.Per(z.cages, func(n int32) (int32, bool) { return n, true })},
	}
	for i := range m {
		m[i].Cluster = 3
	}
	return m
}

// visit starts a zoo; its log is in the journal.
func visit(t *testing.T, z *zoo) (*pmdatest.Conn, *journal) {
	t.Helper()
	j := new(journal)
	return pmdatest.StartOptions(t, z.agent, pmda.Options{Log: j.logger()}), j
}

// do runs f in the serving goroutine.
func (z *zoo) do(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	z.server.Do(func() {
		defer close(done)
		f()
	})
	receive(t, "a function given to Do", done)
}
