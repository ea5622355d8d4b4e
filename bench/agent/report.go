package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// report is all that was measured.
type report struct {
	Serving []result
	Starts  []startup
	Clocks  []clocks
	Notes   []string
}

// result is one shape on one agent.
type result struct {
	Mode, Shape, Agent string
	CPU                float64 // microseconds per fetch
	Rate               float64 // round trips per second
	Switches           float64 // context switches of the agent per fetch
	Ratio              float64 // CPU as a share of the C agent's, the median of the rounds' ratios
	Target             float64 `json:",omitempty"` // the ratio to reach; only for our agent
}

type startup struct {
	Agent        string
	Instances    int
	Ms           float64 // from the start of the program to the first value
	RSS, Private int64   // KiB
}

// clocks is the processor time of one agent by two sources, in seconds.
type clocks struct {
	Agent              string
	Process, Schedstat float64
}

func (r *report) add(mode string, s shape, peers []*peer, samples map[*peer][]sample) {
	var base []sample
	for _, p := range peers {
		if len(samples[p]) == 0 {
			continue
		}
		one := result{Mode: mode, Shape: s.name, Agent: p.name,
			CPU:      median(samples[p], func(s sample) float64 { return s.cpu }),
			Rate:     median(samples[p], func(s sample) float64 { return s.rate }),
			Switches: median(samples[p], func(s sample) float64 { return s.switches }),
		}
		if p.name == reference {
			base = samples[p]
		}
		one.Ratio = ratio(samples[p], base)
		if p.name == ours && (mode == "pinned" || s.paced) {
			one.Target = s.target
		}
		r.Serving = append(r.Serving, one)
	}
}

func (r *report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	mode, shape := "", ""
	for _, s := range r.Serving {
		if s.Mode != mode {
			mode = s.Mode
			t.Flush()
			fmt.Fprintf(w, "\nServing, agent and requester %s\n", mode)
			fmt.Fprintln(t, "fetch\tagent\tus CPU/fetch\tratio to C\ttarget\t\tfetches/s\tswitches/fetch\t")
		}
		name := ""
		if s.Shape != shape {
			shape, name = s.Shape, s.Shape
		}
		fmt.Fprintf(t, "%s\t%s\t%.1f\t%.3f\t%s\t%.0f\t%.1f\t\n", name, s.Agent, s.CPU, s.Ratio,
			s.verdict(), s.Rate, s.Switches)
	}
	t.Flush()
	r.printStarts(w, t)
	r.printRest(w, t)
}

// verdict is two columns: the target, and whether it is reached.
func (s *result) verdict() string {
	switch {
	case s.Target == 0:
		return "\t"
	case s.Ratio <= s.Target:
		return fmt.Sprintf("%.2f\treached", s.Target)
	}
	return fmt.Sprintf("%.2f\tMISSED", s.Target)
}

func (r *report) printStarts(w io.Writer, t *tabwriter.Writer) {
	fmt.Fprintln(w, "\nStart to first value, and memory after a fetch of everything")
	fmt.Fprintln(t, "instances\tagent\tms\tRSS KiB\tprivate KiB\t")
	for _, s := range r.Starts {
		fmt.Fprintf(t, "%d\t%s\t%.1f\t%d\t%d\t\n", s.Instances, s.Agent, s.Ms, s.RSS, s.Private)
	}
	t.Flush()
}

func (r *report) printRest(w io.Writer, t *tabwriter.Writer) {
	fmt.Fprintln(w, "\nSeconds of CPU of the pinned agents by two sources")
	fmt.Fprintln(t, "agent\tprocess clock\tschedstat\t")
	for _, c := range r.Clocks {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t\n", c.Agent, c.Process, c.Schedstat)
	}
	t.Flush()
	fmt.Fprintln(w, "pmdasample has values of 32 bits, except for the one. pmdammv is not asked for 8 x 10,000:\n"+
		"it searches all values for each, more than a second for a fetch.")
	for _, n := range r.Notes {
		fmt.Fprintln(w, "note:", n)
	}
}
