// Pmdartarm is the agent rtarm: it exports the response times of transactions, which
// programs mark through the ARM libraries, to Performance Co-Pilot as rtime.arm.*. See
// pmdartarm(1).
package main

import (
	"os"
	"runtime"

	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/agent"
)

func main() {
	// One thread does all there is to do, and does it cheaper alone: with more, the
	// runtime wakes a second one whenever the first wakes up. GOMAXPROCS overrides.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	os.Exit(pmda.Main(agent.New()))
}
