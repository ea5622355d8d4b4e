package agent

import (
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// The clusters of the agent's metrics.
const (
	clusterOld = iota
	clusterTime
	clusterState
	clusterWindow
	clusterMetric
	clusterParent
	clusterApp
	clusterTrace
	clusterParam
	clusterControl
	clusterAgent
)

func (a *Agent) table() []pmda.Metric {
	var m []pmda.Metric
	for _, part := range []func() []pmda.Metric{a.oldMetrics, a.timeMetrics, a.stateMetrics, a.windowMetrics,
		a.definedMetrics, a.parentMetrics, a.appMetrics, a.traceMetrics, a.controlMetrics, a.agentMetrics} {
		m = append(m, part()...)
	}
	return m
}

// words is a column of a block.
type words = [collect.BlockLen]uint64

// tranCount gets a count of each transaction.
func (a *Agent) tranCount(get func(*collect.Block) *words) pmda.Getter {
	return perTran(a, func(b *collect.Block, i int) (uint64, bool) { return get(b)[i], true })
}

// tranTime gets a time of each transaction that has ended with status good, in microseconds.
func (a *Agent) tranTime(get func(*collect.Block) *words) pmda.Getter {
	return perTran(a, func(b *collect.Block, i int) (float64, bool) { return micros(get(b)[i]), b.Seen[i] })
}

// wholeMillis gets such a time in whole milliseconds.
func (a *Agent) wholeMillis(get func(*collect.Block) *words) pmda.Getter {
	return perTran(a, func(b *collect.Block, i int) (uint64, bool) { return get(b)[i] / 1e6, b.Seen[i] })
}

// micros converts nanoseconds to microseconds.
func micros(ns uint64) float64 { return float64(ns) / 1e3 }

// oldMetrics are those that SpmiArmd had. They have its names and follow its rules: times
// are in whole milliseconds, and only transactions that end with status good are timed
// (docs/measuring-transactions.md, "How the values are computed").
func (a *Agent) oldMetrics() []pmda.Metric {
	const good = "\nOnly transactions that end with status good are timed. There is no value before the\nfirst one has ended."
	row := func(item int, name string, sem pcp.Sem, units pcp.Units, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm." + name, Cluster: clusterOld, Item: item, Sem: sem,
			Units: units, Get: get, OneLine: oneline, Help: help}
	}
	return []pmda.Metric{
		row(0, "resptime", pcp.SemInstant, pcp.Milliseconds, a.wholeMillis(func(b *collect.Block) *words { return &b.Last }),
			"latest response time in whole milliseconds",
			"The time from start to stop of the transaction that ended last, cut to whole\n"+
				"milliseconds; rtime.arm.time.last has it unrounded."+good),
		row(1, "respavg", pcp.SemInstant, pcp.Milliseconds,
			perTran(a, func(b *collect.Block, i int) (float64, bool) { return b.AvgNS[i] / 1e6, b.Seen[i] }),
			"weighted average of the response time",
			"Each transaction moves the average: it becomes WEIGHT percent of what it was and\n"+
				"100 - WEIGHT percent of the new response time. The first one starts it. WEIGHT is\n"+
				"rtime.arm.control.weight."+good),
		row(2, "count", pcp.SemCounter, pcp.Count, a.tranCount(func(b *collect.Block) *words { return &b.Count }),
			"transactions that ended with status good",
			"This includes transactions of processes that have ended."),
		row(3, "aborted", pcp.SemCounter, pcp.Count, a.tranCount(func(b *collect.Block) *words { return &b.Aborted }),
			"transactions that ended with status aborted",
			"arm_stop was called with status 1: a fundamental failure, such as a timeout."),
		row(4, "failed", pcp.SemCounter, pcp.Count, a.tranCount(func(b *collect.Block) *words { return &b.Failed }),
			"transactions that ended with status failed",
			"arm_stop was called with status 2: the transaction ran to its end, but its result\n"+
				"was a failure."),
		row(5, "respmax", pcp.SemInstant, pcp.Milliseconds, a.wholeMillis(func(b *collect.Block) *words { return &b.Max }),
			"longest response time in whole milliseconds",
			"Over all transactions; rtime.arm.window.max is over the latest ones."+good),
		row(6, "respmin", pcp.SemInstant, pcp.Milliseconds, a.wholeMillis(func(b *collect.Block) *words { return &b.Min }),
			"shortest response time in whole milliseconds",
			"Over all transactions; rtime.arm.window.min is over the latest ones."+good),
	}
}

// timeMetrics are times that are not rounded.
func (a *Agent) timeMetrics() []pmda.Metric {
	const good = "\nOnly transactions that end with status good are timed. There is no value before the\nfirst one has ended."
	row := func(item int, name string, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm.time." + name, Cluster: clusterTime, Item: item, Sem: pcp.SemInstant,
			Units: pcp.Microseconds, Get: get, OneLine: oneline, Help: help}
	}
	total := func(item int, name string, get func(*collect.Block) *words, oneline, help string) pmda.Metric {
		m := row(item, name, perTran(a, func(b *collect.Block, i int) (float64, bool) { return micros(get(b)[i]), true }), oneline, help)
		m.Sem = pcp.SemCounter
		return m
	}
	return []pmda.Metric{
		row(0, "last", a.tranTime(func(b *collect.Block) *words { return &b.Last }),
			"latest response time, unrounded", "In microseconds, with a resolution of a nanosecond."+good),
		row(1, "average", perTran(a, func(b *collect.Block, i int) (float64, bool) { return b.AvgNS[i] / 1e3, b.Seen[i] }),
			"weighted average of the response time, in microseconds", "See rtime.arm.respavg."+good),
		row(2, "max", a.tranTime(func(b *collect.Block) *words { return &b.Max }),
			"longest response time, unrounded", "Over all transactions."+good),
		row(3, "min", a.tranTime(func(b *collect.Block) *words { return &b.Min }),
			"shortest response time, unrounded", "Over all transactions."+good),
		total(4, "total", func(b *collect.Block) *words { return &b.GoodNS },
			"time taken by transactions that ended with status good",
			"The sum of their response times. Its rate is the number of transactions that ran at\n"+
				"once, on average. If they run one after the other, the rate is the share of the time\n"+
				"in which one was running, which is what pmval(1) shows. The rate divided by that of\n"+
				"rtime.arm.count is the mean response time of an interval."),
		total(5, "aborted", func(b *collect.Block) *words { return &b.AbortedNS },
			"time taken by transactions that ended with status aborted", "This time is not in rtime.arm.time.total."),
		total(6, "failed", func(b *collect.Block) *words { return &b.FailedNS },
			"time taken by transactions that ended with status failed", "This time is not in rtime.arm.time.total."),
	}
}

// stateMetrics tell what is running, and count what is neither good, aborted nor failed.
func (a *Agent) stateMetrics() []pmda.Metric {
	counter := func(item int, name string, get func(*collect.Block) *words, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm." + name, Cluster: clusterState, Item: item, Sem: pcp.SemCounter,
			Units: pcp.Count, Get: a.tranCount(get), OneLine: oneline, Help: help}
	}
	return []pmda.Metric{{
		Name: "rtime.arm.active", Cluster: clusterState, Item: 0, Sem: pcp.SemInstant, Units: pcp.Count,
		Get:     perTran(a, func(b *collect.Block, i int) (uint32, bool) { return uint32(b.Active[i]), true }),
		OneLine: "transactions that are running",
		Help:    "They were started and not yet stopped, by processes that are alive.",
	}, {
		Name: "rtime.arm.oldest", Cluster: clusterState, Item: 1, Sem: pcp.SemInstant, Units: pcp.Seconds,
		// It grows while the numbers stay as they are, so it is no column.
		Get: pmda.Per(a.trans, func(place uint32) (float64, bool) {
			ns, ok := a.snap.Age(int(place))
			return float64(ns) / 1e9, ok
		}),
		OneLine: "how long the oldest running transaction has been running",
		Help: "This shows a transaction that is stuck, while it is stuck. There is no value while\n" +
			"no transaction is running.",
	},
		counter(2, "updates", func(b *collect.Block) *words { return &b.Updates },
			"calls of arm_update", "Programs call it to report the progress of a transaction."),
		counter(3, "abandoned", func(b *collect.Block) *words { return &b.Abandoned },
			"transactions that were running when their process ended",
			"They do not count in rtime.arm.count, aborted or failed."),
		counter(4, "bad_data", func(b *collect.Block) *words { return &b.BadData },
			"data buffers that were ignored",
			"They were too short, or had an unknown format or unknown flags. The transaction is\n"+
				"measured nevertheless."),
	}
}
