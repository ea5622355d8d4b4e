// Package install tests what brings the agents onto a machine: Install and Remove,
// the functions they are made of, and what comes beside an agent for PCP's tools.
//
// What changes the machine's own PCP is in system_test.go, built with the tag system:
// it must run alone, because PCP's scripts kill every process with an agent's name.
package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

func TestMain(m *testing.M) { os.Exit(around(func() int { return pcptest.Main(m) })) }

// around runs all tests. With the tag system another function takes its place, which leaves
// the machine as it was found.
var around = func(run func() int) int { return run() }

// top returns the path of a file of the checkout.
func top(t testing.TB, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", ".."}, elem...)...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
