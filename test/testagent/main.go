// Pmdatestagent is an agent for the tests against the real pmcd. Each of its metrics puts
// the agent library into a situation that is rare in the other agents.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
)

func main() { os.Exit(pmda.Main(declare())) }

type testAgent struct {
	server *pmda.Server
	gate   string // while this file exists the agent is busy, or not ready
	warm   bool

	fetches, busy uint64
	colors        *pmda.InDom[string] // the data is the label "shade"
	dynamic       map[string]int      // names to items
	events, hires pmda.EventQueue
}

func declare() *pmda.Agent {
	a := &testAgent{dynamic: make(map[string]int)}
	a.colors = &pmda.InDom[string]{Serial: 1, Name: "colors", OneLine: "colors", Keep: true,
		InstanceLabels: func(shade string) pcp.Labels { return pcp.Labels{{Name: "shade", Value: shade}} }}
	agent := &pmda.Agent{Name: "testagent", Domain: 490, Roots: []string{"test.dynamic"}, NamesNotReady: true}
	agent.Metrics = append(a.values(), a.controls()...)
	agent.Flags = func(f *flag.FlagSet) {
		f.StringVar(&a.gate, "gate", "", "file that keeps the agent busy as long as it exists")
		f.BoolVar(&a.warm, "warm", false, "the agent is not ready before the gate is gone")
		f.BoolVar(&agent.Anonymous, "anonymous", false, "the agent does not ask who its clients are")
	}
	agent.Setup = func(*pmda.Options) error {
		if a.warm {
			agent.Warm = func() error { a.wait(); return nil }
		}
		return nil
	}
	agent.Start = func(s *pmda.Server) error {
		a.server = s
		if !a.warm {
			go a.watch()
		}
		for _, name := range []string{"red", "green"} {
			if _, err := a.colors.Add(name, "plain"); err != nil {
				return err
			}
		}
		return nil
	}
	return agent
}

// watch keeps the serving goroutine busy whenever the gate is there.
func (a *testAgent) watch() {
	for {
		if _, err := os.Stat(a.gate); err == nil {
			over := make(chan struct{})
			a.server.Do(func() {
				a.server.Logf("busy until the gate is gone")
				a.wait()
				a.busy++
				close(over)
			})
			<-over
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// wait returns when the gate is gone.
func (a *testAgent) wait() {
	for {
		if _, err := os.Stat(a.gate); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (a *testAgent) values() []pmda.Metric {
	return []pmda.Metric{{
		Name: "test.fetches", Item: 0, Sem: pcp.SemCounter, Units: pcp.Count, OneLine: "fetches of this metric",
		Help: "The first fetch gives 1.",
		Get:  pmda.Value(func() (uint64, error) { a.fetches++; return a.fetches, nil }),
	}, {
		Name: "test.busy", Item: 1, Sem: pcp.SemCounter, Units: pcp.Count, OneLine: "times the agent was busy",
		Get: pmda.Value(func() (uint64, error) { return a.busy, nil }),
	}, {
		Name: "test.color", Item: 2, Sem: pcp.SemInstant, OneLine: "a value for each color",
		Get: pmda.Per(a.colors, func(shade string) (uint32, bool) { return uint32(len(shade)), true }),
	}, {
		Name: "test.parameter", Item: 3, Sem: pcp.SemInstant, OneLine: "parameter of events",
		Get: pmda.Value(func() (string, error) { return "", pcp.ErrValue }),
	}, {
		Name: "test.event", Item: 4, Sem: pcp.SemInstant, OneLine: "events",
		Get: pmda.Events(pcp.TypeEvent, &a.events),
	}, {
		Name: "test.hires", Item: 5, Sem: pcp.SemInstant, OneLine: "events with times in nanoseconds",
		Get: pmda.Events(pcp.TypeHighresEvent, &a.hires),
	}}
}

func (a *testAgent) controls() []pmda.Metric {
	control := func(item int, name string, do func(string) error) pmda.Metric {
		return pmda.Metric{Name: "test.control." + name, Cluster: 1, Item: item, Sem: pcp.SemDiscrete,
			OneLine: "store here to " + name, Get: pmda.Value(func() (string, error) { return "", nil }),
			Store: func(s *pmda.Store) error { return do(s.Value.String()) }}
	}
	return []pmda.Metric{
		control(0, "add", a.add),
		control(1, "remove", func(name string) error {
			if !a.server.Remove("test.dynamic." + name) {
				return pcp.ErrName
			}
			return nil
		}),
		control(2, "shade", func(shade string) error {
			for _, name := range []string{"red", "green"} {
				if _, err := a.colors.Add(name, shade); err != nil {
					return err
				}
			}
			a.server.LabelsChanged()
			return nil
		}),
		control(3, "event", func(text string) error {
			a.event(text)
			return nil
		}),
		control(4, "panic", func(text string) error { panic(text) }),
		control(5, "rest", func(string) error {
			go func() { a.wait(); a.server.Ready() }()
			return pcp.ErrPMDANotReady
		}),
	}
}

// add adds a dynamic metric whose value is its item number.
func (a *testAgent) add(name string) error {
	item, known := a.dynamic[name]
	if !known {
		item = len(a.dynamic)
		a.dynamic[name] = item
	}
	return a.server.Add(pmda.Metric{Name: "test.dynamic." + name, Cluster: 2, Item: item, Sem: pcp.SemInstant,
		OneLine: fmt.Sprintf("dynamic metric %d", item),
		Get:     pmda.Value(func() (uint32, error) { return uint32(item), nil })})
}

func (a *testAgent) event(text string) {
	r := pcp.EventRecord{Time: time.Unix(1700000000, 123456789), Flags: pcp.EventPoint,
		Params: []pcp.EventParam{{PMID: a.server.PMID(0, 3), Value: pcp.Str(text)}}}
	a.events.Append(r)
	a.hires.Append(r)
}
