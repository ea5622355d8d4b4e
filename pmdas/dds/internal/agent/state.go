package agent

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
)

// numbers are the metrics of the agent's own state.
func (a *Agent) numbers() []kit.Number {
	return []kit.Number{
		kit.Gauge(0, "suppliers", "suppliers that are there", "Stale ones included.", func() uint64 { return uint64(a.supply.Len()) }),
		kit.Gauge(1, "contexts", "contexts that are exported", "Over all suppliers; those without statistics do not count.",
			func() uint64 { return uint64(a.tree.exports) }),
		kit.Gauge(2, "statistics", "values that are exported", "Over all suppliers.", func() uint64 { return uint64(a.tree.values) }),
		kit.Gauge(3, "metrics", "names below dds",
			"Those whose supplier is away included. Slashes of paths are dots, and volatile contexts\n"+
				"are instances: size in DDS/v/PagSp is dds.v.PagSp.size. Where the context has\n"+
				"statistics of its own, those of volatile contexts below it stand below inst: size in\n"+
				"DDS/v/PagSp/hd6 is dds.v.PagSp.inst.size[\"hd6\"]. Where two kinds of volatile contexts\n"+
				"below one context have statistics of one name, the kind stands before them:\n"+
				"dds.v.net.socket.bytes, dds.v.net.connection.bytes. pmdadds(1) has all rules.", func() uint64 { return uint64(len(a.tree.used)) }),
		kit.Counter(4, "opened", "suppliers that came", "", func() uint64 { return a.supply.Counts.Opened }),
		kit.Counter(5, "refused", "segments that were not taken", "They are not well-formed, do not belong to the user that they name, or are beyond a limit.\nThe agent's log says which.",
			func() uint64 { return a.supply.Counts.Refused }),
		kit.Counter(6, "damaged", "segments that turned out not to be well-formed", "When they were opened, or later.", func() uint64 { return a.supply.Counts.Damaged }),
		kit.Counter(7, "stale", "suppliers that were told to go away", "Their time stamp was too old.", func() uint64 { return a.supply.Counts.Stale }),
		kit.Counter(8, "died", "suppliers whose process went without a word", "", func() uint64 { return a.supply.Counts.Died }),
		kit.Counter(9, "torn", "contexts without values for once", "The supplier was in the middle of an update, again and again, while it was looked\nat.",
			func() uint64 { return a.tree.torn }),
		kit.Gauge(10, "waiting", "paths that more than one supplier claims", "The first has it; the others wait.", func() uint64 { return uint64(len(a.tree.waiting)) }),
		kit.Gauge(11, "bytes", "size of all segments", "In bytes.", func() uint64 { return uint64(a.supply.Bytes()) }).In(pcp.Bytes),
		kit.Gauge(13, "watching", "whether the directory of the segments is there: 1 or 0", "Where it is 0, suppliers find no place for their segments; the log says why.",
			func() uint64 { return kit.Truth(a.supply.Watching() == nil) }),
		kit.Counter(14, "removed", "files removed that nobody held", "What dead suppliers left unfinished, files that are no segments, and what stood in\nthe way of others' claims.",
			func() uint64 { return a.supply.Counts.Removed }),
		kit.Gauge(12, "users", "users who have suppliers, or had", "", func() uint64 { return uint64(a.users.Len()) }),
	}
}

// metrics are the agent's own metrics.
func (a *Agent) metrics() []pmda.Metric {
	rows := append(a.roster.metrics(), a.tree.contexts.metrics()...)
	rows = append(rows, a.controlMetrics()...)
	return append(rows, kit.NumberMetrics("rtime.dds.agent.", clusterAgent, a.Numbers)...)
}

// printTree prints the tree of contexts, as the SPMI's peekers do, with the metrics of
// the statistics.
func (a *Agent) printTree(w io.Writer) {
	var nodes []*node
	a.tree.contexts.rows.All(func(_ pcp.Instance, n *node) bool {
		nodes = append(nodes, n)
		return true
	})
	slices.SortFunc(nodes, func(x, y *node) int { return strings.Compare(x.path, y.path) })
	for _, n := range nodes {
		fmt.Fprintf(w, "%-40s  %s", naming.Line(n.path)+"/", n.descr())
		if asn := n.asn(); asn != 0 {
			fmt.Fprintf(w, " (ASN.1 %d)", asn)
		}
		if s := n.supplier(); s != "" {
			fmt.Fprintf(w, " (%s)", s)
		}
		fmt.Fprintln(w)
		if l := a.tree.paths[n.path]; l != nil {
			l.printStats(w)
		}
	}
}

func (l *live) printStats(w io.Writer) {
	for i, s := range l.form.stats {
		if s == nil {
			continue
		}
		metric := l.group.columns[i].metric.Name
		if l.inst != "" {
			metric += fmt.Sprintf("[%q]", l.inst)
		}
		fmt.Fprintf(w, "    %-36s  %s: %s\n", s.Name, metric, naming.Line(s.Descr))
	}
}
