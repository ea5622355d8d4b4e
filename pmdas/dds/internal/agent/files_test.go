package agent

import (
	"flag"
	"testing"

	"github.com/pcp-rtime/rtime/pmda/pmdatest"
)

var update = flag.Bool("update", false, "write the files that are made from the agent's table")

// TestFilesMatchTable: the files match the table. After a change of the table
// run
// go test ./pmdas/dds/internal/agent -update
func TestFilesMatchTable(t *testing.T) {
	pmdatest.Files(t, New(), "../..", "../../../../docs/metrics-dds.md", *update)
}
