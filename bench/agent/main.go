// Agent measures what an agent on package pmda costs to serve, against an agent in C
// on libpcp_pmda that has the same metrics (cagent/agent.c), and against PCP's own
// agents where they are installed. It starts each agent over a pipe, as pmcd does,
// and needs no pmcd.
//
//	go run ./bench/agent [-short] [-json] [-only NAME,NAME] [-with "NAME=COMMAND"]
//
// CPU is user and system time of the agent's process. Rounds alternate between the
// agents; every figure is the median of the rounds, and every ratio the median of the
// ratios of single rounds. Pinned means that agent and
// requester share one processor, so that what is measured is the work and not the
// waking of another processor.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// plan says how long to measure.
type plan struct {
	rounds      int
	round       time.Duration // of each, with as many fetches as can be
	pacedRounds int
	paced       time.Duration
	starts      int
}

var (
	full  = plan{rounds: 9, round: 30 * time.Millisecond, pacedRounds: 5, paced: 600 * time.Millisecond, starts: 7}
	short = plan{rounds: 3, round: 15 * time.Millisecond, pacedRounds: 2, paced: 400 * time.Millisecond, starts: 3}
)

func main() {
	isShort := flag.Bool("short", false, "measure for less long")
	asJSON := flag.Bool("json", false, "print JSON")
	only := flag.String("only", "", "measure only these agents, besides Go and C; comma-separated, - for none")
	var with []string
	flag.Func("with", "measure one more agent that has the metrics and options of goagent, as `NAME=COMMAND`;\n"+
		"to compare two builds, or settings with env(1)", func(s string) error {
		if name, command, ok := strings.Cut(s, "="); !ok || name == "" || command == "" {
			return errors.New("want NAME=COMMAND")
		}
		with = append(with, s)
		return nil
	})
	flag.Parse()
	p := full
	if *isShort {
		p = short
	}
	rep, err := measureAll(p, *only, with)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/agent:", err)
		os.Exit(1)
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		_ = e.Encode(rep)
		return
	}
	rep.print(os.Stdout)
}

func measureAll(p plan, only string, with []string) (*report, error) {
	runtime.LockOSThread() // it alone is pinned, starts the agents and talks to them
	dir, err := os.MkdirTemp("", "bench-agent-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	peers, notes, err := findPeers(dir)
	if err != nil {
		return nil, err
	}
	peers = choose(peers, only)
	for _, w := range with {
		peers = append(peers, otherPeer(w))
	}
	b := &bench{plan: p, dir: dir, peers: peers, report: &report{Notes: notes}}
	for _, step := range []func() error{b.starts, b.pinned, b.scheduled} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, b.stderr())
		}
	}
	b.report.compareDDS()
	return b.report, nil
}

// choose leaves out peers that were not asked for.
func choose(peers []*peer, only string) []*peer {
	if only == "" {
		return peers
	}
	var list []*peer
	for _, p := range peers {
		if p.name == reference || p.name == ours || strings.Contains(","+only+",", ","+p.name+",") {
			list = append(list, p)
		}
	}
	return list
}
