package agent

import (
	"fmt"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
	"github.com/pcp-rtime/rtime/internal/armseg/reader"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
)

// typeNames are the types of application-defined metrics (ARM 2.0 guide, "Data buffers").
var typeNames = [...]string{
	layout.TypeCounter32: "counter32", layout.TypeCounter64: "counter64", layout.TypeCntrDivr32: "counter32/divisor",
	layout.TypeGauge32: "gauge32", layout.TypeGauge64: "gauge64", layout.TypeGaugeDivr32: "gauge32/divisor",
	layout.TypeNumericID32: "id32", layout.TypeNumericID64: "id64", layout.TypeString8: "string8",
	layout.TypeString32: "string32",
}

func typeName(n uint32) string {
	if n >= 1 && int(n) < len(typeNames) {
		return typeNames[n]
	}
	return fmt.Sprintf("type %d", n)
}

// perMetric gets a value of each application-defined metric of a kind; 0 stands for all kinds.
func perMetric[V pcp.Scalar](a *Agent, kind reader.Kind, get func(*collect.Metric) V) pmda.Getter {
	return pmda.Per(a.metrics, func(i uint32) (V, bool) {
		m := a.snap.Metrics[i]
		if kind == 0 || kind == m.Kind && m.Count > 0 {
			return get(m), true
		}
		var none V
		return none, false
	})
}

// definedMetrics have the values of metrics that applications define. Which of them has a
// value depends on the kind of the metric.
func (a *Agent) definedMetrics() []pmda.Metric {
	row := func(item int, name string, sem pcp.Sem, get pmda.Getter, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm.metric." + name, Cluster: clusterMetric, Item: item, Sem: sem,
			Get: get, OneLine: oneline, Help: help}
	}
	gauge := func(item int, name string, get func(*collect.Metric) float64, oneline, help string) pmda.Metric {
		return row(item, "gauge."+name, pcp.SemInstant, perMetric(a, reader.KindGauge, get), oneline, help)
	}
	const types = "A value with a divisor is divided by it."
	values := row(1, "values", pcp.SemCounter, perMetric(a, 0, func(m *collect.Metric) uint64 { return m.Count }),
		"values of the metric that were given", "A program may give a value at each start, update and stop.")
	values.Units = pcp.Count
	return []pmda.Metric{
		row(0, "type", pcp.SemDiscrete, perMetric(a, 0, func(m *collect.Metric) string { return typeName(m.Type) }),
			"type of the metric", "As the program described it. It says which of the other metrics has a value."),
		values,
		row(2, "counter", pcp.SemCounter, perMetric(a, reader.KindCounter, func(m *collect.Metric) float64 { return m.Sum }),
			"what was added to a counter between start and stop of transactions",
			"The sum over all transactions. A program gives the counter's reading at the start,\n"+
				"at updates and at the stop, and the differences are added up.\n"+types),
		gauge(3, "last", func(m *collect.Metric) float64 { return m.Last },
			"latest value of a gauge", types),
		gauge(4, "mean", func(m *collect.Metric) float64 { return m.Mean },
			"mean of the values of a gauge", "Over all values that were ever given."),
		gauge(5, "min", func(m *collect.Metric) float64 { return m.Min },
			"smallest value of a gauge", "Over all values that were ever given."),
		gauge(6, "max", func(m *collect.Metric) float64 { return m.Max },
			"largest value of a gauge", "Over all values that were ever given."),
		row(7, "id", pcp.SemDiscrete, perMetric(a, reader.KindID, func(m *collect.Metric) uint64 { return m.LastID }),
			"latest value of a numeric identifier", "It identifies something, such as a message or an error, and measures nothing."),
		row(8, "string", pcp.SemDiscrete, perMetric(a, reader.KindString, func(m *collect.Metric) string { return printable(m.Text) }),
			"latest value of a string", "A character that cannot be printed is shown as a question mark."),
	}
}

// parentMetrics count transactions by the transaction that they are part of.
func (a *Agent) parentMetrics() []pmda.Metric {
	counter := func(item int, name string, get func(*collect.Pair) uint64, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm.parent." + name, Cluster: clusterParent, Item: item, Sem: pcp.SemCounter,
			Units: pcp.Count, OneLine: oneline, Help: help,
			Get: pmda.Per(a.pairs, func(i uint32) (uint64, bool) { return get(a.snap.Pairs[i]), true })}
	}
	return []pmda.Metric{
		counter(0, "count", func(p *collect.Pair) uint64 { return p.Count },
			"transactions that ran as part of a parent and ended with status good",
			"They also count in rtime.arm.count of the transaction."),
		counter(1, "aborted", func(p *collect.Pair) uint64 { return p.Aborted },
			"transactions that ran as part of a parent and ended with status aborted", ""),
		counter(2, "failed", func(p *collect.Pair) uint64 { return p.Failed },
			"transactions that ran as part of a parent and ended with status failed", ""),
		{
			Name: "rtime.arm.parent.total", Cluster: clusterParent, Item: 3, Sem: pcp.SemCounter, Units: pcp.Microseconds,
			Get:     pmda.Per(a.pairs, func(i uint32) (float64, bool) { return micros(a.snap.Pairs[i].GoodNS), true }),
			OneLine: "time that transactions took which ran as part of a parent",
			Help:    "Only transactions that ended with status good count. See rtime.arm.time.total.",
		},
	}
}

// appMetrics tell who uses an application.
func (a *Agent) appMetrics() []pmda.Metric {
	row := func(item int, name string, units pcp.Units, get func(*collect.App) int, oneline, help string) pmda.Metric {
		return pmda.Metric{Name: "rtime.arm.app." + name, Cluster: clusterApp, Item: item, Sem: pcp.SemInstant,
			Units: units, OneLine: oneline, Help: help,
			Get: pmda.Per(a.apps, func(i uint32) (uint32, bool) { return uint32(get(a.snap.Apps[i])), true })}
	}
	return []pmda.Metric{
		row(0, "users", pcp.Count, func(p *collect.App) int { return p.Users }, "users with a process that uses the application", ""),
		row(1, "processes", pcp.Count, func(p *collect.App) int { return p.Processes }, "processes that use the application",
			"Each of them has called arm_init more often than arm_end."),
		row(2, "active", pcp.None, func(p *collect.App) int {
			if p.Active {
				return 1
			}
			return 0
		}, "whether the application is in use: 1 or 0", "While it is not in use, arm_start returns -1 for its transactions."),
		row(3, "transactions", pcp.Count, func(p *collect.App) int { return p.Trans }, "transactions of the application",
			"This includes those that are not in use any more."),
	}
}
