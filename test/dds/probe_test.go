package dds

import (
	"strings"
	"syscall"
	"testing"
)

// TestNoSuppliers: while there are no suppliers the agent's own metrics have no errors, and
// there is nothing below dds.
func TestNoSuppliers(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	for _, line := range strings.Split(strings.TrimSpace(p.Run("pmprobe", "-h", "local:", "-v", "rtime.dds")), "\n") {
		if f := strings.Fields(line); len(f) < 2 || strings.HasPrefix(f[1], "-") {
			t.Errorf("%s", line)
		}
	}
	if r := p.Try("pminfo", "-h", "local:", "dds"); strings.Contains(r.Out, "dds.") {
		t.Error(r)
	}
}

// TestReload: on SIGHUP the agent reads its configuration again. It refuses a bad one and
// names the line and the reason.
func TestReload(t *testing.T) {
	t.Parallel()
	p := start(t, "maxsuppliers 0\n", false)
	startSupplier(t, p, 0)
	is(t, p, "rtime.dds.agent.refused", "", "1")
	hup := func(conf string) {
		t.Helper()
		p.WriteFile("dds.conf", conf)
		if err := syscall.Kill(p.AgentPID(program(t)), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	hup("timeout 5\n")
	logged(t, p, "dds.conf:1: timeout: 5 is not between 15 and 600, or 0", "reload refused")
	is(t, p, "rtime.dds.agent.suppliers", "", "0")
	hup("maxsuppliers 1\n")
	is(t, p, "dds.IBM.Test.gadgets", "", "0")
}

// TestTry: the agent prints the tree without PCP, and tells suppliers nothing.
func TestTry(t *testing.T) {
	t.Parallel()
	p := start(t, "", false)
	s := startSupplier(t, p, 0)
	s.do("add DDS/IBM/Moretest/Bingo")
	r := p.Try(program(t), "--try", "--count", "1", "--every", "0.1", "--dir", p.Path("run/dds"))
	has(t, r.Out, "DDS/IBM/Moretest/Bingo/", `dds.IBM.Moretest.problems["Bingo"]`, "dds.IBM.Test.gadgets", "Bogus Context Number 1",
		"SpmiSupl@root", "ready")
	if r.Code != 0 {
		t.Error(r)
	}
	is(t, p, "rtime.dds.supplier.state", "SpmiSupl@root", "ready")
}
