// Pmdartarm is the agent rtarm: it exports the response times of transactions, which
// programs mark through the ARM libraries, to Performance Co-Pilot as rtime.arm.*. See
// pmdartarm(1).
package main

import (
	"os"

	"github.com/pcp-rtime/rtime/pmdas/arm/internal/agent"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
)

func main() {
	os.Exit(kit.Main(agent.New()))
}
