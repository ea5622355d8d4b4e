// Pmdadds is the agent dds: it exports the contexts and statistics that programs supply
// through shared memory to Performance Co-Pilot, as dds.*. See pmdadds(1).
package main

import (
	"os"

	"github.com/pcp-rtime/rtime/pmdas/dds/internal/agent"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
)

func main() {
	os.Exit(kit.Main(agent.New()))
}
