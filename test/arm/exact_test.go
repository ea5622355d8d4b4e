package arm

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// segments counts the processes' files by the pid in their names.
func segments(t *testing.T, p *pcptest.PCP) map[int]int {
	t.Helper()
	list, err := filepath.Glob(p.Path("run/arm", "*"+layout.ProcSuffix))
	if err != nil {
		t.Fatal(err)
	}
	pids := make(map[int]int)
	for _, path := range list {
		pids[number(strings.Split(filepath.Base(path), "-")[1])]++
	}
	return pids
}

// crowd is eight processes in C and in Go, each of which does its work with eight threads.
type crowd []*program

func newCrowd(t *testing.T, p *pcptest.PCP) (c crowd) {
	t.Helper()
	exes := []string{cProgram(t), goProgram(t)}
	for i := range 8 {
		q := run(t, p, exes[i%2], 0)
		q.do("init Shop")
		q.do("tran %s", buy)
		c = append(c, q)
	}
	return c
}

// work has each thread complete a number of transactions, of which some are aborted and
// some fail.
func (c crowd) work(good, aborted, failed int) {
	for _, q := range c {
		for status, n := range []int{good, aborted, failed} {
			q.order("do %s %d %d 8", buy, n, status)
		}
	}
}

func (c crowd) done() {
	for _, q := range c {
		for range 3 {
			q.done()
		}
	}
}

// TestExact: eight processes with eight threads each execute one transaction, which ends in
// all possible ways. Every execution is counted, in the window as well, in which nothing is
// too old yet.
func TestExact(t *testing.T) {
	t.Parallel()
	const good, aborted, failed = 20000, 2000, 1000
	p := start(t, fast+longWindow)
	c := newCrowd(t, p)
	c.work(good, aborted, failed)
	c.done()
	exact(t, p, 64*good, 64*aborted, 64*failed)
	is(t, p, "rtime.arm.window.count", buy, strconv.Itoa(64*good))
	// Divided by the count, the sum of the times is the mean of the window.
	near(t, "window.mean", p.Number("rtime.arm.window.mean", buy), p.Number("rtime.arm.time.total", buy)/(64*good))
	// If more executions ended between two looks than a cell remembers, the times of the
	// others come from the histogram, which is off by up to a sixteenth or 32 ns.
	for _, name := range []string{"min", "max"} {
		w, ever := p.Number("rtime.arm.window."+name, buy), p.Number("rtime.arm.time."+name, buy)
		if d := ever/16 + 0.033; w < ever-d || w > ever+d {
			t.Errorf("window.%s is %v, that of all %v", name, w, ever)
		}
	}
	last := 0.0
	for _, name := range []string{"min", "median", "p80", "p95", "p99", "max"} {
		if v := p.Number("rtime.arm.window."+name, buy); v < last*7/8-0.064 {
			t.Errorf("window.%s is %v, less than %v", name, v, last)
		} else {
			last = v
		}
	}
}

func exact(t *testing.T, p *pcptest.PCP, good, aborted, failed int) {
	t.Helper()
	all(t, p, buy, "count", strconv.Itoa(good), "aborted", strconv.Itoa(aborted), "failed", strconv.Itoa(failed),
		"active", "0", "abandoned", "0")
}

// TestExactAgentKilled: the same, while the agent is killed three times. Nothing is lost or
// counted twice, counts never go back, and the instance keeps its number.
func TestExactAgentKilled(t *testing.T) {
	t.Parallel()
	const rounds, good, aborted, failed = 3, 50000, 300, 200
	p := start(t, fast)
	c := newCrowd(t, p)
	is(t, p, "rtime.arm.count", buy, "0")
	ids := p.IDs("rtime.arm.count")
	last := 0
	for round := 1; round <= rounds; round++ {
		c.work(good, aborted, failed)
		pid := p.AgentPID(agentProgram(t))
		pcptest.Eventually(t, "some are counted", func() error {
			n := number(p.Values("rtime.arm.count")[buy].Text)
			if n <= last {
				return fmt.Errorf("%d", n)
			}
			last = n
			return nil
		})
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		again(t, p, pid)
		pcptest.Eventually(t, "the new agent has them", func() error {
			n := number(p.Values("rtime.arm.count")[buy].Text)
			if n == -1 {
				return fmt.Errorf("none")
			}
			if n < last {
				t.Fatalf("the count went from %d to %d", last, n)
			}
			return nil
		})
		c.done()
		exact(t, p, round*64*good, round*64*aborted, round*64*failed)
		last = round * 64 * good
		ids = sameIDs(t, p, ids)
	}
	for _, q := range c {
		q.quit()
	}
	is(t, p, "rtime.arm.agent.files", "", "0")
	exact(t, p, rounds*64*good, rounds*64*aborted, rounds*64*failed)
}
