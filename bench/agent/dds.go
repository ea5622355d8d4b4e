package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pcp-rtime/rtime/bench/agent/pipe"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/spmi"
)

const ddsName, mmvName = "pmdadds", "pmdammv"

// eight are the metrics over each instance domain; alone is the one without.
type eight struct{ A, B, C, D, E, F, G, H spmi.Counter }
type alone struct{ A spmi.Counter }

// ddsPeer is the agent dds with suppliers in this process. The values that pmdammv exports
// from files come from a supplier's segment here. There is a directory with one supplier
// for each limit, so that the agent takes in no more at its start than the other agents do.
func ddsPeer(dir string) (*peer, error) {
	bin := filepath.Join(dir, "pmdadds")
	if err := run("go", "build", "-o", bin, "github.com/pcp-rtime/rtime/pmdas/dds"); err != nil {
		return nil, err
	}
	segments := func(limit int) string { return filepath.Join(dir, "dds"+strconv.Itoa(limit)) }
	for _, limit := range limits {
		for _, d := range []string{segments(limit), filepath.Join(segments(limit), "claims")} {
			if err := os.Mkdir(d, 0o777); err != nil {
				return nil, err
			}
		}
		if err := supply(segments(limit), limit); err != nil {
			return nil, err
		}
	}
	p := &peer{name: ddsName, argv: func(limit int) []string {
		return append([]string{bin, "--dir", segments(limit), "--state", dir, "--config", "", "-l", "dds.log"}, asRoot()...)
	}}
	ids, err := ddsNumbers(p, dir)
	if err != nil {
		return nil, err
	}
	p.metrics = func(s shape) []pcp.PMID {
		if s.wanted > 0 {
			return nil
		}
		return ids[s.insts]
	}
	return p, nil
}

// supply publishes the values of all shapes with up to limit instances, for as long as
// this process lives.
func supply(segments string, limit int) error {
	fixed := []*spmi.Context{{Path: "DDS/v"}, {Path: "DDS/v/n0", Values: new(alone)}}
	for _, n := range limits {
		fixed = append(fixed, &spmi.Context{Path: fmt.Sprintf("DDS/v/n%d", n)})
	}
	s, err := spmi.Open(spmi.Options{Dir: segments, Name: "bench",
		Volatile: []*spmi.Context{{Path: "DDS/v/n10/any", Values: (*eight)(nil)}}}, fixed...)
	if err == nil {
		err = s.Err()
	}
	for _, n := range limits {
		for i := range n {
			if err == nil && n <= limit {
				err = s.Add(&spmi.Context{Path: fmt.Sprintf("DDS/v/n%d/i%d", n, i), Values: new(eight)})
			}
		}
	}
	return err
}

// ddsNumbers asks the agent for the numbers of its metrics, which it keeps. The key is
// the number of instances.
func ddsNumbers(p *peer, dir string) (map[int][]pcp.PMID, error) {
	c, err := pipe.Start(p.argv(slices.Max(limits)), nil, dir)
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	ids := make(map[int][]pcp.PMID)
	for _, n := range append([]int{0}, limits...) {
		ask := &pdu.Traverse{Name: "dds.v.n" + strconv.Itoa(n)}
		var names pdu.Names
		if err := c.Exchange(ask, &names); err != nil {
			return nil, err
		}
		for _, name := range names.Names {
			var one pdu.IDs
			if err := c.Exchange(&pdu.Names{Names: []string{name}}, &one); err != nil {
				return nil, err
			}
			ids[n] = append(ids[n], one.PMIDs...)
		}
	}
	return ids, nil
}

// compareDDS notes what the agent dds costs beside pmdammv, and per value.
func (r *report) compareDDS() {
	cost := func(agent, shape string) float64 {
		for _, s := range r.Serving {
			if s.Mode == "pinned" && s.Agent == agent && s.Shape == shape {
				return s.CPU
			}
		}
		return 0
	}
	for _, c := range []struct {
		shape string
		reach float64
	}{{"8 x 10", 0.8}, {"8 x 1,000", 0.01}} {
		if d, m := cost(ddsName, c.shape), cost(mmvName, c.shape); d > 0 && m > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("pinned, %s: %s takes %.4f of %s's CPU; to reach: %.2f", c.shape, ddsName, d/m, mmvName, c.reach))
		}
	}
	if a, b := cost(ddsName, "8 x 1,000"), cost(ddsName, "8 x 10,000"); a > 0 && b > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("pinned, a value of 8 x 10,000 costs %s %.2f of one of 8 x 1,000; to reach: 1", ddsName, b/a/10))
	}
}
