package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/pcp"
)

const (
	domain   = 471
	cDomain  = 400 // of bench/agent/cagent
	metrics  = 8
	inAgent  = "rtarm"
	inC      = "agent in C"
	inTrace  = "pmdatrace"
	oneValue = ", per value"
)

var (
	transactions = pcp.MakePMID(domain, 10, 0)
	cycles       = pcp.MakePMID(domain, 10, 8)
)

// agent measures what the agent takes.
func (b *bench) agent() error {
	if _, err := b.goProgram("pmdartarm", "", "./pmdas/arm"); err != nil {
		return err
	}
	if _, err := command("", nil, "cc", "-O2", "-o", filepath.Join(b.dir, "cagent"),
		"bench/agent/cagent/agent.c", "-lpcp_pmda", "-lpcp"); err != nil {
		return err
	}
	if err := b.cycle(); err != nil {
		return err
	}
	runtime.LockOSThread() // it shares a processor with the agents, as they wait for each other
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	cpu, _ := strconv.Atoi(lastCPU())
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	defer func() { _ = unix.SchedSetaffinity(0, &all) }()
	for i, c := range []struct {
		n      int
		reach  float64 // as a share of the agent in C
		traced bool    // pmdatrace searches its tags one after the other
	}{{10, 0.7, true}, {1000, 0.15, true}, {10000, 0.15, false}} {
		if err := b.fetches(i+1, c.n, c.reach, c.traced); err != nil {
			return err
		}
	}
	return nil
}

// supply publishes so many transactions, each of which has ended once.
func (b *bench) supply(n int) (dir string, list []*arm.Transaction, done func(), err error) {
	if dir, _, err = b.segments("agent" + strconv.Itoa(n)); err != nil {
		return "", nil, nil, err
	}
	app := arm.NewApplication("bench", arm.Dir(dir))
	for i := range n {
		t := app.Transaction("t" + strconv.Itoa(i))
		if !t.Report(time.Millisecond, arm.Good) {
			app.Close()
			return "", nil, nil, fmt.Errorf("transaction %d of %d: %w", i, n, t.Err())
		}
		list = append(list, t)
	}
	return dir, list, func() { app.Close() }, nil
}

// startArm starts the agent and waits until it knows so many transactions.
func (b *bench) startArm(dir string, n int, interval string) (*agent, error) {
	conf := filepath.Join(b.dir, "rtarm.conf")
	if err := os.WriteFile(conf, []byte("interval "+interval+"\n"), 0o600); err != nil {
		return nil, err
	}
	a, err := b.start(filepath.Join(b.dir, "pmdartarm"), "--dir", dir, "--config", conf, "--state", b.dir,
		"-l", filepath.Join(b.dir, "rtarm.log"), "-U", "root")
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		known, err := a.value(transactions)
		if err == nil && known != uint64(n) && time.Now().After(deadline) {
			err = fmt.Errorf("the agent knows %d transactions of %d", known, n)
		}
		if err != nil {
			a.stop()
			return nil, err
		}
		if known == uint64(n) {
			return a, nil
		}
	}
}

// fetches measures fetches of eight metrics with n instances each.
func (b *bench) fetches(cluster, n int, reach float64, traced bool) error {
	dir, _, done, err := b.supply(n)
	if err != nil {
		return err
	}
	defer done()
	ours, err := b.startArm(dir, n, "3600")
	if err != nil {
		return err
	}
	defer ours.stop()
	c, err := b.start(filepath.Join(b.dir, "cagent"), "-l", filepath.Join(b.dir, "c.log"), "-n", strconv.Itoa(n))
	if err != nil {
		return err
	}
	defer c.stop()
	rows := []fetched{{inAgent, ours, armMetrics()}, {inC, c, nil}}
	for item := range metrics {
		rows[1].ids = append(rows[1].ids, pcp.MakePMID(cDomain, cluster, item))
	}
	if traced {
		t, err := b.startTrace()
		if err != nil {
			return err
		}
		defer t.stop()
		if err := t.fill(n); err != nil {
			return err
		}
		rows = append(rows, fetched{inTrace, t.agent, t.metrics()})
	}
	return b.compare(n, reach, rows)
}

// armMetrics are the seven that SpmiArmd had and the total time. All transactions have
// them.
func armMetrics() (ids []pcp.PMID) {
	for item := range metrics - 1 {
		ids = append(ids, pcp.MakePMID(domain, 0, item))
	}
	return append(ids, pcp.MakePMID(domain, 1, 4))
}

// fetched is an agent and what is fetched from it.
type fetched struct {
	name string
	a    *agent
	ids  []pcp.PMID
}

func (b *bench) compare(n int, reach float64, rows []fetched) error {
	var whole, each table
	for range b.rounds {
		for _, r := range rows {
			us, values, err := r.a.perFetch(r.ids)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if values != n*len(r.ids) {
				return fmt.Errorf("%s: %d values, want %d", r.name, values, n*len(r.ids))
			}
			whole.add(r.name, us)
			each.add(r.name+oneValue, us*1e3/float64(values))
		}
	}
	whole.print(fmt.Sprintf("A fetch of 8 metrics (of pmdatrace 6) x %d, us of CPU", n), inC)
	each.print("The same, ns of CPU", inC+oneValue)
	whole.atMost(reach, inAgent, inC)
	return nil
}
