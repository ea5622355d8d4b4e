//go:build linux

// Probebench measures the probing engines against fping in one run: CPU time per
// probe over loopback, and the error of the response times shown, against hosts
// that answer after a known delay. It needs root, fping and the ip command.
//
// Figures of single cells differ from hour to hour; the ratios, taken round by
// round and then their median, are what to look at.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings are the flags.
type settings struct {
	seconds time.Duration
	rounds  int
	rates   []int
	tick    time.Duration
	delay   time.Duration
	only    string

	child string
	rate  float64
	count int
	hosts string
}

func main() {
	var s settings
	rates := flag.String("rates", "10,100,1000", "probes per second, for CPU time")
	flag.DurationVar(&s.seconds, "time", 2*time.Second, "length of a cell")
	flag.IntVar(&s.rounds, "rounds", 3, "rounds, of which the median counts")
	flag.DurationVar(&s.tick, "tick", 5*time.Millisecond, "engines: the shortest sleep; what is due meanwhile is sent together")
	flag.DurationVar(&s.delay, "delay", 700*time.Microsecond, "after which the hosts answer, for the error (fping shows three digits)")
	flag.StringVar(&s.only, "only", "", "cpu or error: only that part")
	flag.StringVar(&s.child, "child", "", "internal: run as an engine under measurement")
	flag.Float64Var(&s.rate, "rate", 100, "internal: of the child")
	flag.IntVar(&s.count, "count", 0, "internal: requests that the child sends before it prints all times")
	flag.StringVar(&s.hosts, "hosts", "", "internal: whom the child asks")
	flag.Parse()
	if err := s.run(*rates); err != nil {
		fmt.Fprintln(os.Stderr, "probebench:", err)
		os.Exit(1)
	}
}

func (s *settings) run(rates string) error {
	switch s.child {
	case "":
	case "spin":
		for spin := true; spin; {
			spin = os.Getppid() != 1 // and not for ever, if nobody ends it
		}
	case "prober":
		return runProber(s)
	default:
		return runChild(s)
	}
	for _, r := range strings.Split(rates, ",") {
		n, err := strconv.Atoi(r)
		if err != nil || n < 1 || n > 1000 {
			return fmt.Errorf("rate %q: want 1 to 1000 probes/s, which is what fping can do", r)
		}
		s.rates = append(s.rates, n)
	}
	if s.only != "error" {
		if err := s.measureCPU(); err != nil {
			return err
		}
	}
	if s.only != "cpu" {
		return s.measureError()
	}
	return nil
}
