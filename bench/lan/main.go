// Lan measures the agent rtlan as a whole, as pmcd would start it, on 10, 1,000 and
// 10,000 loopback hosts: how long it takes from its start to the first values, how
// much of a core it uses while it probes 1, 100 and 1,000 hosts a second, what a fetch
// of all its metrics costs, and what memory it takes after that. It needs root.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

const domain = 470

func main() {
	length := flag.Duration("time", 20*time.Second, "how long each number of hosts is probed")
	short := flag.Bool("short", false, "probe for 5 s")
	flag.Parse()
	if *short {
		*length = 5 * time.Second
	}
	if err := run(*length); err != nil {
		fmt.Fprintln(os.Stderr, "bench/lan:", err)
		os.Exit(1)
	}
}

func run(length time.Duration) error {
	dir, err := os.MkdirTemp("", "bench-lan")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "pmdartlan")
	build := exec.Command("go", "build", "-o", program, "./pmdas/lan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	fmt.Println("the agent rtlan; targets at 10,000 hosts: under 2% of a core, under 40 MB")
	fmt.Println(" hosts  probes/s  first value ms  % of a core  us/probe    values  fetch ms  RSS MB  private MB")
	for _, hosts := range []int{10, 1000, 10000} {
		if err := cell(dir, program, hosts, length); err != nil {
			return err
		}
	}
	return nil
}

// cell runs the agent on some hosts and prints a row.
func cell(dir, program string, hosts int, length time.Duration) error {
	var conf strings.Builder
	conf.WriteString("interval 10\nmaxrate 1000\nidle 0\nhost")
	for i := range hosts {
		fmt.Fprintf(&conf, " 127.%d.%d.%d", 1+i>>16, i>>8&255, i&255)
		if i%100 == 99 {
			conf.WriteString("\nhost")
		}
	}
	text := strings.TrimSuffix(conf.String(), "\nhost") + "\n"
	file := filepath.Join(dir, "rtlan.conf")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	began := time.Now()
	a, err := start(program, "--config", file, "--state", dir, "-l", filepath.Join(dir, "log"), "-U", "root")
	if err != nil {
		return err
	}
	defer a.stop()
	if n, err := a.fetch(requests); err != nil || n != hosts {
		return fmt.Errorf("first fetch: %d values of %d hosts, %v", n, hosts, err)
	}
	first := time.Since(began)
	time.Sleep(2 * time.Second) // the first cycle has begun
	sent0, cpu0, t0 := a.sent(), a.cpu(), time.Now()
	time.Sleep(length)
	cpu, wall := a.cpu()-cpu0, time.Since(t0)
	sent := a.sent() - sent0
	const fetches = 5
	fetching, values := time.Duration(0), 0
	for i := range fetches + 1 {
		cpu0 = a.cpu()
		if values, err = a.fetch(all...); err != nil {
			return err
		}
		if i > 0 { // the first one makes room
			fetching += a.cpu() - cpu0
		}
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("%6d  %8.1f  %14.1f  %11.2f  %8.1f  %8d  %8.2f  %6.1f  %10.1f\n", hosts, float64(sent)/wall.Seconds(),
		float64(first.Microseconds())/1000, 100*cpu.Seconds()/wall.Seconds(),
		float64(cpu.Microseconds())/float64(max(sent, 1)), values,
		float64(fetching.Microseconds())/1000/fetches, a.memory("Rss")/1024, a.memory("Private_Dirty")/1024)
	return nil
}

var (
	requests = pcp.MakePMID(domain, 0, 6)
	sent     = pcp.MakePMID(domain, 4, 4)
	all      = everything()
)

// everything is every metric with an instance for each host.
func everything() (ids []pcp.PMID) {
	for item := range 20 {
		ids = append(ids, pcp.MakePMID(domain, 0, item))
	}
	for item := range 9 {
		ids = append(ids, pcp.MakePMID(domain, 1, item))
	}
	for item := range 10 {
		ids = append(ids, pcp.MakePMID(domain, 2, item))
	}
	return ids
}

// agent is the program, and the pipes to it.
type agent struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *pdu.Reader
}

func start(program string, args ...string) (*agent, error) {
	a := &agent{cmd: exec.Command(program, args...)}
	a.cmd.Stderr = os.Stderr
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.out = pdu.NewReader(out, 0)
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := a.out.Next(); err != nil {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	b := (&pdu.Creds{Version: 2}).Append(nil, 0)
	b = (&pdu.Profile{}).Append(b, 0)
	_, err = a.in.Write(b)
	return a, err
}

func (a *agent) stop() {
	a.in.Close()
	_ = a.cmd.Wait()
}

// values fetches and returns the last set and how many values there are in all.
func (a *agent) values(ids []pcp.PMID) (last pdu.ValueSet, n int, err error) {
	if _, err := a.in.Write((&pdu.Fetch{PMIDs: ids}).Append(nil, 0)); err != nil {
		return last, 0, err
	}
	b, err := a.out.Next()
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

func (a *agent) fetch(ids ...pcp.PMID) (int, error) {
	_, n, err := a.values(ids)
	return n, err
}

// sent is how many requests the agent has sent.
func (a *agent) sent() uint64 {
	s, _, err := a.values([]pcp.PMID{sent})
	if err != nil || len(s.Values) != 1 {
		panic(errors.Join(errors.New("rtime.lan.agent.sent has no value"), err))
	}
	return s.Values[0].Value.Bits()
}

// cpu is the processor time that the agent has used, from its own clock.
func (a *agent) cpu() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^a.cmd.Process.Pid<<3|2), &ts); err != nil { // see clock_getcpuclockid(3)
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// memory is a figure of /proc/PID/smaps_rollup in KiB.
func (a *agent) memory(name string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", a.cmd.Process.Pid))
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name+":" {
			n, _ := strconv.ParseFloat(f[1], 64)
			return n
		}
	}
	return 0
}
