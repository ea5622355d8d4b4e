// Pmdadds is the agent dds: it exports the contexts and statistics that programs supply
// through shared memory to Performance Co-Pilot, as dds.*. See pmdadds(1).
package main

import (
	"os"
	"runtime"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/agent"
)

func main() {
	// One thread does all there is to do, and does it cheaper alone: with more, the
	// runtime wakes a second one whenever the first wakes up. GOMAXPROCS overrides.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	os.Exit(pmda.Main(agent.New()))
}
