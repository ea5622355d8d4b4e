package pmda_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/pmda"
)

// TestSync makes the instances of a domain those of a map: ids stay, and the error names
// what cannot be added.
func TestSync(t *testing.T) {
	d := &pmda.InDom[int]{Serial: 1}
	sync := func(want map[string]int, refused ...string) {
		t.Helper()
		err := d.Sync(want)
		if (err != nil) != (len(refused) > 0) {
			t.Errorf("%v: %v", want, err)
		}
		for _, name := range refused {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
				t.Errorf("%v: %v, want %q in it", want, err, name)
			}
			delete(want, name)
		}
		got := make(map[string]int)
		d.All(func(i pcp.Instance, x int) bool { got[i.Name] = x; return true })
		if !maps.Equal(got, want) || d.Len() != len(want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	id := func(name string) int32 {
		found := int32(-1)
		d.All(func(i pcp.Instance, _ int) bool {
			if i.Name == name {
				found = i.ID
			}
			return true
		})
		return found
	}
	sync(map[string]int{"c": 3, "a": 1, "b": 2})
	if id("a") != 0 || id("b") != 1 || id("c") != 2 {
		t.Errorf("ids %d, %d, %d are not in the order of the names", id("a"), id("b"), id("c"))
	}
	sync(map[string]int{"a": 10, "d": 4})
	if id("a") != 0 || id("d") != 3 {
		t.Errorf("ids %d, %d, want 0 and a new one", id("a"), id("d"))
	}
	sync(map[string]int{"b": 5, "d": 6})
	if id("b") != 1 {
		t.Errorf("b is back with id %d, not 1", id("b"))
	}
	sync(map[string]int{"d": 6, "e f": 7, "e g": 8, "": 9, "x\ny": 1}, "e g", "", "x\ny")
	sync(map[string]int{"e g": 8}) // once the other is gone
	sync(nil)
}

// TestPerInstance gets the instance, and only those that the client wants.
func TestPerInstance(t *testing.T) {
	z := newZoo()
	z.agent.Metrics[itemKind].Get = pmda.PerInstance(z.beasts, func(i pcp.Instance, b *beast) (string, bool) {
		return fmt.Sprintf("%d/%s/%s", i.ID, i.Name, b.kind), b.kind != "bird"
	})
	c, _ := visit(t, z)
	leo, _ := c.Lookup(beastDom, "leo")
	want := fmt.Sprintf("%d=%d/leo/lion ", leo, leo)
	for range 2 {
		if got := show(t, z, c.Fetch(zooID(itemKind))); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		c.Profile(pdu.InDomProfile{InDom: beastDom, State: pdu.Exclude, List: []int32{leo, 77}})
	}
}

// TestNotSupported: the metric is there, with its number, and has no values.
func TestNotSupported(t *testing.T) {
	z := newZoo()
	z.agent.Metrics[itemBroken].Get = pmda.NotSupported(nil)
	z.agent.Metrics[itemKind].Get = pmda.NotSupported(z.beasts)
	c, j := visit(t, z)
	for name, indom := range map[string]pcp.InDom{"zoo.broken": pcp.InDomNull, "zoo.beast.kind": beastDom} {
		if d, err := c.Desc(name); err != nil || d.Type != pcp.TypeNoSupport || d.InDom != indom {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if v, err := c.Values(name); err != pcp.ErrAppVersion {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	exchange{what: "a store", ask: storeOf(itemKind, 0, pcp.Str("x")), code: pcp.ErrBadStore}.run(t, c)
	if j.count("fetch of") != 0 {
		t.Errorf("the log has lines for what is not supported:\n%s", j)
	}
}

// TestEvery: the function is called in the serving goroutine, also after a panic, and not
// after it was stopped.
func TestEvery(t *testing.T) {
	z := newZoo()
	c, j := visit(t, z)
	ticks := 0 // touched by the serving goroutine alone, as the race detector sees
	stop := z.server.Every(time.Millisecond, func() {
		if ticks++; ticks == 2 {
			panic("a tock")
		}
	})
	at := func() (n int) {
		z.do(t, func() { n = ticks })
		return n
	}
	c.Until("the ticks", func() bool { return at() >= 5 })
	if j.count("panic: a tock") != 1 {
		t.Errorf("the log has no panic:\n%s", j)
	}
	stop()
	stop()
	was := at()
	time.Sleep(20 * time.Millisecond) // in which it would have been called some times
	if n := at(); n != was {
		t.Errorf("called %d times after it was stopped", n-was)
	}

	// While the role is taken no calls pile up: one waits.
	calls, waited := 0, make(chan int)
	defer z.server.Every(time.Millisecond, func() { calls++ })()
	z.do(t, func() {
		calls = 0
		time.Sleep(50 * time.Millisecond)
		z.server.Do(func() { waited <- calls }) // behind what waits by now
	})
	if n := receive(t, "the calls that waited", waited); n > 1 {
		t.Errorf("%d calls waited", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("Every(0) is taken")
		}
	}()
	z.server.Every(0, func() {})
}

// TestEventsByName writes parameters by name, over instances, with a filter for each client.
func TestEventsByName(t *testing.T) {
	type door struct{ queue pmda.EventQueue }
	doors := &pmda.InDom[*door]{Serial: 1, OneLine: "doors"}
	var server *pmda.Server
	a := &pmda.Agent{
		Name: "doors", Domain: 444, Roots: []string{"doors"},
		Start: func(s *pmda.Server) error {
			server = s
			return doors.Sync(map[string]*door{"front": {}, "back": {}})
		},
		Metrics: []pmda.Metric{
			{Name: "doors.opened", Item: 0, Sem: pcp.SemInstant, OneLine: "openings",
				Get: pmda.EventsPer(pcp.TypeHighresEvent, doors, func(d *door) *pmda.EventQueue { return &d.queue })},
			{Name: "doors.by", Item: 1, Sem: pcp.SemInstant, OneLine: "who", Get: pmda.Value(func() (string, error) { return "", nil })},
			{Name: "doors.width", Item: 2, Sem: pcp.SemInstant, OneLine: "how wide", Get: pmda.Value(func() (uint32, error) { return 0, nil })},
		},
	}
	a.Metrics = append(a.Metrics, pmda.Metric{Name: "doors.control.of", Item: 3, Sem: pcp.SemDiscrete, OneLine: "whose openings I want",
		Get:   pmda.Value(func() (string, error) { return "", nil }),
		Store: pmda.StoreAs(func(s *pmda.Store, who string) error { s.Client.Data = who; return nil })})
	wants := func(c *pmda.Client, r *pcp.EventRecord) bool {
		return c.Data == nil || c.Data == r.Params[0].Value.String()
	}
	c := startOn(t, a)
	z := &zoo{server: server}
	z.do(t, func() {
		doors.All(func(_ pcp.Instance, d *door) bool { d.queue.Wants = wants; return true })
	})
	open := func(which, by string, width int64) {
		z.do(t, func() {
			r, err := server.Event(eventTime, pcp.EventPoint, pmda.With("doors.by", by), pmda.With("doors.width", width))
			if err != nil {
				t.Fatal(err)
			}
			d, _ := doors.Get(which)
			d.queue.Append(r)
		})
	}
	see := func(slot int32, want string) {
		t.Helper()
		c.Slot = slot
		all, err := c.Events("doors.opened")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for inst, list := range all {
			for _, e := range list {
				if !e.Time.Equal(eventTime) || e.Flags != pcp.EventPoint || e.Params["doors.width"].Type() != pcp.TypeU32 {
					t.Errorf("event %+v", e)
				}
				got = append(got, fmt.Sprintf("%s %v %v", inst, e.Params["doors.by"], e.Params["doors.width"]))
			}
		}
		slices.Sort(got)
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("client %d sees %q, want %q", slot, s, want)
		}
	}
	see(1, "")
	see(2, "")
	if err := c.Store("doors.control.of", "", pcp.Str("anna")); err != nil {
		t.Fatal(err)
	}
	open("front", "anna", 1)
	open("back", "bert", 2)
	open("front", "bert", 3)
	see(1, "back bert 2, front anna 1, front bert 3")
	see(2, "front anna 1")
	see(1, "")
	z.do(t, func() {
		for _, p := range []pmda.EventParam{pmda.With("doors.none", "x"), pmda.With("doors.width", "x"), pmda.With("doors.width", int32(-1))} {
			if _, err := server.Event(eventTime, 0, p); err == nil || !strings.Contains(err.Error(), p.Metric) {
				t.Errorf("%+v: %v", p, err)
			}
		}
	})
}

// TestNotReadyNames: an agent that would have PCP 7 refuse all names is not well declared.
func TestNotReadyNames(t *testing.T) {
	z := newZoo()
	z.agent.Anonymous, z.agent.Warm = true, func() error { return nil }
	_, err := pmda.New(z.agent, pmda.Options{Log: logTo(t)})
	if err == nil || !strings.Contains(err.Error(), "NamesNotReady") {
		t.Errorf("New: %v", err)
	}
	z.agent.NamesNotReady = true
	if _, err := pmda.New(z.agent, pmda.Options{Log: logTo(t)}); err != nil {
		t.Error(err)
	}
	z = newZoo() // and one without Warm, of which a function says that it is not ready
	z.agent.Anonymous = true
	c, _ := visit(t, z)
	if _, err := c.Lookup(beastDom, "later"); !errors.Is(err, pcp.ErrAgain) {
		t.Errorf("not ready, with dynamic names: %v, want %v", err, pcp.ErrAgain)
	}
	c.Fetch(zooID(itemCount)) // it still answers
}
