package main

import (
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
)

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

// ratios compares two rows round by round, sorted.
func (t *table) ratios(a, b string) []float64 {
	list := make([]float64, len(t.all[a]))
	for i := range list {
		list[i] = t.all[a][i] / t.all[b][i]
	}
	slices.Sort(list)
	return list
}

// print shows all rows, as they are and as multiples of a row.
func (t *table) print(title, base string) {
	fmt.Printf("\n%s\n", title)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\tmedian of %d\tratio to %s\tleast\tmost\t\n", len(t.all[base]), base)
	for _, row := range t.rows {
		r := t.ratios(row, base)
		fmt.Fprintf(w, "%s\t%.2f\t%.3f\t%.3f\t%.3f\t\n", row, median(t.all[row]), median(r), r[0], r[len(r)-1])
	}
	w.Flush()
}

// atMost says whether the ratio of two rows is as small as it should be.
func (t *table) atMost(limit float64, a, b string) {
	verdict(fmt.Sprintf("%s to %s, at most %g", a, b, limit), median(t.ratios(a, b)), median(t.ratios(a, b)) <= limit)
}

// atLeast says whether the ratio of two rows is as large as it should be.
func (t *table) atLeast(limit float64, a, b string) {
	verdict(fmt.Sprintf("%s to %s, at least %g", a, b, limit), median(t.ratios(a, b)), median(t.ratios(a, b)) >= limit)
}

func verdict(what string, got float64, reached bool) {
	word := "reached"
	if !reached {
		word = "MISSED"
	}
	fmt.Printf("%s: %.3f, %s\n", what, got, word)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
