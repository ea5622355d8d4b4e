// Pmdauptime is the smallest agent: one metric with one value.
package main

import (
	"os"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
)

var start = time.Now()

var agent = &pmda.Agent{
	Name: "uptime", Domain: 501,
	Metrics: []pmda.Metric{{
		Name: "uptime.seconds", Sem: pcp.SemInstant, Units: pcp.Seconds,
		Get:     pmda.Value(func() (float64, error) { return time.Since(start).Seconds(), nil }),
		OneLine: "time since the agent was started",
	}},
}

func main() { os.Exit(pmda.Main(agent)) }
