package agent

import (
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/collect"
	"github.com/pcp-rtime/rtime/pmdas/arm/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/internal/kit"
)

const mayStore = "Root and the user that PCP runs as may store."

// settings are the numbers that say how to collect.
func settings() []kit.Setting[collect.Config] {
	return []kit.Setting[collect.Config]{{
		Item: 0, Name: "interval", Units: pcp.Seconds, Least: conf.MinInterval, Most: conf.MaxInterval,
		Get:     func(c *collect.Config) float64 { return c.Interval.Seconds() },
		Set:     func(c *collect.Config, v float64) { c.Interval = kit.Seconds(v) },
		OneLine: "time between two rounds of collecting",
		Help:    "Values are at most this old.",
	}, {
		Item: 1, Name: "weight", Units: pcp.None, Least: conf.MinWeight, Most: conf.MaxWeight,
		Get:     func(c *collect.Config) float64 { return 100 * c.Weight },
		Set:     func(c *collect.Config, v float64) { c.Weight = v / 100 },
		OneLine: "percent of its previous value that rtime.arm.respavg keeps with each transaction",
	}, {
		Item: 2, Name: "window", Units: pcp.Seconds, Least: conf.MinWindow, Most: conf.MaxWindow,
		Get:     func(c *collect.Config) float64 { return c.Window.Seconds() },
		Set:     func(c *collect.Config, v float64) { c.Window = kit.Seconds(v) },
		OneLine: "length of the rolling window of rtime.arm.window",
		Help:    "A window that is shorter than the interval is made as long as the interval. A change\nempties the window.",
	}, {
		Item: 3, Name: "buffers", Units: pcp.Count, Least: conf.MinBuffers, Most: conf.MaxBuffers, Whole: true,
		Get:     func(c *collect.Config) float64 { return float64(c.Buffers) },
		Set:     func(c *collect.Config, v float64) { c.Buffers = int(v) },
		OneLine: "steps in which the rolling window moves on",
		Help:    "A whole number. A change empties the window.",
	}}
}

// controlMetrics change the agent while it runs.
func (a *Agent) controlMetrics() []pmda.Metric {
	rows := kit.Control[collect.Config]{
		Prefix: "rtime.arm.control.", Cluster: clusterControl, May: kit.MayStore,
		Who:     mayStore + "\nWhat is stored lasts until the agent ends or reads a configuration that says\notherwise.",
		Current: func() collect.Config { return a.conf },
		Change: func(c collect.Config) {
			a.conf = c
			a.collector.Configure(c)
		},
		Logf: func(format string, args ...any) { a.Log.Printf(format, args...) },
	}.Metrics(settings()...)
	return append(rows, pmda.Metric{Name: "rtime.arm.control.trace", Cluster: clusterControl, Item: 4, Sem: pcp.SemDiscrete,
		Get: pmda.Per(a.trans, func(i uint32) (uint32, bool) {
			if a.traced[i] {
				return 1, true
			}
			return 0, true
		}),
		OneLine: "whether each instance of a transaction is traced: 1 or 0",
		Help: "If 1 is stored, all programs record each start, update and stop of the transaction\n" +
			"for rtime.arm.trace.records, which costs them time. Storing 0 ends that. A single\n" +
			"transaction that a program asks to be traced is traced in any case.\n" + mayStore +
			"\nWhat is stored lasts until the agent ends.",
		Store: a.storeTrace})
}

func (a *Agent) storeTrace(st *pmda.Store) error {
	if err := kit.MayStore(st); err != nil {
		return err
	}
	n, err := st.Value.Uint64()
	if err != nil {
		return err
	}
	place, ok := a.trans.ByID(st.Inst.ID)
	if !ok {
		return pcp.ErrInst
	}
	if n > 1 {
		return fmt.Errorf("%w: %s: %d is neither 0 nor 1", pcp.ErrBadStore, st.Name, n)
	}
	delete(a.traced, place)
	if n == 1 {
		a.traced[place] = true
	}
	a.collector.Trace(st.Inst.Name, n == 1)
	a.Log.Printf("tracing of %s set to %d by uid %d", st.Inst.Name, n, st.Client.UID)
	return nil
}
