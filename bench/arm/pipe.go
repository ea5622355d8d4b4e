package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// agent is a program that serves us over a pipe as it would serve pmcd.
type agent struct {
	cmd *exec.Cmd
	in  *os.File
	out *os.File
	r   *pdu.Reader
}

// lastCPU is the processor that agents run on, as taskset(1) names it.
func lastCPU() string {
	var set unix.CPUSet
	_ = unix.SchedGetaffinity(os.Getpid(), &set)
	for cpu := 64*len(set) - 1; cpu > 0; cpu-- {
		if set.IsSet(cpu) {
			return strconv.Itoa(cpu)
		}
	}
	return "0"
}

func (b *bench) start(args ...string) (*agent, error) {
	in, toIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, toOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer toOut.Close()
	a := &agent{exec.Command("taskset", append([]string{"-c", lastCPU()}, args...)...), toIn, out, pdu.NewReader(out, 0)}
	a.cmd.Dir, a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = b.dir, in, toOut, os.Stderr
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := a.r.Next(); err != nil {
		a.stop()
		return nil, fmt.Errorf("%s: no credentials: %w", args[0], err)
	}
	greeting := (&pdu.Creds{Version: 2}).Append(nil, 0)
	_, err = a.in.Write((&pdu.Profile{}).Append(greeting, 0))
	return a, err
}

func (a *agent) stop() {
	a.in.Close()
	a.out.Close()
	_ = a.cmd.Wait()
}

// fetch returns the last set, and how many values there are in all.
func (a *agent) fetch(ids ...pcp.PMID) (last pdu.ValueSet, n int, err error) {
	if _, err := a.in.Write((&pdu.Fetch{PMIDs: ids}).Append(nil, 0)); err != nil {
		return last, 0, err
	}
	b, err := a.r.Next()
	if err != nil {
		return last, 0, err
	}
	var r pdu.Result
	if err := r.Parse(b); err != nil {
		return last, 0, err
	}
	for _, s := range r.Sets {
		if s.Err != 0 {
			return last, 0, fmt.Errorf("%v: %w", s.PMID, s.Err)
		}
		n += len(s.Values)
	}
	return r.Sets[len(r.Sets)-1], n, nil
}

// value returns the value of a metric without an instance domain.
func (a *agent) value(id pcp.PMID) (uint64, error) {
	s, n, err := a.fetch(id)
	if err != nil || n != 1 {
		return 0, fmt.Errorf("%v: %d values, %w", id, n, err)
	}
	return s.Values[0].Value.Bits(), nil
}

// cpu is the processor time that the agent has used, from its own clock.
func (a *agent) cpu() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^a.cmd.Process.Pid<<3|2), &ts); err != nil { // see clock_getcpuclockid(3)
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// perFetch is the processor time of a fetch, in microseconds, and how many values it has.
func (a *agent) perFetch(ids []pcp.PMID) (us float64, values int, err error) {
	const length, least = 40 * time.Millisecond, 3
	if _, values, err = a.fetch(ids...); err != nil { // makes room
		return 0, 0, err
	}
	before, n := a.cpu(), 0
	for n < least || a.cpu()-before < length {
		if _, _, err := a.fetch(ids...); err != nil {
			return 0, 0, err
		}
		n++
	}
	return float64(a.cpu()-before) / 1e3 / float64(n), values, nil
}
