//go:build linux

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	loopbackHosts = 1000
	warmUp        = 500 * time.Millisecond
)

// contenders are in the order in which a round runs them; all are compared with the first.
// The name of an engine stands for the engine alone: requests are sent at an even pace, and
// it is polled every 100 ms. "prober" stands for the agent's own loop and accounts on the
// Linux engine.
var contenders = []string{"fping", "linux", "prober", "pro-bing"}

// cell is what one contender did in one round.
type cell struct {
	perProbe float64 // CPU microseconds
	rate     float64 // probes per second, as it was
	answered float64 // share
}

// measureCPU prints CPU time per probe and its ratio to fping's.
func (s *settings) measureCPU() error {
	fmt.Printf("CPU time (user+system) per probe, %d loopback hosts, %d rounds of %v each, medians\n",
		loopbackHosts, s.rounds, s.seconds)
	fmt.Println("rate/s  engine     us/probe  of fping's  (rounds)          rate as it was  answered")
	for _, rate := range s.rates {
		cells := map[string][]cell{}
		for range s.rounds {
			for _, name := range contenders {
				c, err := s.cpuCell(name, rate)
				if err != nil {
					return fmt.Errorf("%s at %d/s: %w", name, rate, err)
				}
				cells[name] = append(cells[name], c)
			}
		}
		for _, name := range contenders {
			printCPU(rate, name, cells[name], cells[contenders[0]])
		}
	}
	return nil
}

func printCPU(rate int, name string, cells, base []cell) {
	var us, ratio, real, answered []float64
	for i, c := range cells {
		us = append(us, c.perProbe)
		ratio = append(ratio, c.perProbe/base[i].perProbe)
		real = append(real, c.rate)
		answered = append(answered, c.answered)
	}
	var each []string
	for _, r := range ratio {
		each = append(each, fmt.Sprintf("%.2f", r))
	}
	fmt.Printf("%6d  %-9s  %8.1f  %10.2f  %-16s  %14.1f  %7.1f%%\n", rate, name,
		median(us), median(ratio), strings.Join(each, " "), median(real), 100*median(answered))
}

// cpuCell runs one contender. The CPU time is that of the middle of its run; the
// number of probes in it follows from the rate, which the contender tells at the
// end.
func (s *settings) cpuCell(name string, rate int) (cell, error) {
	cmd, err := s.command(name, rate)
	if err != nil {
		return cell{}, err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return cell{}, err
	}
	time.Sleep(warmUp)
	from, began := cpuOf(cmd.Process.Pid), time.Now()
	time.Sleep(s.seconds)
	used, took := cpuOf(cmd.Process.Pid)-from, time.Since(began)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait() // fping's status tells of hosts that had no turn yet
	parse := parseChild
	if name == "fping" {
		parse = parseFping
	}
	sent, got, real, err := parse(out.String())
	if err != nil || sent == 0 || used <= 0 {
		return cell{}, fmt.Errorf("no figures (%v) in %q", err, out.String())
	}
	return cell{
		perProbe: used.Seconds() * 1e6 / (real * took.Seconds()),
		rate:     real,
		answered: got / sent,
	}, nil
}

// command is the contender's, asking loopback hosts.
func (s *settings) command(name string, rate int) (*exec.Cmd, error) {
	hosts := make([]string, loopbackHosts)
	for i := range hosts {
		hosts[i] = netip.AddrFrom4([4]byte{127, 1, byte(i / 250), byte(i%250 + 1)}).String()
	}
	if name == "fping" {
		gap := 1000 / rate // milliseconds
		args := []string{"-l", "-q", "-s", "-i", strconv.Itoa(gap), "-p", strconv.Itoa(gap * len(hosts))}
		return exec.Command("fping", append(args, hosts...)...), nil
	}
	return s.self("-child", name, "-rate", strconv.Itoa(rate), "-tick", s.tick.String(), "-hosts", strings.Join(hosts, ","))
}

// self is this program with other arguments.
func (s *settings) self(args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(exe, args...), nil
}

// cpuOf returns the CPU time that a process has used, all its threads.
func cpuOf(pid int) time.Duration {
	var ts unix.Timespec
	// clock_getcpuclockid(3): how Linux names the clock of a process.
	if unix.ClockGettime(int32(^pid<<3|2), &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

var fpingStats = regexp.MustCompile(`(?s)(\d+) ICMP Echos sent\s+(\d+) ICMP Echo Replies received.*?([\d.]+) sec \(elapsed`)

func parseFping(out string) (sent, got, rate float64, err error) {
	m := fpingStats.FindStringSubmatch(out)
	if m == nil {
		return 0, 0, 0, fmt.Errorf("no statistics")
	}
	sent, _ = strconv.ParseFloat(m[1], 64)
	got, _ = strconv.ParseFloat(m[2], 64)
	took, err := strconv.ParseFloat(m[3], 64)
	return sent, got, sent / took, err
}

func parseChild(out string) (sent, got, rate float64, err error) {
	_, err = fmt.Sscan(out, &sent, &got, &rate)
	return sent, got, rate, err
}

func median[T cmp.Ordered](x []T) T {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
