package examples_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

// pair is measured elsewhere; its two halves belong together.
type pair struct{ sum, count uint64 }

// meter shows a goroutine that measures, and a snapshot for each request.
type meter struct {
	mu     sync.Mutex
	latest pair // guarded by mu

	now pair // the serving goroutine's: as of the present request
}

func (m *meter) observe(n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest.sum += n
	m.latest.count++
}

func (m *meter) agent() *pmda.Agent {
	counter := func(item int, name string, get func() uint64) pmda.Metric {
		return pmda.Metric{Name: name, Item: item, Sem: pcp.SemCounter, Units: pcp.Count, OneLine: name,
			Get: pmda.Value(func() (uint64, error) { return get(), nil })}
	}
	return &pmda.Agent{
		Name: "meter", Domain: 503,
		Refresh: func(*pmda.Request) {
			m.mu.Lock() // held by observe for an addition only
			m.now = m.latest
			m.mu.Unlock()
		},
		Metrics: []pmda.Metric{
			counter(0, "meter.sum", func() uint64 { return m.now.sum }),
			counter(1, "meter.count", func() uint64 { return m.now.count }),
		},
	}
}

// The values of one fetch belong together, however busy the other goroutine is.
func TestSnapshot(t *testing.T) {
	m := new(meter)
	c := pmdatest.Start(t, m.agent())
	var over atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for !over.Load() {
			m.observe(3)
		}
	})
	defer done.Wait()
	defer over.Store(true)
	sum, err1 := c.PMID("meter.sum")
	count, err2 := c.PMID("meter.count")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		sets := c.Fetch(sum, count)
		s, _ := sets[0].Values[0].As(pcp.TypeU64)
		n, _ := sets[1].Values[0].As(pcp.TypeU64)
		if s.Bits() != 3*n.Bits() {
			t.Fatalf("sum %v, count %v", s, n)
		}
	}
}

// registry shows names that come and go: whatever is announced gets a metric below
// the root, with a number that it keeps.
type registry struct {
	server *pmda.Server
	items  pmda.Numbers
}

func (r *registry) agent() *pmda.Agent {
	return &pmda.Agent{
		Name: "registry", Domain: 504,
		Roots: []string{"registry.dyn"},
		Start: func(s *pmda.Server) (err error) {
			r.server = s
			r.items, err = s.OpenIDs("items", 1<<22-1) // beside the ids of instances, and kept as they are
			return err
		},
	}
}

// announce may be called by any goroutine: Do hands the work over.
func (r *registry) announce(name string, value uint64) {
	r.server.Do(func() {
		id, err := r.items.ID(name)
		if err == nil {
			err = r.server.Add(pmda.Metric{
				Name: "registry.dyn." + name, Cluster: int(id) / 1024, Item: int(id) % 1024,
				Sem: pcp.SemInstant, OneLine: "value of " + name,
				Get: pmda.Value(func() (uint64, error) { return value, nil }),
			})
		}
		if err != nil {
			r.server.Logf("%s: %v", name, err)
		}
	})
}

func (r *registry) withdraw(name string) {
	r.server.Do(func() { r.server.Remove("registry.dyn." + name) })
}

func TestDynamicNames(t *testing.T) {
	r := new(registry)
	c := pmdatest.StartOptions(t, r.agent(), pmda.Options{StateDir: t.TempDir()})
	if names := c.Names("registry.dyn"); len(names) != 0 {
		t.Errorf("names at first: %v", names)
	}
	r.announce("apples", 3)
	r.announce("pears", 4)
	if v, err := c.Value("registry.dyn.pears", ""); err != nil || v.String() != "4" {
		t.Fatalf("pears: %v, %v", v, err)
	}
	if c.State&pcp.StateNames == 0 {
		t.Error("the first result after a change does not say that names have changed")
	}
	pears, err := c.PMID("registry.dyn.pears")
	if err != nil {
		t.Fatal(err)
	}
	r.withdraw("pears")
	if _, err := c.PMID("registry.dyn.pears"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("pears after they were withdrawn: %v", err)
	}
	r.announce("plums", 5)
	r.announce("pears", 6)
	if again, err := c.PMID("registry.dyn.pears"); err != nil || again != pears {
		t.Errorf("pears came back as %v, %v; were %v", again, err, pears)
	}
}

// doors shows an event metric: every client gets each record once.
type doors struct {
	server *pmda.Server
	queue  pmda.EventQueue
}

func (d *doors) agent() *pmda.Agent {
	return &pmda.Agent{
		Name: "doors", Domain: 505,
		Start: func(s *pmda.Server) error {
			d.server = s
			return nil
		},
		Metrics: []pmda.Metric{{
			Name: "doors.opened", Item: 0, Sem: pcp.SemInstant, OneLine: "doors that were opened",
			Get: pmda.Events(pcp.TypeHighresEvent, &d.queue),
		}, {
			// A parameter of the records is a metric too; by itself it has no value.
			Name: "doors.number", Item: 1, Sem: pcp.SemDiscrete, OneLine: "number of a door",
			Get: pmda.Value(func() (uint32, error) { return 0, pcp.ErrValue }),
		}},
	}
}

func (d *doors) open(number uint32) {
	at := time.Now()
	d.server.Do(func() {
		record, err := d.server.Event(at, pcp.EventPoint, pmda.With("doors.number", number))
		if err != nil { // no metric of that name, or a value that is not of its type
			d.server.Logf("%v", err)
			return
		}
		d.queue.Append(record)
	})
}

func TestEvents(t *testing.T) {
	d := new(doors)
	c := pmdatest.Start(t, d.agent())
	opened, err := c.PMID("doors.opened")
	if err != nil {
		t.Fatal(err)
	}
	take := func() []pcp.EventRecord {
		v, err := c.Fetch(opened)[0].Values[0].As(pcp.TypeHighresEvent)
		if err != nil {
			t.Fatal(err)
		}
		recs, err := pdu.ParseEvents(pcp.TypeHighresEvent, v.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return recs
	}
	c.Client(1, 0, 0, 4711)
	take() // from now on this client follows
	d.open(17)
	d.open(18)
	c.Client(2, 0, 0, 4712)
	if recs := take(); len(recs) != 0 {
		t.Errorf("a client that has just come gets %v", recs)
	}
	c.Slot = 1
	recs := take()
	if len(recs) != 2 || recs[1].Params[0].Value.String() != "18" {
		t.Errorf("records %v", recs)
	}
	if recs := take(); len(recs) != 0 {
		t.Errorf("again: %v", recs)
	}
}

// slow shows an agent that takes its time before it answers.
func slow(load <-chan struct{}) *pmda.Agent {
	return &pmda.Agent{
		Name: "slow", Domain: 506,
		Warm: func() error {
			<-load // in a goroutine of its own: reading a large file, say
			return nil
		},
		Metrics: []pmda.Metric{{
			Name: "slow.loaded", Sem: pcp.SemDiscrete, OneLine: "always 1",
			Get: pmda.Value(func() (uint32, error) { return 1, nil }),
		}},
	}
}

func TestWarm(t *testing.T) {
	load := make(chan struct{})
	c := pmdatest.Start(t, slow(load))
	if v, err := c.Value("slow.loaded", ""); !errors.Is(err, pcp.ErrAgain) {
		t.Errorf("slow.loaded before it is loaded: %v, %v; want %v", v, err, pcp.ErrAgain)
	}
	close(load)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		v, err := c.Value("slow.loaded", "")
		if err == nil && v.String() == "1" {
			return
		}
		if !errors.Is(err, pcp.ErrAgain) || time.Now().After(end) {
			t.Fatalf("slow.loaded: %v, %v", v, err)
		}
	}
}
