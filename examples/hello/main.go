// Pmdahello is a complete agent. Build it, have it write the files for installation
// beside itself, and install it into the running pmcd; docs/writing-an-agent.md walks
// through it.
package main

import (
	"os"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
)

func main() { os.Exit(pmda.Main(hello())) }

func hello() *pmda.Agent {
	start := time.Now()
	people := &pmda.InDom[*int32]{Name: "people", Keep: true, OneLine: "people to greet"}
	return &pmda.Agent{
		Name: "hello", Domain: 500, Version: "1.0",
		Start: func(*pmda.Server) error {
			for _, name := range []string{"anna", "bert"} {
				if _, err := people.Add(name, new(int32)); err != nil {
					return err
				}
			}
			return nil
		},
		Metrics: []pmda.Metric{{
			Name: "hello.uptime", Item: 0, Sem: pcp.SemInstant, Units: pcp.Seconds,
			Get:     pmda.Value(func() (float64, error) { return time.Since(start).Seconds(), nil }),
			OneLine: "time since the agent was started",
		}, {
			Name: "hello.mood", Item: 1, Sem: pcp.SemDiscrete,
			Get: pmda.Per(people, func(mood *int32) (int32, bool) { return *mood, true }),
			Store: func(s *pmda.Store) error {
				n, err := s.Value.Int64()
				if mood, ok := people.Get(s.Inst.Name); ok && err == nil {
					*mood = int32(n)
				}
				return err
			},
			OneLine: "how each of them feels, as somebody stored it",
		}},
		Try:        func(*pmda.Server, []string) error { return nil },
		TryColumns: []pmda.Column{{Metric: "hello.mood", Head: "MOOD"}},
	}
}
