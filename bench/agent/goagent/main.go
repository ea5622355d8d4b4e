// Goagent is the agent that the benchmark measures: the metrics of cagent/agent.c on
// package pmda. Cluster 0 item 0 is one value; clusters 1, 2 and 3 have eight 64-bit
// metrics each over instance domains of 10, 1,000 and 10,000 instances. The value of
// a metric is what its instance holds plus the item.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
)

const items = 8

var sizes = [...]int{10, 1000, 10000}

type row struct{ n int64 }

func main() {
	single := int64(42)
	metrics := []pmda.Metric{{
		Name: "bench.single", Sem: pcp.SemInstant, OneLine: "one value",
		Get: pmda.Value(func() (int64, error) { return single, nil }),
	}}
	var indoms [len(sizes)]*pmda.InDom[*row]
	for i, size := range sizes {
		indoms[i] = &pmda.InDom[*row]{Serial: i, OneLine: fmt.Sprintf("%d instances", size)}
		metrics = append(metrics, over(indoms[i], i+1)...)
	}
	limit := sizes[len(sizes)-1]
	os.Exit(pmda.Main(&pmda.Agent{
		Name: "bench", Domain: 400, Metrics: metrics,
		Flags: func(f *flag.FlagSet) {
			f.IntVar(&limit, "limit", limit, "leave instance domains of more instances empty")
		},
		Start: func(*pmda.Server) error { return fill(indoms[:], limit) },
	}))
}

// over declares the metrics of one cluster.
func over(d *pmda.InDom[*row], cluster int) []pmda.Metric {
	var list []pmda.Metric
	for item := range items {
		list = append(list, pmda.Metric{
			Name:    fmt.Sprintf("bench.cluster%d.item%d", cluster, item),
			Cluster: cluster, Item: item, Sem: pcp.SemInstant, OneLine: "a value per instance",
			Get: pmda.Per(d, func(r *row) (int64, bool) { return r.n + int64(item), true }),
		})
	}
	return list
}

func fill(indoms []*pmda.InDom[*row], limit int) error {
	for i, d := range indoms {
		if sizes[i] > limit {
			continue
		}
		rows := make([]row, sizes[i])
		for j := range rows {
			rows[j].n = 1000 * int64(j)
			if _, err := d.Add(fmt.Sprintf("instance%d", j), &rows[j]); err != nil {
				return err
			}
		}
	}
	return nil
}
