package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-rtime/rtime/bench/agent/pipe"
)

// bench runs the measurements and fills the report.
type bench struct {
	plan
	dir    string
	peers  []*peer
	report *report
}

func (b *bench) pinned() error {
	unpin, err := pipe.Pin()
	if err != nil {
		return err
	}
	defer unpin()
	return b.serve("pinned")
}

func (b *bench) scheduled() error { return b.serve("as scheduled") }

// serve starts all agents and measures every shape.
func (b *bench) serve(mode string) error {
	conns := make(map[*peer]*pipe.Conn)
	defer func() {
		for _, c := range conns {
			c.Stop()
		}
	}()
	for _, p := range b.peers {
		c, err := pipe.Start(p.argv(10000), p.env, b.dir)
		if err != nil {
			return err
		}
		conns[p] = c
	}
	for _, s := range shapes {
		if err := b.shape(mode, s, conns, b.rounds, b.round); err != nil {
			return err
		}
	}
	for _, s := range pacedShapes {
		if err := b.shape(mode, s, conns, b.pacedRounds, b.paced); err != nil {
			return err
		}
	}
	if mode == "pinned" {
		b.sources(conns)
	}
	return nil
}

// shape measures one shape on all agents in turn, so many times over.
func (b *bench) shape(mode string, s shape, conns map[*peer]*pipe.Conn, rounds int, d time.Duration) error {
	const enough = 3
	samples, spent := make(map[*peer][]sample), make(map[*peer]time.Duration)
	for range rounds {
		for _, p := range b.peers {
			r := newRound(p, conns[p], s)
			if r == nil || s.paced && !p.like && p.name != reference {
				continue
			}
			if len(samples[p]) >= enough && spent[p] > time.Duration(rounds)*d {
				continue // a fetch takes longer than a round
			}
			begin := monotonic()
			if err := r.prepare(); err != nil {
				return fmt.Errorf("%s, %s: %w", p.name, s.name, err)
			}
			one, err := r.measure(d)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", p.name, s.name, err)
			}
			samples[p] = append(samples[p], one)
			if !s.paced {
				spent[p] += monotonic() - begin
			}
		}
	}
	b.report.add(mode, s, b.peers, samples)
	return nil
}

// sources compares the clock that the figures come from with another one.
func (b *bench) sources(conns map[*peer]*pipe.Conn) {
	for _, p := range b.peers {
		cpu, err1 := cpuTime(conns[p].PID)
		sched, err2 := schedTime(conns[p].PID)
		if err1 == nil && err2 == nil {
			b.report.Clocks = append(b.report.Clocks, clocks{p.name, cpu.Seconds(), sched.Seconds()})
		}
	}
}

// limits are the largest instance domains that agents are started with.
var limits = []int{10, 1000, 10000}

// starts measures from the start of the program to the first value, and the memory
// that it has then, with instance domains of up to 10, 1,000 and 10,000 instances.
func (b *bench) starts() error {
	for _, limit := range limits {
		took := make(map[*peer][]sample)
		mem := make(map[*peer][2]int64)
		for range b.plan.starts {
			for _, p := range b.peers {
				d, m, err := b.startOnce(p, limit)
				if err != nil {
					return fmt.Errorf("starting %s: %w", p.name, err)
				}
				took[p] = append(took[p], sample{cpu: d.Seconds() * 1e3})
				mem[p] = m
			}
		}
		for _, p := range b.peers {
			b.report.Starts = append(b.report.Starts, startup{Agent: p.name, Instances: limit,
				Ms: median(took[p], func(s sample) float64 { return s.cpu }), RSS: mem[p][0], Private: mem[p][1]})
		}
	}
	return nil
}

// startOnce starts an agent, fetches all metrics of its largest domain, and then reads its
// memory.
func (b *bench) startOnce(p *peer, limit int) (time.Duration, [2]int64, error) {
	begin := monotonic()
	c, err := pipe.Start(p.argv(limit), p.env, b.dir)
	if err != nil {
		return 0, [2]int64{}, err
	}
	defer c.Stop()
	first := newRound(p, c, shapes[0])
	if _, err = c.Fetch(first.fetch); err != nil {
		return 0, [2]int64{}, err
	}
	took := monotonic() - begin
	for _, s := range shapes[:4] {
		r := newRound(p, c, s)
		if r == nil || s.insts > limit {
			continue
		}
		if err := r.prepare(); err != nil {
			return 0, [2]int64{}, err
		}
	}
	rss, private := memory(c.PID)
	return took, [2]int64{rss, private}, nil
}

// stderr returns what the agents have said.
func (b *bench) stderr() []byte {
	out, _ := os.ReadFile(filepath.Join(b.dir, "stderr"))
	logs, _ := filepath.Glob(filepath.Join(b.dir, "*.log"))
	for _, name := range logs {
		text, _ := os.ReadFile(name)
		out = append(out, text...)
	}
	return out
}
