// Pmdartlan is the agent rtlan: it measures the response time of hosts by ICMP echo
// and exports it to Performance Co-Pilot as rtime.lan.*. See pmdartlan(1).
package main

import (
	"os"
	"runtime/debug"

	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/agent"
)

func main() {
	// Hardly anything is allocated once the hosts are there, so collecting early
	// costs next to nothing and keeps the process small.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25)
	}
	os.Exit(kit.Main(agent.New()))
}
