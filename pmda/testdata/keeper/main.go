// Keeper is an agent for a test. It keeps one capability.
package main

import (
	"os"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"golang.org/x/sys/unix"
)

func main() {
	os.Exit(pmda.Main(&pmda.Agent{
		Name: "keeper", Domain: 501,
		Setup: func(o *pmda.Options) error {
			o.KeepCapability(unix.CAP_NET_RAW)
			return nil
		},
		Metrics: []pmda.Metric{{Name: "keeper.one", Sem: pcp.SemDiscrete, OneLine: "one",
			Get: pmda.Value(func() (int32, error) { return 1, nil })}},
	}))
}
