package dds

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// hangUp has the agent read its configuration and look at all files again.
func hangUp(t *testing.T, p *pcptest.PCP) {
	t.Helper()
	if err := syscall.Kill(p.AgentPID(program(t)), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// TestNoAccess: a segment that the agent may not open costs its supplier alone, and is
// taken when it may.
func TestNoAccess(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	good := startSupplier(t, p, 65534)
	good.do("gadgets")
	is(t, p, "dds.IBM.Test.gadgets", "", "1")
	rogue := startRogue(t, p, good, 1)
	path := p.Path("run/dds", filepath.Base(rogue.path))
	is(t, p, "rtime.dds.agent.suppliers", "", "2")
	hidden := p.Path("run/rogue/hidden") // out of the directory, and in again
	if err := os.Rename(path, hidden); err != nil {
		t.Fatal(err)
	}
	is(t, p, "rtime.dds.agent.suppliers", "", "1")
	if err := os.Chmod(hidden, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hidden, path); err != nil {
		t.Fatal(err)
	}
	is(t, p, "rtime.dds.agent.refused", "", "1")
	logged(t, p, "permission denied")
	is(t, p, "dds.IBM.Test.gadgets", "", "1")
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	hangUp(t, p)
	is(t, p, "rtime.dds.agent.suppliers", "", "2")
	good.kill()
	is(t, p, "dds.IBM.Test.gadgets", "", "0")
}
