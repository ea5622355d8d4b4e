package agent

import (
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// windowMetrics are figures of the rolling window (docs/measuring-transactions.md,
// "How the values are computed").
func (a *Agent) windowMetrics() []pmda.Metric {
	const over = "Over the transactions that ended with status good during the rolling window. It is\n" +
		"rtime.arm.control.window seconds long, and moves on in rtime.arm.control.buffers\n" +
		"steps."
	row := func(item int, name string, units pcp.Units, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm.window." + name, Cluster: clusterWindow, Item: item, Sem: pcp.SemInstant,
			Units: units, Get: get, OneLine: oneline, Help: strings.TrimSpace(over + "\n" + help)}
	}
	const empty = "There is no value while the window is empty."
	of := func(item int, name string, get func(*collect.WindowBlock) *words, oneline, help string) pmda.Metric {
		return row(item, name, pcp.Microseconds, perTran(a, func(b *collect.Block, i int) (float64, bool) {
			return micros(get(&b.Window)[i]), b.Window.Count[i] > 0
		}), oneline, strings.TrimSpace(help+"\n"+empty))
	}
	const rank = "It comes from a histogram: it is within 1/16 of the true value from 512 nanoseconds\n" +
		"to 18 minutes, and within 32 nanoseconds below that."
	const extreme = "It is exact while no thread ends the transaction more than 16 times between two\n" +
		"looks. Otherwise it comes from a histogram: it is within 1/16 of the true value."
	return []pmda.Metric{
		row(0, "rate", pcp.PerSecond, perTran(a, func(b *collect.Block, i int) (float64, bool) { return b.Window.Rate[i], true }),
			"transactions per second in the window", ""),
		row(1, "count", pcp.Count, a.tranCount(func(b *collect.Block) *words { return &b.Window.Count }),
			"transactions in the window", ""),
		row(2, "mean", pcp.Microseconds, perTran(a, func(b *collect.Block, i int) (float64, bool) {
			return b.Window.Mean[i] / 1e3, b.Window.Count[i] > 0
		}), "mean response time in the window", empty),
		of(3, "min", func(w *collect.WindowBlock) *words { return &w.Min }, "shortest response time in the window", extreme),
		of(4, "max", func(w *collect.WindowBlock) *words { return &w.Max }, "longest response time in the window", extreme),
		of(5, "median", func(w *collect.WindowBlock) *words { return &w.Median }, "median response time in the window", rank),
		of(6, "p80", func(w *collect.WindowBlock) *words { return &w.P80 }, "80th percentile of the response time in the window", rank),
		of(7, "p95", func(w *collect.WindowBlock) *words { return &w.P95 }, "95th percentile of the response time in the window", rank),
		of(8, "p99", func(w *collect.WindowBlock) *words { return &w.P99 }, "99th percentile of the response time in the window", rank),
		{
			Name: "rtime.arm.window.length", Cluster: clusterWindow, Item: 9, Sem: pcp.SemDiscrete, Units: pcp.Seconds,
			Get:     pmda.Value(func() (float64, error) { return max(a.conf.Window, a.conf.Interval).Seconds(), nil }),
			OneLine: "length of the rolling window",
			Help: "It is set by the configuration or by a store into rtime.arm.control.window, and is\n" +
				"at least rtime.arm.control.interval.",
		},
	}
}
