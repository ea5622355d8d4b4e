// Dds measures what it costs a program to supply statistics by package spmi or by libSpmi,
// beside a plain store, MMV by libpcp_mmv, and MMV by the speed library. It also measures
// how long it takes until an agent shows them, all in one run. Run it as root from the top
// of the module; -h lists the flags.
//
// Figures are medians. Ratios are medians of the rounds' ratios, since the machine's speed
// changes more between rounds than within one.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

func main() {
	rounds := flag.Int("rounds", 5, "number of rounds")
	flag.Parse()
	if err := run(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench/dds:", err)
		os.Exit(1)
	}
}

func run(rounds int) error {
	dir, err := os.MkdirTemp("/dev/shm", "rtime-bench-dds-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := build(dir)
	if err != nil {
		return err
	}
	var stores, changes, shown table
	for range rounds {
		inC, err := p.figures(6, p.spmi, p.dir)
		if err != nil {
			return err
		}
		if err := p.stores(&stores, inC[:3]); err != nil {
			return err
		}
		if err := p.changes(&changes, inC[3:]); err != nil {
			return err
		}
		if err := p.shown(&shown); err != nil {
			return err
		}
	}
	stores.print("Publishing a value, ns of CPU", "a plain store", rounds)
	changes.print("Adding and removing one context, ns of CPU; writing an MMV file of as many instances once", "at 10 present", rounds)
	shown.print("The same until agents show it, us that pass: coming and going, of the context or by writing the file twice",
		"dds, at 10 present", rounds)
	return nil
}

// programs are what other libraries, and the agents, are measured with.
type programs struct {
	dir, mmv, speed, spmi, agent, pmdammv string
}

func build(dir string) (*programs, error) {
	p := &programs{dir: dir, mmv: filepath.Join(dir, "mmvbench"), speed: filepath.Join(dir, "speedbench"),
		spmi: filepath.Join(dir, "spmibench"), agent: filepath.Join(dir, "pmdadds"), pmdammv: "/var/lib/pcp/pmdas/mmv/pmdammv"}
	lib := filepath.Join(dir, "lib")
	for _, d := range []string{"mmv", "claims"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{
		{"cc", "-O2", "-Wall", "-o", p.mmv, "bench/dds/mmv/mmv.c", "-l:libpcp_mmv.so.1", "-lpcp"},
		{"make", "-s", "-C", "libSpmi", "BUILD=" + lib, "all"},
		{"cc", "-O2", "-Wall", "-IlibSpmi/include", "-o", p.spmi, "bench/dds/spmi/spmi.c", "-L" + lib, "-lSpmi", "-Wl,-rpath," + lib},
		{"go", "build", "-o", p.speed, "./bench/dds/speed"},
		{"go", "build", "-o", p.agent, "./pmdas/dds"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as agents are installed
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
	}
	return p, nil
}

// figures runs a program and reads its output.
func (p *programs) figures(want int, name string, args ...string) ([]float64, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "PCP_TMP_DIR="+p.dir, "RTIME_DDS_DIR="+p.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	var got []float64
	for _, field := range strings.Fields(string(out)) {
		var v float64
		if _, err := fmt.Sscan(field, &v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		got = append(got, v)
	}
	if len(got) != want {
		return nil, fmt.Errorf("%s: %d figures, want %d", name, len(got), want)
	}
	return got, nil
}

// table holds a figure of each round for each row, in the order in which they came.
type table struct {
	rows []string
	all  map[string][]float64
}

func (t *table) add(row string, v float64) {
	if t.all == nil {
		t.all = map[string][]float64{}
	}
	if t.all[row] == nil {
		t.rows = append(t.rows, row)
	}
	t.all[row] = append(t.all[row], v)
}

func (t *table) print(title, base string, rounds int) {
	fmt.Printf("\n%s\n", title)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\tmedian of %d\tratio to %s\t\n", rounds, base)
	for _, row := range t.rows {
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = t.all[row][i] / t.all[base][i]
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.2f\t\n", row, median(t.all[row]), median(ratios))
	}
	w.Flush()
}
