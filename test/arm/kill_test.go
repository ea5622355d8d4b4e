package arm

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/test/arm/armkill"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// victimMetrics are the metrics of what armkill knows of a process.
var victimMetrics = map[string]func(*armkill.Counted) *uint64{
	"count":     func(c *armkill.Counted) *uint64 { return &c.Count },
	"aborted":   func(c *armkill.Counted) *uint64 { return &c.Aborted },
	"failed":    func(c *armkill.Counted) *uint64 { return &c.Failed },
	"abandoned": func(c *armkill.Counted) *uint64 { return &c.Abandoned },
	"updates":   func(c *armkill.Counted) *uint64 { return &c.Updates },
}

// victims reads the metrics of the transactions of killed processes, and of the witness. A
// transaction without an instance counts as zero.
func victims(t *testing.T, p *pcptest.PCP) (rows [armkill.Batch + 1]armkill.Counted) {
	t.Helper()
	for metric, of := range victimMetrics {
		values := p.Values("rtime.arm." + metric)
		for i := range rows {
			v, ok := values[armkill.Name(i)]
			if !ok {
				continue
			}
			n, err := strconv.ParseUint(v.Text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			*of(&rows[i]) = n
		}
	}
	return rows
}

// TestKilled: processes in C and in Go are killed at random points and between the
// instructions of a start and a stop, and the agent in the middle. pmcd shows exactly what
// they had completed. The other processes go on, and names and instances keep their
// numbers.
func TestKilled(t *testing.T) {
	t.Parallel()
	programs := armkill.Build(t, t.TempDir())
	p := start(t, fast)
	dir := p.Path("run/arm")
	pcptest.Eventually(t, "the agent has made the directory", func() error {
		_, err := os.Stat(dir)
		return err
	})
	d := armkill.Start(t, programs, dir)
	var was [armkill.Batch + 1]armkill.Counted
	var ids map[string]int
	for round, order := range []string{"random 77", "step pair 100 5", "random 78 " + programs.Go, "random 79"} {
		underway(t, p, d, order, round%2 == 0)
		settled(t, p, 1)
		now := victims(t, p)
		for i := range armkill.Batch {
			if err := d.Check(i, now[i].Sub(was[i])); err != nil {
				t.Errorf("%s: %v", order, err)
			}
		}
		d.Do(nil, "newcomer")
		was = now
		ids = sameIDs(t, p, ids)
	}
	d.Do(nil, "end")
	d.Quit()
	witness := armkill.Name(armkill.Batch)
	all(t, p, witness, "count", strconv.FormatUint(d.Completed(armkill.Batch), 10), "abandoned", "0", "active", "0")
	is(t, p, "rtime.arm.app.active", armkill.App, "0")
	is(t, p, "rtime.arm.agent.files", "", "0")
}

// underway sends an order, asks pmcd while it is carried out, and kills the agent if the
// test wants that.
func underway(t *testing.T, p *pcptest.PCP, d *armkill.Driver, order string, kill bool) {
	t.Helper()
	killed := 0
	d.Do(func() {
		if killed == 0 && kill {
			killed = p.AgentPID(agentProgram(t))
			if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = p.TryValues("rtime.arm.count") // pmcd starts an agent when somebody asks
	}, "%s", order)
	if killed != 0 {
		again(t, p, killed)
	}
}

// settled waits until the given number of processes' files is left, and until the agent has
// shown a look that it began after that.
func settled(t *testing.T, p *pcptest.PCP, left int) {
	t.Helper()
	pcptest.Eventually(t, "the dead are taken over", func() error {
		if pids := segments(t, p); len(pids) != left {
			return fmt.Errorf("processes by pid: %v", pids)
		}
		return nil
	})
	cycles := p.Number("rtime.arm.agent.cycles", "")
	atLeast(t, p, "rtime.arm.agent.cycles", "", cycles+2)
}

// sameIDs returns the instances, and fails the test if one has another number than before.
func sameIDs(t *testing.T, p *pcptest.PCP, were map[string]int) map[string]int {
	t.Helper()
	now := p.IDs("rtime.arm.count")
	for name, id := range were {
		if now[name] != id {
			t.Errorf("%s was %d and is %d", name, id, now[name])
		}
	}
	return now
}

// TestOtherNamespace: a process in a pid namespace of its own is known to live by its lock.
// Its pid there, 1, is another process's here, and that one is not mistaken for it after it
// has ended.
func TestOtherNamespace(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, exe string) {
		p := start(t, fast)
		apart := p.WriteFile("apart", "#!/bin/sh\nexec unshare --pid --fork --kill-child --mount-proc "+exe+"\n")
		if err := os.Chmod(apart, 0o755); err != nil {
			t.Fatal(err)
		}
		here, one, two := run(t, p, exe, 0), run(t, p, apart, 0), run(t, p, apart, 0)
		for _, q := range []*program{here, one, two} {
			q.do("init Shop")
			q.do("tran %s", buy)
			q.do("do %s 100 0 2", buy)
			q.do("start r %s", buy)
		}
		all(t, p, buy, "count", "600", "active", "3", "abandoned", "0")
		is(t, p, "rtime.arm.agent.processes", "", "3")
		if pids := segments(t, p); len(pids) != 2 || pids[1] != 2 {
			t.Errorf("how many processes by pid: %v, want two that are 1, and another", pids)
		}
		one.kill()
		all(t, p, buy, "active", "2", "abandoned", "1", "count", "600")
		is(t, p, "rtime.arm.agent.files", "", "2")
		restart(t, p)
		is(t, p, "rtime.arm.agent.processes", "", "2")
		two.do("do %s 100 0 2", buy)
		two.do("stop r 0")
		two.quit()
		here.do("stop r 0")
		all(t, p, buy, "active", "0", "abandoned", "1", "count", "802")
		is(t, p, "rtime.arm.agent.files", "", "1")
	})
}
