package agent

import (
	"flag"
	"testing"

	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

var update = flag.Bool("update", false, "write the files that are made from the agent's table")

// TestFilesMatchTable: after a change of the table run
// go test ./pmdas/arm/internal/agent -update
func TestFilesMatchTable(t *testing.T) {
	pmdatest.Files(t, New(), "../..", "../../../../docs/metrics-rtarm.md", *update)
}
