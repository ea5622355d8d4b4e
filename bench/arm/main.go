// Arm measures what programs pay for having their transactions timed, and what the agent
// rtarm takes, beside what they would use instead, all in one run: PCP's own trace library
// with its agent, the speed library, Prometheus and OpenTelemetry. Run it as root from the
// top of the module; -h lists the flags.
//
// Calls of a few nanoseconds are given by the fastest of many short batches, which leaves
// out other load on the machine. Agents are measured by the processor time of their
// process. Every ratio is the median of the rounds' ratios.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	rounds := flag.Int("rounds", 5, "number of rounds")
	only := flag.String("only", "", "measure only these, comma-separated: c, go, grpc, python, agent, disk")
	flag.Parse()
	if err := run(*rounds, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench/arm:", err)
		os.Exit(1)
	}
}

func run(rounds int, only string) error {
	dir, err := os.MkdirTemp("/dev/shm", "rtime-bench-arm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("load average at the start: %s", load)
	b := &bench{dir: dir, rounds: rounds}
	for _, part := range []struct {
		name string
		f    func() error
	}{{"c", b.c}, {"go", b.golang}, {"grpc", b.grpc}, {"python", b.python}, {"agent", b.agent}, {"disk", b.disk}} {
		if only != "" && !strings.Contains(","+only+",", ","+part.name+",") {
			continue
		}
		if err := part.f(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// bench is a run.
type bench struct {
	dir    string // on tmpfs, for everything
	rounds int
}
