//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-rtime/rtime/pmdas/lan/internal/probe/probetest"
)

// The error is measured with so many hosts, each asked so often per second.
const (
	errorHosts = 50
	errorRate  = 200 // over all hosts
)

// measureError prints how far the times shown are from the true ones, which are
// those between the time stamps of the hosts' kernel. What the link takes counts
// as error too.
func (s *settings) measureError() error {
	lab, err := probetest.Open()
	if err != nil {
		return err
	}
	defer lab.Close()
	n := int(s.seconds.Seconds()*errorRate) * s.rounds / errorHosts * errorHosts
	fmt.Printf("\nError of the response time shown, microseconds; hosts answer after %v; %d probes at %d/s\n",
		s.delay, n, errorRate)
	fmt.Println("machine  engine     median     p99      max  answered")
	next := 0
	for _, busy := range []bool{false, true} {
		state := "idle"
		if busy {
			state = "busy"
		}
		for _, name := range []string{"fping", "linux", "pro-bing"} {
			hosts := make([]netip.Addr, errorHosts)
			for i := range hosts {
				hosts[i] = lab.Addr(next)
				lab.Play(hosts[i], probetest.Behaviour{Delay: s.delay})
				next++
			}
			shown, err := s.errorCell(name, hosts, n, busy)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			printError(state, name, deviations(lab, hosts, shown), n)
		}
	}
	return nil
}

func printError(state, name string, d []time.Duration, n int) {
	if len(d) == 0 {
		fmt.Printf("%-7s  %-9s  nothing was answered\n", state, name)
		return
	}
	slices.Sort(d)
	us := func(x time.Duration) float64 { return float64(x) / 1e3 }
	fmt.Printf("%-7s  %-9s  %6.1f  %6.1f  %7.1f  %7.1f%%\n", state, name,
		us(d[len(d)/2]), us(d[len(d)*99/100]), us(d[len(d)-1]), 100*float64(len(d))/float64(n))
}

// errorCell lets a contender send n requests and returns the times it shows, per host in
// the order of the requests; 0 stands for a missing time.
func (s *settings) errorCell(name string, hosts []netip.Addr, n int, busy bool) (map[netip.Addr][]time.Duration, error) {
	if busy {
		stop, err := s.spin()
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	var list []string
	for _, h := range hosts {
		list = append(list, h.String())
	}
	var out bytes.Buffer
	if name == "fping" {
		gap := 1000 / errorRate
		cmd := exec.Command("fping", append([]string{"-q", "-C", strconv.Itoa(n / len(hosts)),
			"-i", strconv.Itoa(gap), "-p", strconv.Itoa(gap * len(hosts))}, list...)...)
		cmd.Stderr = &out
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			return nil, err
		}
		return parseTimes(out.String(), fpingTimes)
	}
	cmd, err := s.self("-child", name, "-rate", strconv.Itoa(errorRate), "-count", strconv.Itoa(n), "-hosts", strings.Join(list, ","))
	if err != nil {
		return nil, err
	}
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	_, times, _ := strings.Cut(out.String(), "\n")
	return parseTimes(times, childTimes)
}

// spin keeps every core busy until stop is called.
func (s *settings) spin() (stop func(), err error) {
	var cmds []*exec.Cmd
	stop = func() {
		for _, c := range cmds {
			c.Process.Kill()
			c.Wait()
		}
	}
	for range runtime.NumCPU() {
		c, err := s.self("-child", "spin")
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			stop()
			return nil, err
		}
		cmds = append(cmds, c)
	}
	return stop, nil
}

// parseTimes reads lines of a host and what parse makes times of.
func parseTimes(out string, parse func([]string) ([]time.Duration, error)) (map[netip.Addr][]time.Duration, error) {
	times := map[netip.Addr][]time.Duration{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		a, err := netip.ParseAddr(f[0])
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		t, err := parse(f[1:])
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		times[a] = append(times[a], t...)
	}
	return times, nil
}

// fpingTimes reads ": 0.71 - 0.72", milliseconds.
func fpingTimes(f []string) ([]time.Duration, error) {
	var t []time.Duration
	for _, w := range f[1:] {
		if w == "-" {
			t = append(t, 0)
			continue
		}
		ms, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return nil, err
		}
		t = append(t, time.Duration(ms*1e6))
	}
	return t, nil
}

// childTimes reads what child.print prints.
func childTimes(f []string) ([]time.Duration, error) {
	ns, err := strconv.ParseInt(f[0], 10, 64)
	return []time.Duration{time.Duration(ns)}, err
}

// deviations compares the times shown with the true ones. Hosts with a time missing
// are left out: there it cannot be said which is whose.
func deviations(lab *probetest.Lab, hosts []netip.Addr, shown map[netip.Addr][]time.Duration) []time.Duration {
	var d []time.Duration
	for _, h := range hosts {
		truth := lab.Played(h).Delays
		if len(truth) != len(shown[h]) || slices.Contains(shown[h], 0) {
			continue
		}
		for i, t := range truth {
			d = append(d, (shown[h][i] - t).Abs())
		}
	}
	return d
}
