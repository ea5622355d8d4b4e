// Pmdartlan is the agent rtlan: it measures the response time of hosts by ICMP echo
// and exports it to Performance Co-Pilot as rtime.lan.*. See pmdartlan(1).
package main

import (
	"os"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/lan/internal/agent"
)

func main() { os.Exit(pmda.Main(agent.New())) }
