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

// perTran gets a value of each transaction.
func perTran[V pcp.Scalar](a *Agent, get func(*collect.Tran) (V, bool)) pmda.Getter {
	return pmda.Per(a.trans, func(i int) (V, bool) { return get(a.snap.Trans[i]) })
}

// tranCount gets a count of each transaction.
func (a *Agent) tranCount(get func(*collect.Tran) uint64) pmda.Getter {
	return pmda.Per(a.trans, func(i int) (uint64, bool) { return get(a.snap.Trans[i]), true })
}

// tranTime gets a time of each transaction that has ended with status good, in microseconds.
func (a *Agent) tranTime(get func(*collect.Tran) float64) pmda.Getter {
	return pmda.Per(a.trans, func(i int) (float64, bool) { t := a.snap.Trans[i]; return get(t) / 1e3, t.Seen })
}

// wholeMillis gets such a time in whole milliseconds.
func (a *Agent) wholeMillis(get func(*collect.Tran) uint64) pmda.Getter {
	return pmda.Per(a.trans, func(i int) (uint64, bool) { t := a.snap.Trans[i]; return get(t) / 1e6, t.Seen })
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
		row(0, "resptime", pcp.SemInstant, pcp.Milliseconds, a.wholeMillis(func(t *collect.Tran) uint64 { return t.Last }),
			"latest response time in whole milliseconds",
			"The time from start to stop of the transaction that ended last, cut to whole\n"+
				"milliseconds; rtime.arm.time.last has it unrounded."+good),
		row(1, "respavg", pcp.SemInstant, pcp.Milliseconds,
			perTran(a, func(t *collect.Tran) (float64, bool) { return t.AvgNS / 1e6, t.Seen }),
			"weighted average of the response time",
			"Each transaction moves the average: it becomes WEIGHT percent of what it was and\n"+
				"100 - WEIGHT percent of the new response time. The first one starts it. WEIGHT is\n"+
				"rtime.arm.control.weight."+good),
		row(2, "count", pcp.SemCounter, pcp.Count, a.tranCount(func(t *collect.Tran) uint64 { return t.Count }),
			"transactions that ended with status good",
			"This includes transactions of processes that have ended."),
		row(3, "aborted", pcp.SemCounter, pcp.Count, a.tranCount(func(t *collect.Tran) uint64 { return t.Aborted }),
			"transactions that ended with status aborted",
			"arm_stop was called with status 1: a fundamental failure, such as a timeout."),
		row(4, "failed", pcp.SemCounter, pcp.Count, a.tranCount(func(t *collect.Tran) uint64 { return t.Failed }),
			"transactions that ended with status failed",
			"arm_stop was called with status 2: the transaction ran to its end, but its result\n"+
				"was a failure."),
		row(5, "respmax", pcp.SemInstant, pcp.Milliseconds, a.wholeMillis(func(t *collect.Tran) uint64 { return t.Max }),
			"longest response time in whole milliseconds",
			"Over all transactions; rtime.arm.window.max is over the latest ones."+good),
		row(6, "respmin", pcp.SemInstant, pcp.Milliseconds, a.wholeMillis(func(t *collect.Tran) uint64 { return t.Min }),
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
	total := func(item int, name string, get func(*collect.Tran) uint64, oneline, help string) pmda.Metric {
		m := row(item, name, pmda.Per(a.trans, func(i int) (float64, bool) { return micros(get(a.snap.Trans[i])), true }), oneline, help)
		m.Sem = pcp.SemCounter
		return m
	}
	return []pmda.Metric{
		row(0, "last", a.tranTime(func(t *collect.Tran) float64 { return float64(t.Last) }),
			"latest response time, unrounded", "In microseconds, with a resolution of a nanosecond."+good),
		row(1, "average", a.tranTime(func(t *collect.Tran) float64 { return t.AvgNS }),
			"weighted average of the response time, in microseconds", "See rtime.arm.respavg."+good),
		row(2, "max", a.tranTime(func(t *collect.Tran) float64 { return float64(t.Max) }),
			"longest response time, unrounded", "Over all transactions."+good),
		row(3, "min", a.tranTime(func(t *collect.Tran) float64 { return float64(t.Min) }),
			"shortest response time, unrounded", "Over all transactions."+good),
		total(4, "total", func(t *collect.Tran) uint64 { return t.GoodNS },
			"time taken by transactions that ended with status good",
			"The sum of their response times. Its rate is the number of transactions that ran at\n"+
				"once, on average. If they run one after the other, the rate is the share of the time\n"+
				"in which one was running, which is what pmval(1) shows. The rate divided by that of\n"+
				"rtime.arm.count is the mean response time of an interval."),
		total(5, "aborted", func(t *collect.Tran) uint64 { return t.AbortedNS },
			"time taken by transactions that ended with status aborted", "This time is not in rtime.arm.time.total."),
		total(6, "failed", func(t *collect.Tran) uint64 { return t.FailedNS },
			"time taken by transactions that ended with status failed", "This time is not in rtime.arm.time.total."),
	}
}

// stateMetrics tell what is running, and count what is neither good, aborted nor failed.
func (a *Agent) stateMetrics() []pmda.Metric {
	counter := func(item int, name string, get func(*collect.Tran) uint64, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm." + name, Cluster: clusterState, Item: item, Sem: pcp.SemCounter,
			Units: pcp.Count, Get: a.tranCount(get), OneLine: oneline, Help: help}
	}
	return []pmda.Metric{{
		Name: "rtime.arm.active", Cluster: clusterState, Item: 0, Sem: pcp.SemInstant, Units: pcp.Count,
		Get:     perTran(a, func(t *collect.Tran) (uint32, bool) { return uint32(t.Active), true }),
		OneLine: "transactions that are running",
		Help:    "They were started and not yet stopped, by processes that are alive.",
	}, {
		Name: "rtime.arm.oldest", Cluster: clusterState, Item: 1, Sem: pcp.SemInstant, Units: pcp.Seconds,
		Get: perTran(a, func(t *collect.Tran) (float64, bool) {
			return float64(a.snap.Age(t)) / 1e9, t.Active > 0
		}),
		OneLine: "how long the oldest running transaction has been running",
		Help: "This shows a transaction that is stuck, while it is stuck. There is no value while\n" +
			"no transaction is running.",
	},
		counter(2, "updates", func(t *collect.Tran) uint64 { return t.Updates },
			"calls of arm_update", "Programs call it to report the progress of a transaction."),
		counter(3, "abandoned", func(t *collect.Tran) uint64 { return t.Abandoned },
			"transactions that were running when their process ended",
			"They do not count in rtime.arm.count, aborted or failed."),
		counter(4, "bad_data", func(t *collect.Tran) uint64 { return t.BadData },
			"data buffers that were ignored",
			"They were too short, or had an unknown format or unknown flags. The transaction is\n"+
				"measured nevertheless."),
	}
}
