package agent

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pcp-rtime/rtime/internal/health"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// number is one figure of the agent's own state, published both as a metric below
// rtime.dds.agent and in the MMV file.
type number struct {
	item          int
	name          string
	sem           pcp.Sem
	oneline, help string
	get           func() uint64
}

func (a *Agent) numbers() []number {
	return []number{
		{0, "suppliers", pcp.SemInstant, "suppliers that are there", "Stale ones included.", func() uint64 { return uint64(a.supply.Len()) }},
		{1, "contexts", pcp.SemInstant, "contexts that are exported", "Over all suppliers; those without statistics do not count.",
			func() uint64 { return uint64(a.tree.exports) }},
		{2, "statistics", pcp.SemInstant, "values that are exported", "Over all suppliers.", func() uint64 { return uint64(a.tree.values) }},
		{3, "metrics", pcp.SemInstant, "names below dds",
			"Those whose supplier is away included. Slashes of paths are dots, and volatile contexts\n" +
				"are instances: size in DDS/v/PagSp is dds.v.PagSp.size. Where the context has\n" +
				"statistics of its own, those of volatile contexts below it stand below inst: size in\n" +
				"DDS/v/PagSp/hd6 is dds.v.PagSp.inst.size[\"hd6\"]. Where two kinds of volatile contexts\n" +
				"below one context have statistics of one name, the kind stands before them:\n" +
				"dds.v.net.socket.bytes, dds.v.net.connection.bytes. pmdadds(1) has all rules.", func() uint64 { return uint64(len(a.tree.used)) }},
		{4, "opened", pcp.SemCounter, "suppliers that came", "", func() uint64 { return a.supply.Counts.Opened }},
		{5, "refused", pcp.SemCounter, "segments that were not taken", "They make no sense, are not whose they claim to be, or are beyond a limit. The\nagent's log says which.",
			func() uint64 { return a.supply.Counts.Refused }},
		{6, "damaged", pcp.SemCounter, "segments that make no sense", "At first, or later on.", func() uint64 { return a.supply.Counts.Damaged }},
		{7, "stale", pcp.SemCounter, "suppliers that were told to go away", "Their time stamp was too old.", func() uint64 { return a.supply.Counts.Stale }},
		{8, "died", pcp.SemCounter, "suppliers whose process went without a word", "", func() uint64 { return a.supply.Counts.Died }},
		{9, "torn", pcp.SemCounter, "contexts without values for once", "The supplier was in the middle of an update, again and again, while it was looked\nat.",
			func() uint64 { return a.tree.torn }},
		{10, "waiting", pcp.SemInstant, "paths that more than one supplier claims", "The first has it; the others wait.", func() uint64 { return uint64(len(a.tree.waiting)) }},
		{11, "bytes", pcp.SemInstant, "size of all segments", "In bytes.", func() uint64 { return uint64(a.supply.Bytes()) }},
		{13, "watching", pcp.SemInstant, "whether the directory of the segments is there: 1 or 0", "Where it is 0, suppliers find no place for their segments; the log says why.",
			func() uint64 {
				if a.supply.Watching() != nil {
					return 0
				}
				return 1
			}},
		{14, "removed", pcp.SemCounter, "files removed that nobody held", "What dead suppliers left unfinished, files that are no segments, and what stood in\nthe way of others' claims.",
			func() uint64 { return a.supply.Counts.Removed }},
		{12, "users", pcp.SemInstant, "users who have suppliers, or had", "", func() uint64 { return uint64(a.users.Len()) }},
	}
}

// metrics are the agent's own.
func (a *Agent) metrics() []pmda.Metric {
	rows := a.roster.metrics()
	for _, n := range a.numbers() {
		units := pcp.Count
		if n.name == "bytes" {
			units = pcp.Bytes
		}
		rows = append(rows, pmda.Metric{Name: "rtime.dds.agent." + n.name, Cluster: clusterAgent, Item: n.item,
			Sem: n.sem, Units: units, OneLine: n.oneline, Help: n.help,
			Get: pmda.Value(func() (uint64, error) { return n.get(), nil })})
	}
	return rows
}

// sharedCounts are the numbers as of the last second, for the goroutine that writes the
// MMV file.
type sharedCounts struct {
	mu     sync.Mutex
	values []uint64
}

func (a *Agent) publishCounts() {
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	a.shared.values = a.shared.values[:0]
	for _, n := range a.numbers() {
		a.shared.values = append(a.shared.values, n.get())
	}
}

// healthItems are the numbers as the MMV file has them.
func (a *Agent) healthItems() []health.Item {
	var items []health.Item
	for i, n := range a.numbers() {
		items = append(items, health.Item{Name: n.name, Counter: n.sem == pcp.SemCounter, OneLine: n.oneline, Read: func() uint64 {
			a.shared.mu.Lock()
			defer a.shared.mu.Unlock()
			if i < len(a.shared.values) {
				return a.shared.values[i]
			}
			return 0
		}})
	}
	return items
}

// printTree prints contexts and statistics with their descriptions.
func (a *Agent) printTree(w io.Writer) {
	for _, path := range slices.Sorted(maps.Keys(a.tree.paths)) {
		l := a.tree.paths[path]
		fmt.Fprintf(w, "%-40s  %s (%s)\n", naming.Line(path)+"/", naming.Line(l.c.Descr), l.src.row.title)
		for i, s := range l.form.stats {
			if s == nil {
				continue
			}
			metric := l.group.columns[i].metric.Name
			if l.inst != "" {
				metric += fmt.Sprintf("[%q]", l.inst)
			}
			indent := strings.Repeat(" ", 4)
			fmt.Fprintf(w, "%s%-36s  %s\n", indent, s.Name, metric)
		}
	}
}
