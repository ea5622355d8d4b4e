// Pmdadds is the agent dds: it exports the contexts and statistics that programs supply
// through shared memory to Performance Co-Pilot, as dds.*. See pmdadds(1).
package main

import (
	"os"
	"runtime/debug"

	"github.com/pcp-rtime/rtime/pmdas/dds/internal/agent"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
)

func main() {
	// What is held for a user is bounded, and so is what waits to be collected beside it.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25)
	}
	os.Exit(kit.Main(agent.New()))
}
