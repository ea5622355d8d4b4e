package examples_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// city is an instance that exists because somebody asked for it.
type city struct {
	name  string
	limit int32
	added time.Time
}

// weather shows instances that look-ups create and that expire, labels, and stores that
// depend on the user.
func weather(idle time.Duration) *pmda.Agent {
	const most = 100
	cities := &pmda.InDom[*city]{Name: "cities", Keep: true, OneLine: "cities whose weather is known",
		Labels: pcp.Labels{{Name: "planet", Value: "earth"}},
		InstanceLabels: func(c *city) pcp.Labels {
			return pcp.Labels{{Name: "letters", Value: len(c.name)}, {Name: "note", Value: "on demand", Optional: true}}
		},
	}
	cities.Lookup = func(c *pmda.Client, name string) error {
		if !c.Known() { // a remote client that did not say who it is
			return pcp.ErrPermission
		}
		if strings.ContainsAny(name, " /") {
			return pcp.ErrInst // the client sees this one
		}
		if cities.Len() >= most {
			return fmt.Errorf("%w: %d cities are enough", pcp.ErrPermission, most) // and the log all of this
		}
		_, err := cities.Add(name, &city{name: name, added: time.Now()})
		return err
	}
	mayStore := func(c *pmda.Client) bool { return c.UID == 0 }
	return &pmda.Agent{
		Name: "weather", Domain: 502,
		Labels:        pcp.Labels{{Name: "role", Value: "example"}},
		ClusterLabels: map[int]pcp.Labels{0: {{Name: "source", Value: "none"}}},
		// Before each request that concerns values, instances, names or labels.
		Refresh: func(*pmda.Request) {
			var old []string
			cities.All(func(inst pcp.Instance, c *city) bool {
				used := cities.Used(inst.Name)
				if used.IsZero() {
					used = c.added // not asked for yet
				}
				if time.Since(used) > idle {
					old = append(old, inst.Name)
				}
				return true
			})
			for _, name := range old {
				cities.Remove(name) // its id stays reserved for its name
			}
		},
		Metrics: []pmda.Metric{{
			Name: "weather.limit", Sem: pcp.SemDiscrete, Labels: pcp.Labels{{Name: "kind", Value: "setting"}},
			Get: pmda.Per(cities, func(c *city) (int32, bool) { return c.limit, true }),
			Store: pmda.StoreAs(func(s *pmda.Store, limit int32) error {
				if !mayStore(s.Client) {
					return fmt.Errorf("%w: only the owner may set limits", pcp.ErrPermission)
				}
				if limit < 0 {
					return fmt.Errorf("%w: limit %d is below 0", pcp.ErrBadStore, limit)
				}
				c, _ := cities.Get(s.Inst.Name)
				c.limit = limit
				return nil
			}),
			OneLine: "limit for the city", Help: "Any number from 0.",
		}},
	}
}

func TestLookup(t *testing.T) {
	c := pmdatest.StartOptions(t, weather(time.Hour), pmda.Options{StateDir: t.TempDir()})
	d, err := c.Desc("weather.limit")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Lookup(d.InDom, "Oslo"); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("an unknown client's look-up: %v, want %v", err, pcp.ErrPermission)
	}
	c.Client(1, 1000, 1000, 4711)
	id, err := c.Lookup(d.InDom, "Oslo")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Instances(d.InDom); len(got) != 1 || got[0] != (pcp.Instance{ID: id, Name: "Oslo"}) {
		t.Errorf("instances %v", got)
	}
	if _, err := c.Lookup(d.InDom, "a/b"); !errors.Is(err, pcp.ErrInst) {
		t.Errorf("look-up of a/b: %v, want %v", err, pcp.ErrInst)
	}
	if l := c.Labels(uint32(d.InDom), pcp.LabelInstances)[id]; len(l) != 2 || l[0].Name != "letters" {
		t.Errorf("labels of Oslo: %v", l)
	}
}

func TestStore(t *testing.T) {
	c := pmdatest.Start(t, weather(time.Hour))
	c.Client(1, 1000, 1000, 4711)
	if err := c.Store("weather.limit", "Oslo", pcp.Num[int32](5)); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("user 1000 stores: %v, want %v", err, pcp.ErrPermission)
	}
	c.Client(2, 0, 0, 4712)
	if err := c.Store("weather.limit", "Oslo", pcp.Num[int32](-5)); !errors.Is(err, pcp.ErrBadStore) {
		t.Errorf("root stores -5: %v, want %v", err, pcp.ErrBadStore)
	}
	if err := c.Store("weather.limit", "Oslo", pcp.Num[int32](5)); err != nil {
		t.Errorf("root stores: %v", err)
	}
	if v, err := c.Value("weather.limit", "Oslo"); err != nil || v.String() != "5" {
		t.Errorf("the limit is %v, %v", v, err)
	}
}

// An instance that nobody asks for is removed, and comes back with its old id.
func TestExpiry(t *testing.T) {
	c := pmdatest.Start(t, weather(0)) // everything is old at once
	c.Client(1, 0, 0, 4711)
	d, err := c.Desc("weather.limit")
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.Lookup(d.InDom, "Oslo")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Instances(d.InDom); len(got) != 0 {
		t.Errorf("instances %v, want none", got)
	}
	if _, err := c.Lookup(d.InDom, "Bergen"); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Lookup(d.InDom, "Oslo"); err != nil || again != first {
		t.Errorf("Oslo came back as %d, %v; was %d", again, err, first)
	}
}
