// Pmdartlan is the agent rtlan: it measures the response time of hosts by ICMP echo
// and exports it to Performance Co-Pilot as rtime.lan.*. See pmdartlan(1).
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/agent"
)

func main() {
	// One thread does all there is to do, and does it cheaper alone: with more, the
	// runtime wakes a second one whenever the first wakes up. GOMAXPROCS overrides.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	// Hardly anything is allocated once the hosts are there, so collecting early
	// costs next to nothing and keeps the process small.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25)
	}
	os.Exit(pmda.Main(agent.New()))
}
